import { errorText } from '../../model/error-text.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoreEvent } from '../../ports/snapshot-store.ts';
import { createGroup, type DrivenGroup, type GroupPart } from './group.ts';
import type { RecordWriter, WriteGroup, WriteGuard } from './write-group.ts';

/**
 * Write-behind access to the store: what groups want written is gathered for a moment, written in batches, and tried again
 * until it is. Whatever the store loses while this process lives is written to it again. Its own records are in a group
 * without a guard.
 */
export interface Journal extends RecordWriter {
  /** What one owner writes. `guard`: only while this holds, checked with each batch. */
  group(guard?: WriteGuard): WriteGroup;
  /** Resolves when everything put so far is durable, or when the deadline has passed (false). */
  flush(deadlineMs: number): Promise<boolean>;
  /** Records that the store had lost and that were queued to be written again, since the start. */
  refilled(): number;
  /** Why the store cannot be written just now; undefined while all is well. */
  trouble(): string | undefined;
  /** No more audits, no ear for what the store tells, and no further attempt to write what could not be written. */
  stop(): void;
}

interface JournalDeps {
  readonly store: SnapshotStore;
  readonly clock: Clock;
  readonly log: Log;
}

const GATHER_MS = 50;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
const AUDIT_MS = 30_000;
/** A batch stops the store for others while it is written; more than this goes in several. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_RECORDS = 400;
/** Records beside manifests that one audit asks for, shared among all groups. */
const AUDITED_RECORDS = 1_000;

export function createJournal(deps: JournalDeps): Journal {
  const { store, clock } = deps;
  const groups = new Set<DrivenGroup>();
  /** Groups that may have something to write. */
  const waiting = new Set<DrivenGroup>();
  const health = createHealth(deps);
  let writing: Promise<void> | undefined;
  let stopped = false;
  /** Aborted while somebody waits for the end of writing: then nothing is gathered. */
  let hurry = new AbortController();

  const drain = async (gatherMs: number): Promise<void> => {
    if (gatherMs > 0) await clock.sleep(gatherMs, hurry.signal);
    while (waiting.size > 0 && !stopped) {
      const outcome = await writeBatch(store, waiting);
      if (outcome === 'written') health.well();
      else if (outcome !== 'nothing' && !stopped) await health.failed(outcome.failed);
      // A store in this process answers in the same turn: what else the process does is not kept waiting.
      if (waiting.size > 0 && !stopped) await clock.sleep(0, hurry.signal);
    }
  };
  const start = (gatherMs: number): Promise<void> => {
    writing ??= drain(gatherMs).finally(() => {
      writing = undefined;
      // What was queued after the last batch had been taken, and before this ran, has found nobody to start.
      if (waiting.size > 0 && !stopped) void start(gatherMs);
    });
    return writing;
  };
  /** Resolves when nothing waits, also of what is put while the last batch is written. */
  const written = async (): Promise<void> => {
    do await start(0);
    while (waiting.size > 0 && !stopped);
  };
  const watcher = watchStore(deps, groups, health);

  const open = (guard?: WriteGuard): DrivenGroup => {
    const wake = (): void => {
      waiting.add(group);
      void start(GATHER_MS);
    };
    const group: DrivenGroup = createGroup(guard, wake, health.refilling);
    groups.add(group);
    return group;
  };
  const own = open();

  return {
    put: own.put,
    noted: own.noted,
    group: (guard) => {
      const group = open(guard);
      const close = (): void => {
        groups.delete(group);
        group.close();
      };
      return { ...group, close };
    },
    flush: async (deadlineMs) => {
      health.retry();
      hurry.abort();
      const cancel = new AbortController();
      const done = written().then(() => true);
      const result = await Promise.race([done, clock.sleep(deadlineMs, cancel.signal).then(() => false)]);
      cancel.abort();
      hurry = new AbortController();
      return result;
    },
    refilled: health.refilled,
    trouble: health.trouble,
    stop: () => {
      stopped = true;
      watcher();
      health.retry();
      hurry.abort();
    },
  };
}

