import { type ObjectKey, objectOfStatus, statusKey } from '../../src/model/objects/object-key.ts';
import { canonicalJson, type JsonObject, jsonEquals, objectOf } from '../../src/model/text/json.ts';
import type { ApplyOutcome, ApplyRequest, ObservedObject } from '../../src/ports/cluster-api.ts';

/**
 * The statuses of objects of others in a cluster in memory. Each member of a status has one owner: who has written it last. `put`: an
 * object gets this value.
 */
export function createMemoryStatuses(
  objects: ReadonlyMap<ObjectKey, ObservedObject>,
  put: (object: ObservedObject) => void,
) {
  /** The members that are ours, with the values that we wrote. */
  const ours = new Map<ObjectKey, JsonObject>();
  const seen = new Map<ObjectKey, ObservedObject>();

  /** What we have written of a live status and others have not changed since. */
  const owned = (key: ObjectKey): JsonObject => {
    const live = objects.get(objectOfStatus(key))?.value;
    const known = ours.get(key);
    if (live === undefined || known === undefined) return {};
    const now = objectOf(live.status);
    return Object.fromEntries(
      Object.entries(known).filter(([name, value]) => jsonEquals(now[name] ?? null, value ?? null)),
    );
  };
  const write = (key: ObjectKey, status: JsonObject): boolean => {
    const live = objects.get(objectOfStatus(key));
    if (live === undefined) return false;
    const mine = owned(key);
    const others = Object.entries(objectOf(live.value.status)).filter(([name]) => mine[name] === undefined);
    const value = { ...live.value, status: { ...Object.fromEntries(others), ...status } };
    ours.set(key, status);
    put({ ...live, value });
    return true;
  };

  return {
    apply({ key, value }: ApplyRequest): ApplyOutcome {
      const status = objectOf(value.status);
      if (!objects.has(objectOfStatus(key))) return { type: 'exempt', reason: 'NoObject', message: 'it is not there' };
      if (jsonEquals(owned(key), status)) return { type: 'unchanged' };
      write(key, status);
      return { type: 'applied' };
    },
    end(key: ObjectKey): void {
      write(key, {});
      ours.delete(key);
    },
    matches: ({ key, value }: ApplyRequest): boolean => jsonEquals(owned(key), objectOf(value.status)),
    differences({ key, value }: ApplyRequest) {
      const mine = owned(key);
      const fields = Object.keys(objectOf(value.status)).filter((name) => mine[name] === undefined);
      return { fields: fields.map((name) => `.status.${name}`), managers: fields.length === 0 ? [] : ['a person'] };
    },
    /** The object was removed: another one of its name has nothing of ours. */
    removed: (object: ObjectKey): void => void ours.delete(statusKey(object)),
    /** Of these statuses, those whose objects exist. One that has not changed is the same value again. */
    observed(keys: Iterable<ObjectKey>): ReadonlyMap<ObjectKey, ObservedObject> {
      const found = new Map<ObjectKey, ObservedObject>();
      for (const key of keys) {
        if (!objects.has(objectOfStatus(key))) {
          seen.delete(key);
          continue;
        }
        const value = { status: owned(key) };
        const before = seen.get(key);
        const isSame = before !== undefined && canonicalJson(before.value) === canonicalJson(value);
        const entry = isSame ? before : { key, value, where: 'memory' };
        seen.set(key, entry);
        found.set(key, entry);
      }
      return found;
    },
  };
}
