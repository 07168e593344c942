import { type AdmissionPosition, comparePositions } from '../../model/output.ts';

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
  /** Somebody (an agent, another replica, the store) knows of this one: what is admitted next comes after it. */
  seen(position: AdmissionPosition): void;
  /** Somebody knows of a later one than what is admitted here. */
  isBehind(): boolean;
}

/** `stored`: as last written; undefined: nothing was ever admitted in this epoch. */
export function createAdmissionCounter(epoch: number, stored: AdmissionPosition | undefined): AdmissionCounter {
  let current = later(stored ?? { epoch: 0, sequence: 0 }, { epoch, sequence: 0 });
  let highest = current;
  return {
    current: () => current,
    next: () => ({ ...highest, sequence: highest.sequence + 1 }),
    set: (position) => {
      current = later(current, position);
      highest = later(highest, position);
    },
    seen: (position) => {
      highest = later(highest, position);
    },
    isBehind: () => comparePositions(current, highest) < 0,
  };
}

function later(a: AdmissionPosition, b: AdmissionPosition): AdmissionPosition {
  return comparePositions(a, b) < 0 ? b : a;
}