/** Writes the next batch, or says why it could not be. What was not written waits again. */
async function writeBatch(
  store: SnapshotStore,
  waiting: Set<DrivenGroup>,
): Promise<'written' | 'nothing' | { readonly failed: string }> {
  const taken = collect(waiting);
  const writes = taken.flatMap(({ part }) => part.writes);
  try {
    const outcome = writes.length === 0 ? 'written' : await store.write(writes);
    for (const { group, part } of taken) {
      part[outcome]();
      if (outcome === 'conflict') waiting.add(group);
    }
    return writes.length === 0 ? 'nothing' : 'written';
  } catch (error) {
    for (const { group, part } of taken) {
      part.failed();
      waiting.add(group);
    }
    return { failed: errorText(error) };
  }
}

/** The next batch: of one guarded group, whose check is its own, or of as many others as fit. */
function collect(waiting: Set<DrivenGroup>): readonly Taken[] {
  const taken: Taken[] = [];
  const budget = { bytes: BATCH_BYTES, records: BATCH_RECORDS };
  for (const group of [...waiting]) {
    if (taken.length > 0 && (group.isGuarded || budget.bytes <= 0 || budget.records <= 0)) continue;
    waiting.delete(group);
    const part = group.take(budget);
    if (part === undefined) continue;
    taken.push({ group, part });
    // Others come first now.
    if (group.hasMore()) waiting.add(group);
    if (group.isGuarded) break;
  }
  return taken;
}

interface Taken {
  readonly group: DrivenGroup;
  readonly part: GroupPart;
}

interface Health {
  trouble(): string | undefined;
  well(): void;
  refilling(records: number): void;
  refilled(): number;
  /** Resolves when it is time to try again. */
  failed(message: string): Promise<void>;
  /** Now is the time. */
  retry(): void;
  down(message: string): void;
  up(): void;
}

/** What people are told of the store, and how long to leave it alone. */
function createHealth({ clock, log }: JournalDeps): Health {
  let failure: string | undefined;
  let down: string | undefined;
  let waitMs = FIRST_RETRY_MS;
  let refilled = 0;
  let nap: AbortController | undefined;
  return {
    trouble: () => failure ?? down,
    refilling: (records) => {
      refilled += records;
    },
    refilled: () => refilled,
    well: () => {
      if (failure !== undefined) log.info('the store is written again');
      failure = undefined;
      waitMs = FIRST_RETRY_MS;
    },
    failed: async (message) => {
      if (message !== failure) log.error('the store cannot be written', { error: message });
      failure = message;
      nap = new AbortController();
      await clock.sleep(waitMs, nap.signal);
      waitMs = Math.min(waitMs * 2, LAST_RETRY_MS);
    },
    retry: () => nap?.abort(),
    down: (message) => {
      if (down === undefined) log.warn('the store does not answer; what happens is kept in memory', { error: message });
      down = message;
    },
    up: () => {
      if (down !== undefined) log.info('the store answers again');
      down = undefined;
      waitMs = FIRST_RETRY_MS;
      nap?.abort();
    },
  };
}

/** Hears what becomes of a shared store, and looks from time to time; the returned function ends it. */
function watchStore({ store, clock, log }: JournalDeps, groups: ReadonlySet<DrivenGroup>, health: Health): () => void {
  if (!store.shared) return () => undefined;
  let auditing = false;
  let cancel = (): void => undefined;
  const audit = async (): Promise<void> => {
    if (auditing) return;
    auditing = true;
    const records = Math.max(1, Math.floor(AUDITED_RECORDS / Math.max(1, groups.size)));
    try {
      for (const group of [...groups]) await group.audit(store, records);
    } catch (error) {
      log.debug('the store cannot be looked through', { error: errorText(error) });
    } finally {
      auditing = false;
    }
  };
  const hear = (event: StoreEvent): void => {
    switch (event.type) {
      case 'changed':
        return;
      case 'lost':
        log.warn('the store has lost what was written; it is written again from memory', { detail: event.message });
        for (const group of [...groups]) group.rewrite();
        return;
      case 'down':
        health.down(event.message);
        return;
      case 'up':
        health.up();
        void audit();
    }
  };
  const next = (): void => {
    cancel = clock.schedule(AUDIT_MS, () => void audit().finally(next));
  };
  next();
  const unwatch = store.watch(hear);
  return () => {
    cancel();
    unwatch();
  };
}
