import { backOffMs } from '../../../model/back-off.ts';
import { errorText } from '../../../model/messages.ts';
import type { StoreEvent } from '../../../ports/snapshot-store.ts';
import { LostCommand, RefusedServer } from './errors.ts';
import { type BatchPosition, createHistory, type History } from './history.ts';
import { createLayout, type Layout } from './layout.ts';
import { type RedisStoreDeps, type RedisStoreOptions, TIMEOUTS } from './options.ts';
import { connectSession, type Session } from './session.ts';

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;
const NEVER_REACHED = 'it was not reached yet';

/** The open session, and the names that its commands carry. */
export interface Live {
  readonly session: Session;
  readonly token: string;
  readonly marker: string;
}

/** Maintains a session with Redis: connects, checks it at each beat, and connects again when it has ended. */
export interface Link {
  readonly layout: Layout;
  /** Throws if no session is open. */
  live(): Live;
  /** Opens the session of `live` again after Redis has refused its token or its marker. Resolves when it is open. */
  reopen(live: Live): Promise<void>;
  /** Records a batch that Redis has confirmed. */
  wrote(batch: BatchPosition): void;
  /** A new id for a batch. */
  newId(): string;
  close(): Promise<void>;
}

/** Resolves with the first open session; rejects if the server refuses it, or if patience or signal end the wait. */
export async function createLink(
  deps: RedisStoreDeps,
  options: RedisStoreOptions,
  emit: (event: StoreEvent) => void,
): Promise<Link> {
  const layout = createLayout(options.prefix, options.database);
  const handle = deps.random.id().slice(0, 14);
  const newId = idsOf(handle);
  const history = createHistory({ log: deps.log, emit, handle });
  const opening = createOpening(history, newId, emit);
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const onMessage = (message: string): void => {
    const live = opening.live();
    if (live !== undefined) history.receive(message, live.marker);
  };
  const connect = (isFirst: boolean, signal: AbortSignal): Promise<Session> =>
    connectSession({ ...deps, signal, newId, onMessage }, { store: options, timeouts, layout, handle, probe: isFirst });
  const loop = runLoop(deps, options, { opening, connect, emit, beatMs: timeouts.beat });
  await loop.first;
  return {
    layout,
    live: loop.live,
    reopen: opening.reopen,
    wrote: history.wrote,
    newId,
    close: loop.close,
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

/** Which session is open. */
interface Opening {
  live(): Live | undefined;
  /** Opens a connected session. Returns the events to emit. */
  open(session: Session): Promise<readonly StoreEvent[]>;
  /** Opens the same session again and emits the events; one attempt for all callers, none if `live` is not open any more. */
  reopen(live: Live): Promise<void>;
  /**
   * Compares the state in Redis with the history. `expected`: messages up to this count should have arrived by now.
   * Returns that count for the next beat.
   */
  beat(live: Live, expected: number): Promise<number>;
  drop(): void;
}

function createOpening(history: History, newId: () => string, emit: (event: StoreEvent) => void): Opening {
  let live: Live | undefined;
  let reopening: { readonly live: Live; readonly done: Promise<void> } | undefined;
  return {
    live: () => live,
    open,
    reopen,
    beat,
    drop: () => {
      live = undefined;
    },
  };

  async function open(session: Session): Promise<readonly StoreEvent[]> {
    const token = newId();
    const before = history.known();
    const found = await session.open(token, before?.count ?? 0);
    live = { session, token, marker: found.marker };
    return history.compare(before, found, true);
  }

  async function reopen(of: Live): Promise<void> {
    if (live !== of) return;
    if (reopening?.live !== of) reopening = { live: of, done: openAgain(of) };
    await reopening.done;
  }

  async function openAgain({ session }: Live): Promise<void> {
    for (const event of await open(session)) emit(event);
  }

  async function beat(at: Live, expected: number): Promise<number> {
    const before = history.known();
    const { found, token } = await at.session.beat(before?.count ?? 0);
    if (found.marker !== at.marker || token !== at.token) {
      await reopen(at);
      return history.received();
    }
    for (const event of history.compare(before, found, false)) emit(event);
    if (history.received() < expected) history.missed(found.count);
    return found.count;
  }
}

interface LoopDeps {
  readonly opening: Opening;
  readonly connect: (isFirst: boolean, signal: AbortSignal) => Promise<Session>;
  readonly emit: (event: StoreEvent) => void;
  /** Milliseconds between two checks of the session. */
  readonly beatMs: number;
}

interface Loop {
  readonly first: Promise<void>;
  live(): Live;
  close(): Promise<void>;
}

/** Connects, checks the session at each beat, and connects again with back-off. */
function runLoop(deps: RedisStoreDeps, options: RedisStoreOptions, { opening, connect, emit, beatMs }: LoopDeps): Loop {
  const { clock, random, log } = deps;
  const closing = new AbortController();
  const first = createFirstSession(deps, options, () => closing.abort());
  let isFirst = true;
  let failure = NEVER_REACHED;
  const running = run();
  return {
    first: first.session,
    live: () => {
      if (closing.signal.aborted) throw new Error('the store is closed');
      const live = opening.live();
      if (live === undefined) throw new Error(`the store does not answer: ${failure}`);
      return live;
    },
    close: async () => {
      closing.abort();
      opening.live()?.session.close();
      await running;
    },
  };

  async function run(): Promise<void> {
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      try {
        const session = await connectAndOpen();
        attempt = 0;
        const reason = await checkUntilOver(session, { clock, opening, beatMs }, closing.signal);
        session.close();
        opening.drop();
        failure = reason;
        if (closing.signal.aborted) return;
        log.warn('the store does not answer any more; connecting again', { reason });
        emit({ type: 'down', message: reason });
      } catch (error) {
        const reason = errorText(error);
        if (isFirst && first.failed(error)) return;
        if (reason !== failure) log.warn('the store cannot be reached; connecting again', { reason });
        failure = reason;
      }
      const pause = backOffMs(attempt, FIRST_RETRY_MS, LONGEST_RETRY_MS);
      await clock.sleep(pause * (0.5 + random.next() / 2), closing.signal);
    }
  }

  async function connectAndOpen(): Promise<Session> {
    const session = await connect(isFirst, closing.signal);
    try {
      const events = await opening.open(session);
      if (!isFirst) {
        log.info('the store answers again');
        emit({ type: 'up' });
      }
      for (const event of events) emit(event);
      isFirst = false;
      first.reached();
      return session;
    } catch (error) {
      session.close();
      opening.drop();
      throw error;
    }
  }
}

/** Checks the session at each beat; resolves with the reason when it has ended. */
async function checkUntilOver(
  session: Session,
  { clock, opening, beatMs }: Pick<RedisStoreDeps, 'clock'> & Pick<LoopDeps, 'opening' | 'beatMs'>,
  closing: AbortSignal,
): Promise<string> {
  const ended = new AbortController();
  const over = session.over.finally(() => ended.abort());
  const either = AbortSignal.any([ended.signal, closing]);
  for (let expected = 0; ; ) {
    await clock.sleep(beatMs, either);
    const live = opening.live();
    if (closing.aborted) return 'the store is closed';
    if (either.aborted || live === undefined) return over;
    try {
      expected = await opening.beat(live, expected);
    } catch (error) {
      // The reason why the connection ended is more precise than the error of the command.
      return error instanceof LostCommand ? over : errorText(error);
    }
  }
}

interface FirstSession {
  /** Resolves with the first session; rejects if it is refused or given up. */
  readonly session: Promise<void>;
  reached(): void;
  /** Returns true if no further attempt is made. */
  failed(error: unknown): boolean;
}

function createFirstSession(
  { clock }: RedisStoreDeps,
  { patienceMs = Number.POSITIVE_INFINITY, signal, waiting }: RedisStoreOptions,
  stop: () => void,
): FirstSession {
  const session = Promise.withResolvers<void>();
  const deadline = clock.monotonic() + patienceMs;
  let failure = NEVER_REACHED;
  const giveUp = (): void => {
    stop();
    session.reject(new Error(`the store was given up: ${failure}`));
  };
  signal?.addEventListener('abort', giveUp);
  if (signal?.aborted === true) giveUp();
  return {
    session: session.promise,
    reached: () => {
      signal?.removeEventListener('abort', giveUp);
      session.resolve();
    },
    failed: (error) => {
      failure = errorText(error);
      const isFinal = error instanceof RefusedServer || clock.monotonic() >= deadline;
      if (isFinal) session.reject(error);
      else waiting?.(failure);
      return isFinal;
    },
  };
}
