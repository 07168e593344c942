import { isEngineKind } from '../../model/engine-kinds.ts';
import { isJsonObject, type JsonValue } from '../../model/json.ts';
import { objectOf } from '../../model/json-fields.ts';

/** True if a record has the expected shape; otherwise it is damaged. */
export type Shape = (json: JsonValue) => boolean;

const isText = (json: JsonValue | undefined): boolean => typeof json === 'string';
const isTime = (json: JsonValue | undefined): boolean => typeof json === 'number' && json >= 0;

/** The fields of each record that the start of a server relies on. */
export const recordShape = {
  any: () => true,
  held: (json) => isText(objectOf(json).reason) && isText(objectOf(json).message),
  registration: (json) => {
    const { cluster, id, predecessors, warm, position, since } = objectOf(json);
    const isNumbered = [predecessors, since].every(isTime);
    return isText(cluster) && isText(id) && typeof warm === 'boolean' && isNumbered && isPosition(position);
  },
  source: (json) => isText(objectOf(json).revision),
  lastKnownGood: (json) => {
    const { kind, namespace, name, value, origin } = objectOf(json);
    const { source, path } = objectOf(origin);
    const isKnown = typeof kind === 'string' && isEngineKind(kind);
    return isKnown && [namespace, name, source, path].every(isText) && isJsonObject(value);
  },
  meta: (json) => {
    const { origins, scope } = objectOf(json);
    const areOrigins =
      Array.isArray(origins) && origins.every((each) => isText(objectOf(each).source) && isText(objectOf(each).path));
    return areOrigins && Array.isArray(scope) && scope.every(isText);
  },
  recovery: (json) => isTime(objectOf(json).epoch),
  revocation: (json) => {
    const { notBefore, ended } = objectOf(json);
    return isTime(notBefore) && isTime(ended);
  },
  approval: (json) => {
    const { digest, expiresAt } = objectOf(json);
    return isText(digest) && isTime(expiresAt);
  },
  window: (json) =>
    Array.isArray(json) &&
    json.every((step) => {
      const { at, removed, open } = objectOf(step);
      return isTime(at) && isTime(removed) && Array.isArray(open) && open.every(isText);
    }),
  approvalOutcome: (json) => isText(objectOf(json).digest) && isText(objectOf(json).outcome),
  observed: isJsonObject,
  elapsed: (json) => isTime(objectOf(json).at),
} satisfies Readonly<Record<string, Shape>>;

function isPosition(json: JsonValue | undefined): boolean {
  const { epoch, sequence } = objectOf(json);
  return isTime(epoch) && isTime(sequence);
}
