import type { JsonObject } from '../../../../model/json.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/object-key.ts';
import type { ApiResource, ReflectorListener } from '../../api/types.ts';
import { metadataOf, textOf } from '../annotations.ts';
import { keyOfLive, type LiveEntry, readEntry } from './entry.ts';
import type { LiveStore } from './store.ts';
import { isNewer } from './versions.ts';

/** What is known of the objects of one kind, from its lists, its watch and from what we wrote ourselves. */
export interface KindView {
  readonly listener: ReflectorListener;
  state(): KindViewState;
  /** What a write has answered: older words of the watch are ignored from now on. */
  wrote(entry: LiveEntry): void;
  /** A removal has been answered; the watch has perhaps not heard of it. */
  removed(key: ObjectKey, uid: string): void;
  /** Forgets what is no longer to be kept. */
  sift(): void;
}

export interface KindViewState {
  readonly state: 'pending' | 'complete' | 'unknown';
  readonly message: string;
}

export interface KindViewOptions {
  readonly resource: ApiResource;
  readonly keeps: (entry: LiveEntry) => boolean;
  /** Something that we did not do ourselves. */
  readonly news: () => void;
  readonly stateChanged: () => void;
}

export function createKindView(store: LiveStore, options: KindViewOptions): KindView {
  const { resource, keeps, news, stateChanged } = options;
  let current: KindViewState = { state: 'pending', message: 'it has not been listed yet' };
  let seen: Set<ObjectKey> | undefined;
  /** Written by us since the list began: the list may be from before. */
  const ownWrites = new Set<ObjectKey>();
  /** Removed by us, and not heard of since; those from before the list that runs now. */
  const removedUids = new Set<string>();
  let removedBefore: ReadonlySet<string> = new Set();

  const listener: ReflectorListener = { listing, upsert, listed, removed: watchRemoved, listFailed, state: setState };
  return { listener, state: () => current, wrote, removed, sift };

  function listing(): void {
    seen = new Set();
    ownWrites.clear();
    removedBefore = new Set(removedUids);
  }

  function upsert(raw: JsonObject): void {
    const uid = textOf(metadataOf(raw).uid);
    if (removedUids.has(uid)) return;
    const key = keyOfLive(raw, resource);
    seen?.add(key);
    const version = textOf(metadataOf(raw).resourceVersion);
    const known = store.objects.get(key);
    // A list that begins after a write has seen it, also one of a cluster that was set back to an older state.
    const compared = seen === undefined || ownWrites.has(key);
    if (known !== undefined && compared && !isNewer(version, known.resourceVersion)) return;
    const entry = readEntry(raw, resource);
    const changed = keeps(entry) ? store.put(entry) : store.drop(key);
    if (changed && current.state !== 'pending') news();
  }

  function watchRemoved(raw: JsonObject): void {
    const { uid } = metadataOf(raw);
    removedUids.delete(textOf(uid));
    const key = keyOfLive(raw, resource);
    if (store.objects.get(key)?.uid !== uid) return;
    // It may have lost the label by which it is found; whoever asks for it anew sees that.
    if (store.drop(key)) news();
  }

  function listed(): void {
    let gone = false;
    for (const key of keysOfKind(store, resource)) {
      if (!seen?.has(key) && !ownWrites.has(key)) gone = store.drop(key) || gone;
    }
    seen = undefined;
    for (const uid of removedBefore) removedUids.delete(uid);
    if (gone && current.state !== 'pending') news();
  }

  function listFailed(): void {
    seen = undefined;
  }

  function setState(state: 'complete' | 'unknown', message: string): void {
    if (current.state === state && current.message === message) return;
    const before = current;
    current = { state, message };
    stateChanged();
    if (before.state !== state) news();
  }

  function wrote(entry: LiveEntry): void {
    ownWrites.add(entry.key);
    const known = store.objects.get(entry.key);
    if (known !== undefined && isNewer(known.resourceVersion, entry.resourceVersion)) return;
    if (keeps(entry)) store.put(entry);
  }

  function removed(key: ObjectKey, uid: string): void {
    removedUids.add(uid);
    if (store.objects.get(key)?.uid === uid) store.drop(key);
  }

  function sift(): void {
    for (const key of keysOfKind(store, resource)) {
      const entry = store.objects.get(key);
      if (entry !== undefined && !keeps(entry)) store.drop(key);
    }
  }
}

function keysOfKind(store: LiveStore, { group, kind }: ApiResource): readonly ObjectKey[] {
  return [...store.objects.keys()].filter((key) => {
    const ref = objectRefOf(key);
    return ref.group === group && ref.kind === kind;
  });
}
