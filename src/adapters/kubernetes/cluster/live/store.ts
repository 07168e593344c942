import type { ObjectKey } from '../../../../model/object-key.ts';
import { type LiveEntry, sameEntry } from './entry.ts';

/** All live objects as they were seen last, in one map that goes on changing. */
export interface LiveStore {
  readonly objects: ReadonlyMap<ObjectKey, LiveEntry>;
  /** What is known now; what says the same as before stays the same object. Answers whether it is news. */
  put(entry: LiveEntry): boolean;
  /** Answers whether it was there. */
  drop(key: ObjectKey): boolean;
  /** What is known of it is to be judged anew: something outside of it has changed. */
  renew(key: ObjectKey, entry: LiveEntry): void;
  /** Keys that changed since this was asked last. */
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
    // Whoever else wrote has not touched what we hold.
    if (before?.settled && before.fieldsText === entry.fieldsText && before.stampDigest === entry.stampDigest) {
      entry.settled = true;
    }
    renew(entry.key, entry);
    return true;
  }

  function renew(key: ObjectKey, entry: LiveEntry): void {
    objects.set(key, entry);
    changed.add(key);
  }

  function drop(key: ObjectKey): boolean {
    const was = objects.delete(key);
    if (was) changed.add(key);
    return was;
  }

  function takeChanged(): ReadonlySet<ObjectKey> {
    const taken = changed;
    changed = new Set();
    return taken;
  }
}
