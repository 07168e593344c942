import { type JsonObject, textOf } from '../../../../model/json.ts';
import { metadataOf, type ObjectKey, objectRefOf } from '../../../../model/object-key.ts';
import type { ApiResource, ReflectorListener } from '../../api/types.ts';
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
  const ownRemovals = createOwnRemovals();

  const listener: ReflectorListener = { listing, upsert, listed, removed: watchRemoved, listFailed, state: setState };
  return { listener, state: () => current, wrote, removed, sift };

  function listing(): void {
    seen = new Set();
    ownWrites.clear();
    ownRemovals.listing();
  }

  function upsert(raw: JsonObject): void {
    const uid = textOf(metadataOf(raw).uid);
    if (ownRemovals.hides(uid, () => readEntry(raw, resource))) return;
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
    ownRemovals.heardOf(textOf(uid));
    const key = keyOfLive(raw, resource);
    if (store.objects.get(key)?.uid !== uid) return;
    // It may have lost the label by which it is found; whoever asks for it anew sees that.
    if (store.drop(key)) news();
  }

  function listed(): void {
    let changed = false;
    for (const entry of ownRemovals.listed()) {
      seen?.add(entry.key);
      if (keeps(entry) && !ownWrites.has(entry.key)) changed = store.put(entry) || changed;
    }
    for (const key of keysOfKind(store, resource)) {
      if (!seen?.has(key) && !ownWrites.has(key)) changed = store.drop(key) || changed;
    }
    seen = undefined;
    if (changed && current.state !== 'pending') news();
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
    ownRemovals.add(uid);
    if (store.objects.get(key)?.uid === uid) store.drop(key);
  }

  function sift(): void {
    for (const key of keysOfKind(store, resource)) {
      const entry = store.objects.get(key);
      if (entry !== undefined && !keeps(entry)) store.drop(key);
    }
  }
}

/** What we have removed ourselves, until the cluster has told it. */
function createOwnRemovals() {
  const unheard = new Set<string>();
  /** Those from before the list that began last. */
  let before: ReadonlySet<string> = new Set();
  /** In that list all the same: there again (a cluster was set back), unless the list takes it back. */
  const restored = new Map<string, LiveEntry>();
  return {
    add: (uid: string): void => void unheard.add(uid),
    heardOf(uid: string): void {
      unheard.delete(uid);
      restored.delete(uid);
    },
    /** Is what is told of this object older than its removal? */
    hides(uid: string, entry: () => LiveEntry): boolean {
      if (!unheard.has(uid)) return false;
      if (before.has(uid)) restored.set(uid, entry());
      return true;
    },
    listing(): void {
      before = new Set(unheard);
      restored.clear();
    },
    /** Answers what is there again. */
    listed(): readonly LiveEntry[] {
      const again = [...restored.values()];
      for (const uid of before) unheard.delete(uid);
      before = new Set();
      restored.clear();
      return again;
    },
  };
}

function keysOfKind(store: LiveStore, { group, kind }: ApiResource): readonly ObjectKey[] {
  return [...store.objects.keys()].filter((key) => {
    const ref = objectRefOf(key);
    return ref.group === group && ref.kind === kind;
  });
}
