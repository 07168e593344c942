import { backOffMs } from '../../model/limits/back-off.ts';
import { errorText } from '../../model/text/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore, StoreEvent } from '../../ports/snapshot-store.ts';
import { createGroup, type GroupPart, type WriteGroup, type WriteGuard } from './group.ts';

interface JournalDeps {
  readonly store: SnapshotStore;
  readonly clock: Clock;
  readonly log: Log;
}

const GATHER_MS = 50;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
const AUDIT_MS = 30_000;
/** Size limit of a batch, since the store serves no other call while it writes one. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_RECORDS = 400;
/** Records beside manifests that one audit checks, shared among all groups. */
const AUDITED_RECORDS = 1_000;

export type Journal = ReturnType<typeof createJournal>;

/**
 * Write-behind access to the store: writes of groups are collected for a short time, written in batches, and retried until
 * they succeed. Records that the store loses while this process runs are written again. Records put directly into the journal
 * belong to a group without a guard.
 */
export function createJournal(deps: JournalDeps) {
  const { store, clock } = deps;
  const groups = new Set<WriteGroup>();
  /** Groups with writes that may be due. */
  const waiting = new Set<WriteGroup>();
  const health = createHealth(deps);
  let writing: Promise<void> | undefined;
  let stopped = false;
  /** Aborted by `flush`: then writes are not collected but written at once. */
  let hurry = new AbortController();

  const drain = async (gatherMs: number): Promise<void> => {
    if (gatherMs > 0) await clock.sleep(gatherMs, hurry.signal);
    while (waiting.size > 0 && !stopped) {
      const outcome = await writeBatch(store, waiting);
      if (outcome === 'written') health.well();
      else if (outcome !== 'nothing' && !stopped) await health.failed(outcome.failed);
      // An in-process store answers in the same turn of the event loop: other tasks must run in between.
      if (waiting.size > 0 && !stopped) await clock.sleep(0, hurry.signal);
    }
  };
  const start = (gatherMs: number): Promise<void> => {
    writing ??= drain(gatherMs).finally(() => {
      writing = undefined;
      // Writes that were queued after the last batch was taken found this drain still running, and did not start one.
      if (waiting.size > 0 && !stopped) void start(gatherMs);
    });
    return writing;
  };
  /** Resolves when no write waits, including those that were put during the last batch. */
  const written = async (): Promise<void> => {
    do await start(0);
    while (waiting.size > 0 && !stopped);
  };
  const hurryNow = (): void => {
    health.retry();
    hurry.abort();
    hurry = new AbortController();
  };
  const unwatch = watchStore(deps, groups, health);
  const open = (guard?: WriteGuard): WriteGroup => {
    const wake = (): void => {
      waiting.add(group);
      void start(GATHER_MS);
    };
    const closed = (): void => void groups.delete(group);
    const { refilling, failure } = health;
    const group: WriteGroup = createGroup(guard, { wake, closed, refilling, failure, hurry: hurryNow });
    groups.add(group);
    return group;
  };
  const { put, noted, isWritten, receipt } = open();

  return {
    put,
    noted,
    isWritten,
    receipt,
    /** Creates the group of one owner. `guard` is checked with each batch. */
    group: open,
    /** Resolves with true when everything put so far is durable, with false after `deadlineMs` milliseconds. */
    flush: async (deadlineMs: number): Promise<boolean> => {
      health.retry();
      hurry.abort();
      const cancel = new AbortController();
      const done = written().then(() => true);
      const result = await Promise.race([done, clock.sleep(deadlineMs, cancel.signal).then(() => false)]);
      cancel.abort();
      hurry = new AbortController();
      return result;
    },
    /** Number of lost records that were queued to be written again since the start. */
    refilled: health.refilled,
    /** Why the store cannot be written at present; undefined if it can. */
    failure: health.failure,
    /** Ends audits, the subscription to events of the store, and retries. */
    stop: () => {
      stopped = true;
      unwatch();
      health.retry();
      hurry.abort();
    },
  };
}

/** Writes the next batch, or returns the reason of the failure. Failed writes wait again. */
async function writeBatch(
  store: SnapshotStore,
  waiting: Set<WriteGroup>,
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

/** Takes the next batch: writes of one guarded group, which is checked with the batch, or of as many other groups as fit. */
function collect(waiting: Set<WriteGroup>) {
  const taken: { readonly group: WriteGroup; readonly part: GroupPart }[] = [];
  const budget = { bytes: BATCH_BYTES, records: BATCH_RECORDS };
  for (const group of [...waiting]) {
    if (taken.length > 0 && (group.isGuarded || budget.bytes <= 0 || budget.records <= 0)) continue;
    waiting.delete(group);
    const part = group.take(budget);
    if (part === undefined) continue;
    taken.push({ group, part });
    // To the end of the queue.
    if (group.hasMore()) waiting.add(group);
    if (group.isGuarded) break;
  }
  return taken;
}

type Health = ReturnType<typeof createHealth>;

/** Logs the state of the store, and sets the pace of attempts. */
function createHealth({ clock, log }: JournalDeps) {
  let failure: string | undefined;
  let down: string | undefined;
  let failures = 0;
  let refilled = 0;
  let pause: AbortController | undefined;
  return {
    failure: () => failure ?? down,
    refilling: (records: number) => {
      refilled += records;
    },
    refilled: () => refilled,
    well: () => {
      if (failure !== undefined) log.info('the store can be written again');
      failure = undefined;
      failures = 0;
    },
    /** Resolves when the next attempt is due. */
    failed: async (message: string): Promise<void> => {
      if (message !== failure) log.error('the store cannot be written', { error: message });
      failure = message;
      pause = new AbortController();
      await clock.sleep(backOffMs(failures++, FIRST_RETRY_MS, LAST_RETRY_MS), pause.signal);
    },
    /** Makes the next attempt due now. */
    retry: () => pause?.abort(),
    down: (message: string) => {
      if (down === undefined) log.warn('the store does not answer; changes are kept in memory', { error: message });
      down = message;
    },
    up: () => {
      if (down !== undefined) log.info('the store answers again');
      down = undefined;
      failures = 0;
      pause?.abort();
    },
  };
}

/** Subscribes to events of a shared store, and audits it periodically; the returned function ends both. */
function watchStore({ store, clock, log }: JournalDeps, groups: ReadonlySet<WriteGroup>, health: Health): () => void {
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
      log.debug('the store cannot be audited', { error: errorText(error) });
    } finally {
      auditing = false;
    }
  };
  const onEvent = (event: StoreEvent): void => {
    switch (event.type) {
      case 'changed':
        return;
      case 'lost':
        log.warn('writing all records again after a loss of the store', { detail: event.message });
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
  let isEnded = false;
  const next = (): void => {
    if (!isEnded) cancel = clock.schedule(AUDIT_MS, () => void audit().finally(next));
  };
  next();
  const unwatch = store.watch(onEvent);
  return () => {
    isEnded = true;
    cancel();
    unwatch();
  };
}
