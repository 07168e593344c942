import { backOffMs } from '../../model/limits/back-off.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

export interface PollerOptions {
  /** Time between two looks that succeed; jittered by a tenth. */
  readonly intervalMs: number;
  /** The first wait after a failure; doubles with each further one. */
  readonly retryMs: number;
  /** The longest wait after failures. */
  readonly maxRetryMs: number;
}

/**
 * Looks at its interval, with back-off while looks fail, and at once when triggered. `look` resolves with whether it succeeded.
 * It reports its failures itself; `failed` is called with the error of a rejection, except after the stop.
 */
export function createPoller(
  deps: {
    readonly clock: Clock;
    readonly random: Random;
    readonly look: (signal: AbortSignal) => Promise<boolean>;
    readonly failed: (error: unknown) => void;
  },
  { intervalMs, retryMs, maxRetryMs }: PollerOptions,
) {
  const { clock, random } = deps;
  const stopping = new AbortController();
  let current: Promise<void> | undefined;
  /** The look that follows the current one. */
  let next: Promise<void> | undefined;
  let failures = 0;
  let cancelWait = (): void => undefined;

  function look(): Promise<void> {
    if (current === undefined) return begin();
    next ??= current.then(begin);
    return next;
  }

  function begin(): Promise<void> {
    next = undefined;
    current = run();
    return current;
  }

  async function run(): Promise<void> {
    cancelWait();
    if (stopping.signal.aborted) return;
    const succeeded = await deps.look(stopping.signal).catch((error: unknown) => {
      if (!stopping.signal.aborted) deps.failed(error);
      return false;
    });
    failures = succeeded ? 0 : failures + 1;
    if (next !== undefined || stopping.signal.aborted) return;
    current = undefined;
    cancelWait = clock.schedule(waitMs(), () => void look());
  }

  function waitMs(): number {
    if (failures === 0) return intervalMs * (0.9 + 0.2 * random.next());
    // Half fixed, half random: many followers of one broken server return spread out.
    return backOffMs(failures - 1, retryMs, maxRetryMs) * (0.5 + 0.5 * random.next());
  }

  const trigger = (): void => void look();
  return {
    start: trigger,
    /** Triggers during a look cause exactly one more look, however many there are. */
    trigger,
    /** Triggers, and resolves at the end of a look that began after this call, or at the stop. */
    look,
    /** Aborts the current look and waits for its end. */
    stop: async (): Promise<void> => {
      stopping.abort();
      cancelWait();
      await (next ?? current);
    },
  };
}
