import type { Clock } from '../../ports/clock.ts';

/** Gathers changes that come close together into one look. */
export interface Gatherer {
  /** Something has changed: a look comes when it has been quiet for a moment, or has gone on for long. */
  readonly changed: () => void;
  stop(): void;
}

const QUIET_MS = 250;
const LONGEST_MS = 2_000;

/** Creates the gatherer; looks come one at a time. `look` must not reject. */
export function createGatherer(clock: Clock, look: () => Promise<void>): Gatherer {
  let cancel: (() => void) | undefined;
  let since: number | undefined;
  let looking = false;
  let stopped = false;

  const run = async (): Promise<void> => {
    cancel = undefined;
    since = undefined;
    looking = true;
    await look();
    looking = false;
    if (since !== undefined) schedule();
  };
  const schedule = (): void => {
    since ??= clock.monotonic();
    if (looking || stopped) return;
    cancel?.();
    cancel = clock.schedule(Math.min(QUIET_MS, Math.max(0, since + LONGEST_MS - clock.monotonic())), () => void run());
  };
  return {
    changed: schedule,
    stop: () => {
      stopped = true;
      cancel?.();
    },
  };
}
