import { createOpenBatches } from '../../src/adapters/stores/redis/write-batch.ts';
import { compareText } from '../../src/model/text/json.ts';
import type { SnapshotStore, StoredRecord, StoreEvent, StoreWrite } from '../../src/ports/snapshot-store.ts';

/**
 * One memory that several processes share, like a Redis; it passes the same contract suite. Events follow their cause after a
 * microtask. A process that would not notice a fault on a real Redis receives no event here either.
 */
export interface SharedMemory {
  /** The store of one more process. */
  open(): SharedMemoryStore;
  /** No process gets answers, until `up`. */
  down(message?: string): void;
  up(): void;
  /** Empties the memory (FLUSHDB, a restart without persistence). Emits `lost`; a disconnected process gets it after `mend`. */
  lose(): void;
  /** A copy of the current content, for `fallBack`. */
  copy(): MemoryCopy;
  /** An older copy takes over (failover to a replica that was behind). Emits `lost`. */
  fallBack(copy: MemoryCopy): void;
  /** Removes one record without an event. */
  evict(key: string): void;
  /** The next writes, this many, take effect but reject: their answers are lost. */
  swallowReplies(count?: number): void;
  /** While set, batches that add something are rejected with this text (a full memory); reads and deletions go on. */
  refusing: string | undefined;
  /** Keys of all records, in key order. */
  keys(): readonly string[];
  /** The record as it is now; undefined: there is none. */
  peek(key: string): StoredRecord | undefined;
}

export interface SharedMemoryStore extends SnapshotStore {
  /** Only this process gets no answers, until `mend`. */
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
  readonly emit: (event: StoreEvent) => void;
  failure(): string | undefined;
  /** The event that the process receives when it is connected again. */
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
      if (handle.failure() === undefined) handle.emit({ type: 'lost', message });
      else handle.missed = { type: 'lost', message };
    }
  };
  const memory: SharedMemory = {
    open: () => openStore(shared, () => memory.refusing),
    down: (message = 'the memory does not answer') => {
      for (const handle of shared.handles) if (handle.failure() === undefined) handle.emit({ type: 'down', message });
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
    peek: (key) => shared.records.get(key),
  };
  return memory;
}

function reached(handle: Handle): void {
  if (handle.failure() !== undefined) return;
  handle.emit({ type: 'up' });
  if (handle.missed !== undefined) handle.emit(handle.missed);
  handle.missed = undefined;
}

function openStore(shared: Shared, refusing: () => string | undefined): SharedMemoryStore {
  const listeners = new Set<(event: StoreEvent) => void>();
  const batches = createOpenBatches(() => String(++shared.next));
  let state: { readonly type: 'open' | 'closed' } | { readonly type: 'cut'; readonly message: string } = {
    type: 'open',
  };
  const handle: Handle = {
    emit: (event) => {
      for (const listener of listeners) queueMicrotask(() => listeners.has(listener) && listener(event));
    },
    failure: () => (state.type === 'cut' ? state.message : shared.downMessage),
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
    // The events of earlier batches are microtasks that are queued already.
    notified: async () => assertReachable(),
    close: async () => {
      state = { type: 'closed' };
      listeners.clear();
      shared.handles.delete(handle);
    },
    cut: (message = 'this process is cut off from the memory') => {
      if (handle.failure() === undefined) handle.emit({ type: 'down', message });
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
      if (other !== handle && keys.length > 0 && other.failure() === undefined) other.emit({ type: 'changed', keys });
    }
    return 'written';
  }

  function assertReachable(): void {
    if (state.type === 'closed') throw new Error('the store is closed');
    const failure = handle.failure();
    if (failure !== undefined) throw new Error(failure);
  }
}

function copyOf(record: StoredRecord | undefined): StoredRecord | undefined {
  return record === undefined ? undefined : { ...record, value: Uint8Array.from(record.value) };
}
