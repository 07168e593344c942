import type { Clock } from '../ports/clock.ts';
import type { StreamEnd } from '../ports/transport.ts';

/** The memory of one transfer that arrives. */
export interface TransferAccount {
  /** True: `bytes` more are held. False: there is no room, and `granted` is called when they are held. */
  reserve(bytes: number, granted: () => void): boolean;
  /** Holds exactly `bytes` from now on. */
  hold(bytes: number): void;
  /** Chunks of `bytes` together wait to be read; false: more than all transfers may have waiting. */
  queue(bytes: number): boolean;
  /** Releases everything; nothing is granted any more. */
  close(): void;
}

/** One memory for the arriving transfers of all sessions. */
export interface TransferMemory {
  /** `end` ends the link of the transfer. */
  open(end: (end: StreamEnd) => void): TransferAccount;
  /** Bytes that are held, bytes that wait to be read, and transfers that wait. */
  stats(): { readonly held: number; readonly queued: number; readonly waiting: number };
}

/** A transfer that holds no more than this may use the last eighth: the small steps of most agents do not wait for large ones. */
const SMALL_BYTES = 1024 * 1024;

const NEEDED: StreamEnd = {
  code: 'unavailable',
  reason: 'MemoryNeeded',
  message: 'the transfer has held memory for long while transfers of other agents waited for it',
};

type Account = ReturnType<typeof newAccount>;
type State = ReturnType<typeof newState>;

function newAccount(end: (end: StreamEnd) => void, now: number) {
  return {
    end,
    /** Monotonic milliseconds: when its sender began, moved by the time for which it waited for memory. */
    began: now,
    waitsSince: now,
    held: 0,
    queued: 0,
    /** What it waits for; undefined: nothing. */
    wanted: undefined as { readonly bytes: number; readonly granted: () => void } | undefined,
  };
}

interface Deps {
  readonly clock: Pick<Clock, 'schedule' | 'monotonic'>;
  readonly bytes: number;
  readonly patienceMs: number;
}

function newState(deps: Deps) {
  return {
    ...deps,
    /** Oldest first. */
    accounts: new Set<Account>(),
    /** Those that wait, in the order in which they began to. */
    waiting: new Set<Account>(),
    held: 0,
    queued: 0,
    cancel: undefined as (() => void) | undefined,
    isGranting: false,
  };
}

/**
 * Makes a memory of `bytes`. A transfer without room waits, and its sender with it, because the chunk is not acknowledged. If the
 * first in the queue is granted nothing for `patienceMs`, the transfer with the slowest sender ends. So no session can keep the
 * others waiting for ever.
 */
export function createTransferMemory(deps: Deps): TransferMemory {
  const state = newState(deps);
  return {
    open(end) {
      const account = newAccount(end, deps.clock.monotonic());
      state.accounts.add(account);
      return accountOf(state, account);
    },
    stats: () => ({ held: state.held, queued: state.queued, waiting: state.waiting.size }),
  };
}

function accountOf(state: State, account: Account): TransferAccount {
  return {
    reserve(bytes, granted) {
      const isFirst = state.waiting.size === 0 || account.held + bytes <= SMALL_BYTES;
      if (isFirst && fits(state, account, bytes)) {
        setHeld(state, account, account.held + bytes);
        return true;
      }
      account.wanted = { bytes, granted };
      account.waitsSince = state.clock.monotonic();
      state.waiting.add(account);
      if (state.cancel === undefined) watch(state);
      return false;
    },
    hold(bytes) {
      setHeld(state, account, bytes);
      grant(state);
    },
    queue(bytes) {
      setQueued(state, account, bytes);
      return state.queued <= state.bytes / 4;
    },
    close() {
      if (!state.accounts.delete(account)) return;
      setHeld(state, account, 0);
      setQueued(state, account, 0);
      stopWaiting(state, account);
      grant(state);
    },
  };
}

function fits({ held, bytes: limit }: State, account: Account, bytes: number): boolean {
  // Alone it always fits, so that a transfer above the limit goes on.
  if (held === account.held) return true;
  const room = account.held + bytes <= SMALL_BYTES ? limit : limit - limit / 8;
  return held + bytes <= room;
}

function setHeld(state: State, account: Account, bytes: number): void {
  state.held += bytes - account.held;
  account.held = bytes;
}

function setQueued(state: State, account: Account, bytes: number): void {
  state.queued += bytes - account.queued;
  account.queued = bytes;
}

function grant(state: State): void {
  // A transfer that goes on may end and release memory: the loop that runs sees that.
  if (state.isGranting) return;
  state.isGranting = true;
  for (const account of state.waiting) {
    const { wanted } = account;
    if (wanted === undefined || !fits(state, account, wanted.bytes)) continue;
    stopWaiting(state, account);
    setHeld(state, account, account.held + wanted.bytes);
    wanted.granted();
  }
  state.isGranting = false;
}

function stopWaiting(state: State, account: Account): void {
  if (account.wanted !== undefined) account.began += state.clock.monotonic() - account.waitsSince;
  account.wanted = undefined;
  state.waiting.delete(account);
  if (state.waiting.size > 0) return;
  state.cancel?.();
  state.cancel = undefined;
}

/** Frees memory if the first that waits was granted none for `patienceMs`. */
function watch(state: State): void {
  const [first] = state.waiting;
  const wanted = first?.wanted;
  state.cancel = state.clock.schedule(state.patienceMs, () => {
    state.cancel = undefined;
    if (wanted !== undefined && first?.wanted === wanted) slowest(state)?.end(NEEDED);
    if (state.waiting.size > 0 && state.cancel === undefined) watch(state);
  });
}

/** The transfer with the slowest sender among transfers that hold memory. The time for which a sender had to wait does not count. */
function slowest({ accounts, clock }: State): Account | undefined {
  let found: Account | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const account of accounts) {
    const { held, wanted, waitsSince, began } = account;
    if (held === 0) continue;
    const rate = held / ((wanted === undefined ? clock.monotonic() : waitsSince) - began);
    // The newest of equal ones counts.
    if (rate <= lowest) [found, lowest] = [account, rate];
  }
  return found;
}
