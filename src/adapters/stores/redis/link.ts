import { errorText } from '../../../model/error-text.ts';
import type { StoreEvent } from '../../../ports/snapshot-store.ts';
import { type CurrentSession, createCurrentSession, type Live } from './current-session.ts';
import type { Known } from './history.ts';
import { createKnowledge } from './knowledge.ts';
import { createLayout, type Layout } from './layout.ts';
import { type RedisStoreDeps, type RedisStoreOptions, type RedisTimeouts, TIMEOUTS } from './options.ts';
import { LostCommand, RefusedServer } from './refusals.ts';
import { connectSession, type Session } from './session.ts';

/** Keeps a session with Redis up. */
export interface Link {
  readonly layout: Layout;
  /** Throws if there is no session at the moment. */
  live(): Live;
  /** After Redis has said that it does not know the session or the store any more. Resolves when that is mended. */
  reopen(live: Live): Promise<void>;
  /** A batch was written, says the reply. */
  wrote(batch: Known): void;
  /** For batches, never given before. */
  newId(): string;
  close(): Promise<void>;
}

/** Resolves when the store can be used for the first time; rejects if it is refused or given up. */
export async function createLink(
  deps: RedisStoreDeps,
  options: RedisStoreOptions,
  tell: (event: StoreEvent) => void,
): Promise<Link> {
  const layout = createLayout(options.prefix, options.database);
  const handle = deps.random.id().slice(0, 14);
  const newId = idsOf(handle);
  const knowledge = createKnowledge({ log: deps.log, tell, handle });
  const current = createCurrentSession({ knowledge, layout, newId, tell });
  const hear = (message: string): void => {
    const live = current.live();
    if (live !== undefined) knowledge.hear(message, live.marker);
  };
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const connect = (isFirst: boolean, signal: AbortSignal): Promise<Session> =>
    connectSession(
      { ...deps, signal, newId, onMessage: hear },
      { store: options, timeouts, layout, handle, probe: isFirst },
    );
  const keeper = createKeeper(deps, { ...options, timeouts }, { current, connect, tell });
  await keeper.first;
  return {
    layout,
    live: keeper.live,
    reopen: current.reopen,
    wrote: knowledge.wrote,
    newId,
    close: keeper.close,
  };
}

/** Ids of one length that begin with the handle. */
function idsOf(handle: string): () => string {
  let ids = 0;
  return () => {
    ids += 1;
    return handle + ids.toString(36).padStart(10, '0');
  };
}

interface Keeping {
  readonly current: CurrentSession;
  readonly connect: (isFirst: boolean, signal: AbortSignal) => Promise<Session>;
  readonly tell: (event: StoreEvent) => void;
}

interface Keeper {
  readonly first: Promise<void>;
  live(): Live;
  close(): Promise<void>;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

function pauseAfter(attempt: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempt, 10));
}

interface Beginning {
  /** Resolves with the first session; rejects if it is refused or given up. */
  readonly first: Promise<void>;
  reached(): void;
  /** True: there will be none. */
  failed(error: unknown): boolean;
}

/** Waits for the first session. */
function createBeginning(
  { clock }: RedisStoreDeps,
  { patienceMs = Number.POSITIVE_INFINITY, signal, waiting }: RedisStoreOptions,
  stop: () => void,
): Beginning {
  const first = Promise.withResolvers<void>();
  const givenUpAt = clock.monotonic() + patienceMs;
  let trouble = 'it was not reached yet';
  const giveUp = (): void => {
    stop();
    first.reject(new Error(`the store was given up: ${trouble}`));
  };
  signal?.addEventListener('abort', giveUp);
  if (signal?.aborted === true) giveUp();
  return {
    first: first.promise,
    reached: () => {
      signal?.removeEventListener('abort', giveUp);
      first.resolve();
    },
    failed: (error) => {
      trouble = errorText(error);
      const isOver = error instanceof RefusedServer || clock.monotonic() >= givenUpAt;
      if (isOver) first.reject(error);
      else waiting?.(trouble);
      return isOver;
    },
  };
}

/** Connects, watches, and connects again when it is over. */
function createKeeper(
  deps: RedisStoreDeps,
  options: RedisStoreOptions & { readonly timeouts: RedisTimeouts },
  { current, connect, tell }: Keeping,
): Keeper {
  const { clock, random, log } = deps;
  const closing = new AbortController();
  const beginning = createBeginning(deps, options, () => closing.abort());
  let isFirst = true;
  let trouble = 'it was not reached yet';
  const running = keep();
  return { first: beginning.first, live, close };

  function live(): Live {
    if (closing.signal.aborted) throw new Error('the store is closed');
    const found = current.live();
    if (found === undefined) throw new Error(`the store does not answer: ${trouble}`);
    return found;
  }

  async function close(): Promise<void> {
    closing.abort();
    current.live()?.session.close();
    await running;
  }

  async function keep(): Promise<void> {
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      try {
        const session = await open();
        attempt = 0;
        lost(session, await watch(session));
      } catch (error) {
        const reason = errorText(error);
        if (isFirst && beginning.failed(error)) return;
        if (reason !== trouble) log.warn('the store cannot be reached; it is tried again', { reason });
        trouble = reason;
      }
      await clock.sleep(pauseAfter(attempt) * (0.5 + random.next() / 2), closing.signal);
    }
  }

  async function open(): Promise<Session> {
    const session = await connect(isFirst, closing.signal);
    try {
      const events = await current.introduce(session);
      if (!isFirst) {
        log.info('the store answers again');
        tell({ type: 'up' });
      }
      for (const event of events) tell(event);
      isFirst = false;
      beginning.reached();
      return session;
    } catch (error) {
      session.close();
      current.drop();
      throw error;
    }
  }

  /** Resolves with the reason when the session is over. */
  async function watch(session: Session): Promise<string> {
    const ended = new AbortController();
    const over = session.over.finally(() => ended.abort());
    const either = AbortSignal.any([ended.signal, closing.signal]);
    for (let expected = 0; ; ) {
      await clock.sleep(options.timeouts.beat, either);
      const at = current.live();
      if (closing.signal.aborted) return 'the store is closed';
      if (either.aborted || at === undefined) return over;
      try {
        expected = await current.beat(at, expected);
      } catch (error) {
        // What ended the connection says more than what came of it.
        return error instanceof LostCommand ? over : errorText(error);
      }
    }
  }

  function lost(session: Session, reason: string): void {
    session.close();
    current.drop();
    trouble = reason;
    if (closing.signal.aborted) return;
    log.warn('the store does not answer any more; it is tried again', { reason });
    tell({ type: 'down', message: reason });
  }
}
