import { createFleetWorld, type FleetWorld } from './fleet-world.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** A world whose server commits in slices, and whose turns of the event loop a test plays while commits are held up. */
export interface CutWorld extends FleetWorld {
  /** From now on the server goes on only by `turn`. */
  hold(): void;
  /** One turn: a slice, or the begin of the next commit. */
  turn(): void;
}

/** `records`: how many each slice works on; after the last slice they begin again. */
export async function createCutWorld(
  records: readonly number[],
  given: Omit<NonNullable<Parameters<typeof createFleetWorld>[0]>, 'clock' | 'serverClock' | 'beginSlice'> = {},
): Promise<CutWorld> {
  const clock = createVirtualClock();
  const waiting: (() => void)[] = [];
  let isHeld = false;
  let slice = 0;
  const world = await createFleetWorld({
    ...given,
    clock,
    serverClock: {
      ...clock,
      schedule: (milliseconds, callback) => {
        if (milliseconds > 0 || !isHeld) return clock.schedule(milliseconds, callback);
        waiting.push(callback);
        return () => void waiting.splice(waiting.indexOf(callback), 1);
      },
    },
    beginSlice: () => {
      let left = records[slice++ % records.length] as number;
      return () => --left < 0;
    },
  });
  return {
    ...world,
    hold: () => {
      isHeld = true;
    },
    turn: () => waiting.shift()?.(),
    settle: () => {
      isHeld = false;
      for (const callback of waiting.splice(0)) clock.schedule(0, callback);
      return world.settle();
    },
  };
}
