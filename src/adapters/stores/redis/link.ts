import { backOffMs } from '../../../model/limits/back-off.ts';
import { errorText } from '../../../model/text/messages.ts';
import type { Log } from '../../../ports/log.ts';
import type { StoreEvent } from '../../../ports/snapshot-store.ts';
import { LostCommand, RefusedServer } from './errors.ts';
import { createLayout, type Layout } from './layout.ts';
import { type RedisStoreDeps, type RedisStoreOptions, type RedisTimeouts, TIMEOUTS } from './options.ts';
import { REMEMBERED } from './scripts.ts';
import { connectSession, type ReportedState, type Session } from './session.ts';

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

/** The open session, and the names that its commands carry. */
export interface Live {
  readonly session: Session;
  readonly token: string;
  readonly marker: string;
}

export type Link = Awaited<ReturnType<typeof createLink>>;

/** The state of a link. */
interface State {
  readonly deps: RedisStoreDeps;
  readonly options: RedisStoreOptions;
  readonly emit: (event: StoreEvent) => void;
  readonly layout: Layout;
  readonly handle: string;
  readonly timeouts: RedisTimeouts;
  readonly history: ReturnType<typeof createConnectionHistory>;
  readonly newId: () => string;
  readonly closing: AbortController;
  /** Settles with the first open session, or when there will be none. */
  readonly first: PromiseWithResolvers<void>;
  isFirst: boolean;
  /** Why no session is open. */
  failure: string;
  open: Live | undefined;
  reopening: { readonly live: Live; readonly done: Promise<void> } | undefined;
}

/**
 * Maintains a session with Redis: connects, checks it at each beat, and connects again when it has ended. Resolves with the
 * first open session; rejects if the server refuses it, or if patience or signal end the wait.
 */
export async function createLink(deps: RedisStoreDeps, options: RedisStoreOptions, emit: (event: StoreEvent) => void) {
  const handle = deps.random.id().slice(0, 14);
  const state: State = {
    deps,
    options,
    emit,
    layout: createLayout(options.prefix, options.database),
    handle,
    timeouts: { ...TIMEOUTS, ...options.timeouts },
    history: createConnectionHistory(deps.log, handle, emit),
    newId: idsOf(handle),
    closing: new AbortController(),
    first: Promise.withResolvers(),
    isFirst: true,
    failure: 'it was not reached yet',
    open: undefined,
    reopening: undefined,
  };
  const { closing, first, layout, history, newId } = state;
  const giveUp = (): void => {
    closing.abort();
    first.reject(new Error(`the store was given up: ${state.failure}`));
  };
  if (options.signal?.aborted === true) giveUp();
  options.signal?.addEventListener('abort', giveUp);
  const running = run(state);
  await first.promise.finally(() => options.signal?.removeEventListener('abort', giveUp));
  return {
    layout,
    /** Throws if no session is open. */
    live: (): Live => {
      if (closing.signal.aborted) throw new Error('the store is closed');
      if (state.open === undefined) throw new Error(`the store does not answer: ${state.failure}`);
      return state.open;
    },
    reopen: (live: Live): Promise<void> => reopen(state, live),
    /** Records a batch that Redis has confirmed. */
    wrote: history.wrote,
    /** A new id for a batch. */
    newId,
    close: async (): Promise<void> => {
      closing.abort();
      state.open?.session.close();
      await running;
    },
  };
}

/** Ids of equal length that begin with the handle. */
function idsOf(handle: string): () => string {
  let ids = 0;
  return () => {
    ids += 1;
    return handle + ids.toString(36).padStart(10, '0');
  };
}

/** Connects, checks the session at each beat, and connects again with back-off. */
async function run(state: State): Promise<void> {
  const { deps, options, closing, first, emit } = state;
  const { clock, random, log } = deps;
  const deadline = clock.monotonic() + (options.patienceMs ?? Number.POSITIVE_INFINITY);
  for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
    try {
      const session = await connectAndOpen(state);
      attempt = 0;
      const reason = await checkUntilOver(state, session);
      session.close();
      state.open = undefined;
      state.failure = reason;
      if (closing.signal.aborted) return;
      log.warn('the store does not answer any more; connecting again', { reason });
      emit({ type: 'down', message: reason });
    } catch (error) {
      const reason = errorText(error);
      const isFinal = error instanceof RefusedServer || clock.monotonic() >= deadline;
      if (state.isFirst && isFinal) return first.reject(error);
      if (state.isFirst) options.waiting?.(reason);
      if (reason !== state.failure) log.warn('the store cannot be reached; connecting again', { reason });
      state.failure = reason;
    }
    const pause = backOffMs(attempt, FIRST_RETRY_MS, LONGEST_RETRY_MS);
    await clock.sleep(pause * (0.5 + random.next() / 2), closing.signal);
  }
}

async function connectAndOpen(state: State): Promise<Session> {
  const { deps, options, timeouts, layout, handle, history, isFirst, emit } = state;
  const session = await connectSession({
    clock: deps.clock,
    log: deps.log,
    store: options,
    timeouts,
    layout,
    handle,
    probe: isFirst,
    signal: state.closing.signal,
    onMessage: (message) => {
      if (state.open !== undefined) history.receive(message, state.open.marker);
    },
  });
  try {
    const events = await openSession(state, session);
    if (!isFirst) {
      deps.log.info('the store answers again');
      emit({ type: 'up' });
    }
    for (const event of events) emit(event);
    state.isFirst = false;
    state.first.resolve();
    return session;
  } catch (error) {
    session.close();
    state.open = undefined;
    throw error;
  }
}

