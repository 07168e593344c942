import type { Clock } from '../../../ports/clock.ts';

/** Bounds work by a time and by somebody else's signal. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The time has run out (and not: somebody has aborted). */
  expired(): boolean;
  /** Milliseconds left. */
  left(): number;
  /** The work is done: the timer goes. */
  end(): void;
}

/** Starts one. */
export function startDeadline(clock: Clock, milliseconds: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const until = clock.monotonic() + milliseconds;
  let expired = false;
  const cancel = clock.schedule(milliseconds, () => {
    expired = true;
    controller.abort();
  });
  const abort = (): void => controller.abort();
  if (outer?.aborted === true) abort();
  outer?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    expired: () => expired,
    left: () => Math.max(0, until - clock.monotonic()),
    end() {
      cancel();
      outer?.removeEventListener('abort', abort);
    },
  };
}

/** Settles with the promise, or rejects as soon as the signal aborts. */
export function raceAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('given up'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
