import type { ObjectKey } from '../../../../model/objects/object-key.ts';
import { type Judge, type LiveEntry, sameEntry } from './entry.ts';

export type LiveStore = ReturnType<typeof createLiveStore>;

/** Is told of every change. */
export interface StoreWatcher {
  readonly placed: (entry: LiveEntry, before: LiveEntry | undefined) => void;
  readonly dropped: (entry: LiveEntry) => void;
}

/** All live objects as they were read last, in one map that changes. */
export function createLiveStore(watcher?: StoreWatcher) {
  const objects = new Map<ObjectKey, LiveEntry>();
  let changed = new Set<ObjectKey>();

  function set(entry: LiveEntry): true {
    const before = objects.get(entry.key);
    objects.set(entry.key, entry);
    changed.add(entry.key);
    watcher?.placed(entry, before);
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
      const entry = objects.get(key);
      if (entry === undefined) return false;
      objects.delete(key);
      changed.add(key);
      watcher?.dropped(entry);
      return true;
    },
    /** Marks the object as changed: the facts by which it is judged have changed. Returns whether it is there. */
    renew(key: ObjectKey): boolean {
      const entry = objects.get(key);
      return entry !== undefined && set(entry.again());
    },
    /** Judges the health of an object of ours again. Returns whether it differs, or when it is to be judged next. */
    judge(key: ObjectKey, judge: Judge): boolean {
      const before = objects.get(key);
      if (before?.health === undefined) return false;
      const entry = before.judged(judge);
      return sameEntry(before, entry) ? false : set(entry);
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