/** Opens a connected session. Returns the events to emit. */
async function openSession(state: State, session: Session): Promise<readonly StoreEvent[]> {
  const token = state.newId();
  const before = state.history.known();
  const found = await session.open(token, before?.count ?? 0);
  state.open = { session, token, marker: found.marker };
  return state.history.compare(before, found, true);
}

/**
 * Opens the session of `live` again after Redis has refused its token or its marker. Resolves when it is open: one attempt for
 * all callers, none if `live` is not open any more.
 */
async function reopen(state: State, live: Live): Promise<void> {
  if (state.open !== live) return;
  const openAgain = async (): Promise<void> => {
    for (const event of await openSession(state, live.session)) state.emit(event);
  };
  if (state.reopening?.live !== live) state.reopening = { live, done: openAgain() };
  await state.reopening.done;
}

/** Checks the session at each beat; resolves with the reason when it has ended. */
async function checkUntilOver(state: State, session: Session): Promise<string> {
  const { closing, deps, timeouts } = state;
  const ended = new AbortController();
  const over = session.over.finally(() => ended.abort());
  const either = AbortSignal.any([ended.signal, closing.signal]);
  for (let expected = 0; ; ) {
    await deps.clock.sleep(timeouts.beat, either);
    if (closing.signal.aborted) return 'the store is closed';
    if (either.aborted || state.open === undefined) return over;
    try {
      expected = await beat(state, state.open, expected);
    } catch (error) {
      // The reason why the connection ended is more precise than the error of the command.
      return error instanceof LostCommand ? over : errorText(error);
    }
  }
}

/**
 * Compares the state in Redis with the history. `expected`: messages up to this count should have arrived by now.
 * Returns that count for the next beat.
 */
async function beat(state: State, live: Live, expected: number): Promise<number> {
  const { history, emit } = state;
  const before = history.known();
  const { found, token } = await live.session.beat(before?.count ?? 0);
  if (found.marker !== live.marker || token !== live.token) {
    await reopen(state, live);
    return history.received();
  }
  for (const event of history.compare(before, found, false)) emit(event);
  if (history.received() < expected) history.missed(found.count);
  return found.count;
}

/** A batch of one store: the store's marker, the number of the batch in the store, and its id. */
interface BatchPosition {
  readonly marker: string;
  readonly count: number;
  readonly batch: string;
}

/** A message on the channel of changes: another batch was written. */
interface Change extends BatchPosition {
  readonly keys: readonly string[];
}

/**
 * Why the store may lack a batch that is known to be written; undefined if it has all of them. Compares ids as well as
 * counts: an outdated replica that was promoted may have reached the same count with other batches.
 */
export function lossOf(known: BatchPosition, found: ReportedState): string | undefined {
  if (found.marker !== known.marker) return 'the store was emptied or replaced by another one';
  if (found.count < known.count) return 'an older copy of the store has taken over';
  if (known.count === 0) return undefined;
  if (found.count - known.count >= REMEMBERED) {
    return 'more was written since the last check than the store remembers; it may be an older copy';
  }
  return found.batch === known.batch ? undefined : 'an older copy of the store has taken over and was written to';
}

/** Undefined if the message has another form: other programs may publish on the channel. */
export function parseChange(message: string): Change | undefined {
  const [, marker, count, batch, json] = /^(\S+) (\d+) (\S+) (.*)$/s.exec(message) ?? [];
  if (marker === undefined || batch === undefined || json === undefined) return undefined;
  try {
    const keys: unknown = JSON.parse(json);
    if (!Array.isArray(keys)) return undefined;
    return { marker, count: Number(count), batch, keys: keys.filter((key) => typeof key === 'string') };
  } catch {
    return undefined;
  }
}

/**
 * Remembers the batches of the store that this process knows, and derives events from them. `handle`: the prefix of the ids
 * of this process's own batches.
 */
function createConnectionHistory(log: Log, handle: string, emit: (event: StoreEvent) => void) {
  /** The last known batch; undefined before the first session. */
  let known: BatchPosition | undefined;
  /** Count up to which the batches of other processes were received or reported as missed. */
  let received = 0;
  return { known: () => known, received: () => received, compare, receive, missed, wrote };

  /**
   * Compares a reported state with `before`, the last known batch when the request was sent. Returns the events to emit.
   * `isNewSession`: batches that were written before it need no event, since the session itself is reported.
   */
  function compare(before: BatchPosition | undefined, found: ReportedState, isNewSession: boolean): StoreEvent[] {
    const message = before === undefined ? undefined : lossOf(before, found);
    if (message !== undefined || known === undefined || found.count > known.count) {
      known = { marker: found.marker, count: found.count, batch: found.newest };
    }
    if (message !== undefined || isNewSession) received = found.count;
    if (message === undefined) return [];
    log.warn('the store has lost records; they are written again from memory', { reason: message });
    return [{ type: 'lost', message }];
  }

  /** Receives a message of the channel while the store with this marker is in use. */
  function receive(message: string, marker: string): void {
    const change = parseChange(message);
    if (change === undefined || change.marker !== marker || change.count <= received) return;
    if (change.count > received + 1) missed(change.count);
    received = change.count;
    wrote(change);
    if (!change.batch.startsWith(handle)) emit({ type: 'changed', keys: change.keys });
  }

  /** Emits that changes up to this count were missed. */
  function missed(count: number): void {
    received = count;
    emit({ type: 'down', message: 'changes of the store were missed' });
    emit({ type: 'up' });
  }

  /** Records a batch that Redis has confirmed. */
  function wrote({ marker, count, batch }: BatchPosition): void {
    if (known?.marker === marker && count > known.count) known = { marker, count, batch };
  }
}
