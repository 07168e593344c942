import { type AdmissionPosition, comparePositions, positionAfter } from '../../model/output.ts';

/**
 * Numbers the states of all sources that a fleet's leader has admitted, so that an agent can tell a later one from an
 * earlier one, whoever sends it.
 */
export interface AdmissionCounter {
  /** Of what is admitted now. */
  current(): AdmissionPosition;
  /** What the next admission will be. */
  next(): AdmissionPosition;
  /** It is admitted; never lower than before. */
  set(position: AdmissionPosition): void;
  /** Another replica or the store knows of this one: what is admitted next comes after it. */
  seen(position: AdmissionPosition): void;
  /**
   * The store may be older than what was admitted last: a new epoch begins once every source was read anew. `now`:
   * milliseconds since 1970.
   */
  planEpoch(now: number): void;
  /**
   * What is admitted once every source was read anew comes after this one: an agent states it, and that counts (see
   * `firstClaim`). Undefined: nothing is stated.
   */
  claimed(position: AdmissionPosition | undefined): void;
  /** What is admitted here is to be raised once every source was read anew. */
  isBehind(): boolean;
  /** Every source was read anew: what is admitted next comes after all that was planned and claimed. */
  catchUp(): void;
}

/** `stored`: as last written; undefined: nothing was ever admitted in this epoch. */
export function createAdmissionCounter(epoch: number, stored: AdmissionPosition | undefined): AdmissionCounter {
  let current = later(stored ?? { epoch: 0, sequence: 0 }, { epoch, sequence: 0 });
  let highest = current;
  /** What is admitted once every source was read anew comes after it. */
  let goal = current;
  return {
    current: () => current,
    next: () => positionAfter(highest),
    set: (position) => {
      current = later(current, position);
      highest = later(highest, position);
    },
    seen: (position) => {
      highest = later(highest, position);
    },
    planEpoch: (now) => {
      goal = later(goal, { epoch: Math.max(now, highest.epoch + 1), sequence: 0 });
    },
    claimed: (position) => {
      if (position !== undefined) goal = later(goal, position);
    },
    isBehind: () => comparePositions(current, later(highest, goal)) < 0,
    catchUp: () => {
      highest = later(highest, goal);
    },
  };
}

function later(a: AdmissionPosition, b: AdmissionPosition): AdmissionPosition {
  return comparePositions(a, b) < 0 ? b : a;
}
