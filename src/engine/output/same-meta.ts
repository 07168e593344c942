import { type JsonValue, jsonEquals } from '../../model/json.ts';
import type { ObjectMeta } from '../../model/output.ts';

/** Whether two objects came from the same, and could have read the same. */
export function sameMeta(a: ObjectMeta, b: ObjectMeta): boolean {
  return (
    jsonEquals(a.origins as unknown as JsonValue, b.origins as unknown as JsonValue) &&
    jsonEquals([...a.scope], [...b.scope])
  );
}
