import type { ObjectKey } from '../../../../model/object-key.ts';
import { type LiveEntry, sameEntry } from './entry.ts';

export type LiveStore = ReturnType<typeof createLiveStore>;

/** All live objects as they were read last, in one map that changes. */
export function createLiveStore() {
  const objects = new Map<ObjectKey, LiveEntry>();
  let changed = new Set<ObjectKey>();

  function set(entry: LiveEntry): true {
    objects.set(entry.key, entry);
    changed.add(entry.key);
    return true;
  }

  return {
    objects: objects as ReadonlyMap<ObjectKey, LiveEntry>,
    /** Takes an entry. One that equals the entry before is dropped, so the same object stays. Returns whether it differs. */
    put(entry: LiveEntry): boolean {
      const before = objects.get(entry.key);
      if (before === undefined) return set(entry);
      if (sameEntry(before, entry)) {
        before.resourceVersion = entry.resourceVersion;
        before.settled ||= entry.settled;
        return false;
      }
      // The fields that we own are the same, so no other manager has taken one.
      entry.settled ||=
        before.settled && before.fieldsText === entry.fieldsText && before.stampDigest === entry.stampDigest;
      return set(entry);
    },
    /** Returns whether the object was there. */
    drop(key: ObjectKey): boolean {
      const wasThere = objects.delete(key);
      if (wasThere) changed.add(key);
      return wasThere;
    },
    /** Marks the object as changed: the facts by which it is judged have changed. Returns whether it is there. */
    renew(key: ObjectKey): boolean {
      const entry = objects.get(key);
      return entry !== undefined && set(entry.again());
    },
    /** The keys that changed since the last call. */
    takeChanged(): ReadonlySet<ObjectKey> {
      const taken = changed;
      changed = new Set();
      return taken;
    },
    hasChanged: (): boolean => changed.size > 0,
  };
}
