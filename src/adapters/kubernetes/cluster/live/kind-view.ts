import { kindOf, metadataOf, nameOfKind, type ObjectKey } from '../../../../model/objects/object-key.ts';
import { isOlderVersion } from '../../../../model/objects/resource-version.ts';
import { type JsonObject, textOf } from '../../../../model/text/json.ts';
import type { ApiResource, KindListener } from '../../api/types.ts';
import { type LiveEntry, type Reading, readEntry } from './entry.ts';
import type { LiveStore } from './store.ts';

export interface KindViewOptions {
  readonly resource: ApiResource;
  readonly reading: Reading;
  /** Whether the store keeps this object. */
  readonly keeps: (entry: LiveEntry) => boolean;
  /** Called after a change that this process did not make itself. */
  readonly news: () => void;
  readonly stateChanged: () => void;
}

export interface KindViewState {
  readonly state: 'pending' | 'complete' | 'unknown';
  readonly message: string;
  /** The agent lacks the right. */
  readonly isForbidden: boolean;
}

/** Where a view keeps its objects. */
export type ObjectStore = Pick<LiveStore, 'objects' | 'put' | 'drop'>;

/** An object that we removed, until a watch or a list confirms it. */
interface Removal {
  /** The list that is being read began after the removal. */
  isBeforeList: boolean;
  /** The object in that list all the same: the cluster was restored to an older state. */
  listed: LiveEntry | undefined;
}

export const NOT_LISTED = 'it has not been listed yet';

export type KindView = ReturnType<typeof createKindView>;

/** Keeps the objects of one kind in the store, from its lists, its watch and our own writes. */
export function createKindView(store: ObjectStore, options: KindViewOptions) {
  const { resource, reading, keeps, news, stateChanged } = options;
  let current: KindViewState = { state: 'pending', message: NOT_LISTED, isForbidden: false };
  /** Keys that we wrote since the list began: the list can be older than these writes. Undefined: no list is being read. */
  let written: Set<ObjectKey> | undefined;
  /** By UID. */
  const removals = new Map<string, Removal>();
  const listener: KindListener = { keys: () => store.objects.keys(), listing, upsert, gone, listEnded, state };
  return { listener, state: () => current, wrote, removed, sift };

  function changed(isChanged: boolean): void {
    if (isChanged && current.state !== 'pending') news();
  }

  function listing(): void {
    written = new Set();
    for (const removal of removals.values()) {
      removal.isBeforeList = true;
      removal.listed = undefined;
    }
  }

  function upsert(key: ObjectKey, raw: JsonObject): void {
    const { uid, resourceVersion } = metadataOf(raw);
    const removal = removals.get(textOf(uid));
    if (removal !== undefined) {
      if (removal.isBeforeList) removal.listed = readEntry(raw, resource, reading);
      return;
    }
    const known = store.objects.get(key);
    // A list that began after our write contains it, also the list of a cluster that was restored to an older state.
    const canBeOutdated = written === undefined || written.has(key);
    if (known !== undefined && canBeOutdated && !isNewer(textOf(resourceVersion), known.resourceVersion)) return;
    const entry = readEntry(raw, resource, reading);
    changed(keeps(entry) ? store.put(entry) : store.drop(key));
  }

  function gone(key: ObjectKey, raw?: JsonObject): void {
    if (raw === undefined) {
      if (written?.has(key) !== true) changed(store.drop(key));
      return;
    }
    const uid = textOf(metadataOf(raw).uid);
    removals.delete(uid);
    // It can have lost the label by which it was selected; then a later read finds it again.
    if (store.objects.get(key)?.uid === uid) changed(store.drop(key));
  }

  function listEnded(complete: boolean): void {
    if (complete) {
      for (const [uid, { isBeforeList, listed }] of removals) {
        if (!isBeforeList) continue;
        removals.delete(uid);
        if (listed !== undefined && keeps(listed) && written?.has(listed.key) !== true) changed(store.put(listed));
      }
    }
    written = undefined;
  }

  function state(next: 'complete' | 'unknown', message: string, isForbidden: boolean): void {
    const before = current;
    current = { state: next, message, isForbidden };
    stateChanged();
    if (before.state !== next) news();
  }

  /** Takes the answer to one of our writes. Events of the watch that are older than it are ignored from then on. */
  function wrote(entry: LiveEntry): void {
    written?.add(entry.key);
    const known = store.objects.get(entry.key);
    if (known !== undefined && isNewer(known.resourceVersion, entry.resourceVersion)) return;
    if (keeps(entry)) store.put(entry);
  }

  /** Takes the answer to one of our removals, which the watch may not have reported yet. */
  function removed(key: ObjectKey, uid: string): void {
    removals.set(uid, { isBeforeList: false, listed: undefined });
    if (store.objects.get(key)?.uid === uid) store.drop(key);
  }

  /** Drops the objects that are not kept any more. */
  function sift(): void {
    for (const [key, entry] of store.objects) {
      if (kindOf(key) === nameOfKind(resource) && !keeps(entry)) store.drop(key);
    }
  }
}

function isNewer(version: string, than: string): boolean {
  return version !== than && !isOlderVersion(version, than);
}
