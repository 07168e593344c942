import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';

/** One turn of this process as the leader. */
export interface Turn {
  /**
   * May a request that changes something be sent at this moment? To be asked right before each one: a process that was
   * asleep finds out here that its turn has ended. Never true again afterwards, also not in a later turn.
   */
  mayWrite(): boolean;
  /** Aborts when the turn is over. */
  readonly over: AbortSignal;
  /** Gives the turn up, for a reason that speaks against this process. */
  resign(reason: string): void;
}

/** Begins what a leader does, and resolves with what ends it. Rejects if it cannot be done; then another may try. */
export type Lead = (turn: Turn) => Promise<() => Promise<void>>;

/** The turns of this process, one at a time. */
export interface Turns {
  /** Begins a turn, or goes on with it, until the deadline (monotonic milliseconds) unless it is renewed again. */
  renew(deadline: number): void;
  lose(reason: string): void;
  isOn(): boolean;
  /** Why the last turn was lost or given up, for people. */
  whyOver(): string;
  /** Ends it in order: what it does may write until it has ended. */
  end(): Promise<void>;
  /** Resolves when no turn is ending: with the milliseconds to rest before the next one, 0 if there is no reason to. */
  settled(): Promise<number>;
}

/** After a turn that could not begin or was given up: so that another replica gets it. */
const FIRST_REST_MS = 2_000;
const LONGEST_REST_MS = 30_000;

interface Running {
  deadline: number;
  readonly over: AbortController;
  /** What ends it; undefined: it has not begun yet, or never did. */
  stop: (() => Promise<void>) | undefined;
  beginning: Promise<void>;
  ended: Promise<void> | undefined;
}

export function createTurns({ clock, log }: { readonly clock: Clock; readonly log: Log }, lead: Lead): Turns {
  let running: Running | undefined;
  let cancelDeadline: (() => void) | undefined;
  let failures = 0;
  let rest = 0;
  let why = 'it is stopping';

  const isOn = (): boolean => running?.over.signal.aborted === false;
  return { renew, lose, isOn, whyOver: () => why, end, settled };

  function renew(deadline: number): void {
    const turn = running ?? start();
    if (turn.over.signal.aborted) return;
    turn.deadline = deadline;
    cancelDeadline?.();
    cancelDeadline = clock.schedule(deadline - clock.monotonic(), () => lose('the lease was not renewed in time'));
  }

  function start(): Running {
    const turn = newTurn();
    running = turn;
    log.info('this replica leads');
    turn.beginning = Promise.resolve().then(() => begin(turn));
    return turn;
  }

  async function begin(turn: Running): Promise<void> {
    const { signal: over } = turn.over;
    try {
      turn.stop = await lead({
        mayWrite: () => !over.aborted && clock.monotonic() < turn.deadline,
        over,
        resign: (reason) => resign(turn, reason),
      });
      failures = 0;
    } catch (error) {
      if (!over.aborted) log.error('this replica could not begin to lead', { error });
      resign(turn, 'it could not begin');
    }
  }

  function resign(turn: Running, reason: string): void {
    if (turn.over.signal.aborted) return;
    rest = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** failures);
    failures += 1;
    loseTurn(turn, reason);
  }

  function lose(reason: string): void {
    if (running !== undefined) loseTurn(running, reason);
  }

  function loseTurn(turn: Running, reason: string): void {
    if (turn.over.signal.aborted) return;
    why = reason;
    log.warn('this replica does not lead any more', { reason });
    turn.over.abort();
    turn.ended ??= finish(turn);
  }

  async function end(): Promise<void> {
    if (running === undefined) return;
    // What has not begun yet need not.
    if (running.stop === undefined) running.over.abort();
    running.ended ??= finish(running);
    await running.ended;
  }

  async function finish(turn: Running): Promise<void> {
    await turn.beginning;
    try {
      await turn.stop?.();
    } catch (error) {
      log.error('what the leader did could not be ended in order', { error });
    }
    turn.over.abort();
    cancelDeadline?.();
    running = undefined;
  }

  async function settled(): Promise<number> {
    if (running?.over.signal.aborted === true) await running.ended;
    const wanted = rest;
    rest = 0;
    return wanted;
  }
}

function newTurn(): Running {
  return {
    deadline: Number.NEGATIVE_INFINITY,
    over: new AbortController(),
    stop: undefined,
    beginning: Promise.resolve(),
    ended: undefined,
  };
}
