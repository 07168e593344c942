import type { Clock } from '../../ports/clock.ts';

const QUIET_MS = 250;
const LONGEST_MS = 2_000;

/**
 * Gathers changes into looks, one at a time: a look begins after a quarter of a second without a change, or two seconds after
 * the first change. `look` must not reject.
 */
export function createGatherer(clock: Clock, look: () => Promise<void>) {
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
    stop: (): void => {
      stopped = true;
      cancel?.();
    },
  };
}
