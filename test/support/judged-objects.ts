import type { JsonObject } from '../../src/model/text/json.ts';

/** A live object of generation 2, with this in its status. */
export function liveObject(
  apiVersion: string,
  kind: string,
  parts: { readonly spec?: JsonObject; readonly status?: JsonObject; readonly metadata?: JsonObject } = {},
): JsonObject {
  const { spec = {}, status, metadata = {} } = parts;
  const named = { name: 'one', namespace: 'shop', generation: 2, ...metadata };
  return { apiVersion, kind, metadata: named, spec, ...(status === undefined ? {} : { status }) };
}

/** Conditions, each written as `Type=Status` or `Type=Status:Reason`. */
export function conditions(...written: readonly string[]): JsonObject {
  return { conditions: conditionList(...written) };
}

/** As {@link conditions}, without the name of the list. */
export function conditionList(...written: readonly string[]): readonly JsonObject[] {
  return written.map((text) => {
    const [type = '', status = '', reason = ''] = text.split(/[=:]/);
    return { type, status, reason, message: '' };
  });
}
