import type { ObjectKey } from '../../../../model/object-key.ts';
import { type LiveEntry, sameEntry } from './entry.ts';

/** All live objects as they were seen last, in one map that changes. */
export interface LiveStore {
  readonly objects: ReadonlyMap<ObjectKey, LiveEntry>;
  /** Takes an entry. One that equals the entry before is dropped, so the same object stays. Returns whether it differs. */
  put(entry: LiveEntry): boolean;
  /** Returns whether the object was there. */
  drop(key: ObjectKey): boolean;
  /** Marks the object as changed: the facts by which it is judged have changed. Returns whether it is there. */
  renew(key: ObjectKey): boolean;
  /** The keys that changed since the last call. */
  takeChanged(): ReadonlySet<ObjectKey>;
  hasChanged(): boolean;
}

export function createLiveStore(): LiveStore {
  const objects = new Map<ObjectKey, LiveEntry>();
  let changed = new Set<ObjectKey>();

  return { objects, put, drop, renew, takeChanged, hasChanged: () => changed.size > 0 };

  function put(entry: LiveEntry): boolean {
    const before = objects.get(entry.key);
    if (before !== undefined && sameEntry(before, entry)) {
      before.resourceVersion = entry.resourceVersion;
      before.settled ||= entry.settled;
      return false;
    }
    // The fields that we own are the same, so no other manager has taken one.
    if (before?.settled && before.fieldsText === entry.fieldsText && before.stampDigest === entry.stampDigest) {
      entry.settled = true;
    }
    set(entry);
    return true;
  }

  function set(entry: LiveEntry): void {
    objects.set(entry.key, entry);
    changed.add(entry.key);
  }

  function drop(key: ObjectKey): boolean {
    const wasThere = objects.delete(key);
    if (wasThere) changed.add(key);
    return wasThere;
  }

  function renew(key: ObjectKey): boolean {
    const entry = objects.get(key);
    if (entry !== undefined) set(entry.again());
    return entry !== undefined;
  }

  function takeChanged(): ReadonlySet<ObjectKey> {
    const taken = changed;
    changed = new Set();
    return taken;
  }
}
