import type { Clock } from '../../../src/ports/clock.ts';
import type { BeginSlice } from '../../../src/runtime/loop.ts';
import type { Dice } from '../core/dice.ts';

/** Of a server with slices, in records and in milliseconds. */
const LONGEST_SLICE = 300;
const LONGEST_TURN_MS = 40;

/**
 * In half of the lives of servers, commits are cut after few records, and time passes between two slices: what arrives meanwhile is
 * staged for the next commit.
 */
export function createSimSlices(clock: Clock, dice: Dice): { readonly clock: Clock; readonly beginSlice?: BeginSlice } {
  if (dice.chance(0.5)) return { clock };
  const schedule = (milliseconds: number, callback: () => void): (() => void) =>
    clock.schedule(milliseconds === 0 ? dice.int(LONGEST_TURN_MS) : milliseconds, callback);
  const beginSlice = (): (() => boolean) => {
    let left = dice.int(LONGEST_SLICE);
    return () => --left < 0;
  };
  return { clock: { ...clock, schedule }, beginSlice };
}
