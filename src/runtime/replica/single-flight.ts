import { errorText } from '../../model/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';

/** Work that is done again whenever something may have changed, once at a time. */
export interface SingleFlight {
  /** There may be something to do: soon it runs, once more if it is running. */
  wake(): void;
  /** Runs no more, and resolves when it is at rest. */
  stop(): Promise<void>;
}

const RETRY_MS = 1_000;

/** `run` resolves true if it has more to do and must wait for it a while. A rejection is told and tried again. */
export function createSingleFlight(
  deps: { readonly clock: Clock; readonly log: Log },
  what: string,
  run: () => Promise<boolean>,
): SingleFlight {
  const { clock, log } = deps;
  const stopping = new AbortController();
  let wanted = false;
  let running: Promise<void> | undefined;
  let cancelRetry = (): void => undefined;
  let trouble: string | undefined;

  const tryOnce = async (): Promise<boolean> => {
    try {
      const again = await run();
      trouble = undefined;
      return again;
    } catch (error) {
      const reason = errorText(error);
      if (reason !== trouble) log.warn(`${what} failed; it is tried again`, { reason });
      trouble = reason;
      return true;
    }
  };
  const work = async (): Promise<void> => {
    let again = false;
    while (wanted && !stopping.signal.aborted) {
      wanted = false;
      again = await tryOnce();
    }
    running = undefined;
    if (again && !stopping.signal.aborted) cancelRetry = clock.schedule(RETRY_MS, wake);
  };
  function wake(): void {
    wanted = true;
    cancelRetry();
    if (running === undefined && !stopping.signal.aborted) running = work();
  }
  return {
    wake,
    stop: async () => {
      stopping.abort();
      cancelRetry();
      await running;
    },
  };
}
