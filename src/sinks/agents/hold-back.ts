import type { Clock } from '../../ports/clock.ts';
import type { ClusterSession } from '../../runtime/sessions.ts';

const FIRST_MS = 500;
const LONGEST_MS = 60_000;

/**
 * After a rejection the same cluster is left alone for a while, longer with each one in a row: what was rejected once is
 * likely to be rejected again.
 */
export function holdBack(state: ClusterSession, clock: Clock, over: () => void): void {
  state.rejections++;
  state.heldBack = true;
  clock.schedule(Math.min(LONGEST_MS, FIRST_MS * 2 ** (state.rejections - 1)), () => {
    state.heldBack = false;
    over();
  });
}
