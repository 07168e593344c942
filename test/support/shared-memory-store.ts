import { createOpenBatches } from '../../src/adapters/stores/redis/write-batch.ts';
import { compareText } from '../../src/model/json.ts';
import type { SnapshotStore, StoredRecord, StoreEvent, StoreWrite } from '../../src/ports/snapshot-store.ts';

/**
 * One memory that several processes have open, as they would a Redis; held to the same contract. Events come a microtask
 * after their cause. All faults are silent for whoever would not see them on a real one.
 */
export interface SharedMemory {
  /** The store of one more process. */
  open(): SharedMemoryStore;
  /** Nobody is answered any more, until `up`. */
  down(message?: string): void;
  up(): void;
  /** Empties it (FLUSHDB, a restart without persistence). Told as `lost`, to who is cut off when it is mended. */
  lose(): void;
  /** All that is in it now, for `fallBack`. */
  copy(): MemoryCopy;
  /** An older copy takes over (failover to a replica that was behind). Told as `lost`. */
  fallBack(copy: MemoryCopy): void;
  /** One record goes, and nobody is told. */
  evict(key: string): void;
  /** The next so many writes take effect, but their answer is lost: they reject. */
  swallowReplies(count?: number): void;
  /** While set, batches that add something are rejected with this text (a full memory); reads and deletions go on. */
  refusing: string | undefined;
  /** Keys that are in it, in key order. */
  keys(): readonly string[];
}

export interface SharedMemoryStore extends SnapshotStore {
  /** This process alone gets no answers any more, until `mend`. */
  cut(message?: string): void;
  mend(): void;
}

export type MemoryCopy = ReadonlyMap<string, StoredRecord>;

interface Shared {
  records: Map<string, StoredRecord>;
  /** Ids of the batches that took effect. */
  readonly applied: Set<string>;
  readonly handles: Set<Handle>;
  downMessage: string | undefined;
  swallowed: number;
  next: number;
}

interface Handle {
  readonly tell: (event: StoreEvent) => void;
  trouble(): string | undefined;
  /** What it will be told when it is reached again. */
  missed: StoreEvent | undefined;
}

export function createSharedMemory(): SharedMemory {
  const shared: Shared = {
    records: new Map(),
    applied: new Set(),
    handles: new Set(),
    downMessage: undefined,
    swallowed: 0,
    next: 0,
  };
  const lost = (message: string): void => {
    for (const handle of shared.handles) {
      if (handle.trouble() === undefined) handle.tell({ type: 'lost', message });
      else handle.missed = { type: 'lost', message };
    }
  };
  const memory: SharedMemory = {
    open: () => openStore(shared, () => memory.refusing),
    down: (message = 'the memory does not answer') => {
      for (const handle of shared.handles) if (handle.trouble() === undefined) handle.tell({ type: 'down', message });
      shared.downMessage = message;
    },
    up: () => {
      if (shared.downMessage === undefined) return;
      shared.downMessage = undefined;
      for (const handle of shared.handles) reached(handle);
    },
    lose: () => {
      shared.records = new Map();
      shared.applied.clear();
      lost('the memory was emptied');
    },
    copy: () => new Map(shared.records),
    fallBack: (copy) => {
      shared.records = new Map(copy);
      lost('an older copy of the memory has taken over');
    },
    evict: (key) => void shared.records.delete(key),
    swallowReplies: (count = 1) => {
      shared.swallowed = count;
    },
    refusing: undefined,
    keys: () => [...shared.records.keys()].sort(compareText),
  };
  return memory;
}

function reached(handle: Handle): void {
  if (handle.trouble() !== undefined) return;
  handle.tell({ type: 'up' });
  if (handle.missed !== undefined) handle.tell(handle.missed);
  handle.missed = undefined;
}

function openStore(shared: Shared, refusing: () => string | undefined): SharedMemoryStore {
  const listeners = new Set<(event: StoreEvent) => void>();
  const batches = createOpenBatches(() => String(++shared.next));
  let state: { readonly type: 'open' | 'closed' } | { readonly type: 'cut'; readonly message: string } = {
    type: 'open',
  };
  const handle: Handle = {
    tell: (event) => {
      for (const listener of listeners) queueMicrotask(() => listeners.has(listener) && listener(event));
    },
    trouble: () => (state.type === 'cut' ? state.message : shared.downMessage),
    missed: undefined,
  };
  shared.handles.add(handle);

  return {
    shared: true,
    get: async (key) => {
      assertReachable();
      return copyOf(shared.records.get(key));
    },
    async *list(prefix) {
      assertReachable();
      const keys = [...shared.records.keys()].filter((key) => key.startsWith(prefix)).sort(compareText);
      for (const key of keys) {
        assertReachable();
        const record = copyOf(shared.records.get(key));
        if (record !== undefined) yield record;
      }
    },
    write: async (writes) => {
      assertReachable();
      const refusal = refusing();
      const adds = writes.some(({ value }) => value !== undefined && value !== null);
      if (refusal !== undefined && adds) throw new Error(refusal);
      const batch = batches.begin(writes);
      const outcome = shared.applied.has(batch.id) ? 'written' : apply(writes, batch.id);
      if (shared.swallowed > 0) {
        shared.swallowed -= 1;
        throw new Error('the answer of the store was lost; whether it has written is not known');
      }
      batches.settle(batch);
      return outcome;
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => {
      state = { type: 'closed' };
      listeners.clear();
      shared.handles.delete(handle);
    },
    cut: (message = 'this process is cut off from the memory') => {
      if (handle.trouble() === undefined) handle.tell({ type: 'down', message });
      state = { type: 'cut', message };
    },
    mend: () => {
      if (state.type !== 'cut') return;
      state = { type: 'open' };
      reached(handle);
    },
  };

  function apply(writes: readonly StoreWrite[], id: string): 'written' | 'conflict' {
    const holds = writes.every(
      ({ key, ifVersion }) => ifVersion === undefined || ifVersion === (shared.records.get(key)?.version ?? null),
    );
    if (!holds) return 'conflict';
    const keys: string[] = [];
    for (const { key, value } of writes) {
      if (value === undefined) continue;
      keys.push(key);
      if (value === null) shared.records.delete(key);
      else shared.records.set(key, { key, value: Uint8Array.from(value), version: id });
    }
    shared.applied.add(id);
    for (const other of shared.handles) {
      if (other !== handle && keys.length > 0 && other.trouble() === undefined) other.tell({ type: 'changed', keys });
    }
    return 'written';
  }

  function assertReachable(): void {
    if (state.type === 'closed') throw new Error('the store is closed');
    const trouble = handle.trouble();
    if (trouble !== undefined) throw new Error(trouble);
  }
}

function copyOf(record: StoredRecord | undefined): StoredRecord | undefined {
  return record === undefined ? undefined : { ...record, value: Uint8Array.from(record.value) };
}
