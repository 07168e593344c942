/** Counts the work of an evaluation, in evaluated nodes. It depends on the input only, so every process stops at the same point. */
export interface Meter {
  /** Adds work. Throws {@link TooMuchWork} if the limit is exceeded. */
  charge(nodes: number): void;
  /** Begins a new evaluation. */
  reset(limit: number): void;
  /** What is left of the limit. Negative: it was exceeded, and the result of the evaluation must not be used. */
  readonly left: number;
}

/** Thrown inside an evaluation; the evaluator returns it as an error of the expression. */
export class TooMuchWork extends Error {}

export function createMeter(): Meter {
  let left = 0;
  return {
    charge(nodes) {
      left -= nodes;
      if (left < 0) throw new TooMuchWork('the expression needs too many steps');
    },
    reset(limit) {
      left = limit;
    },
    get left() {
      return left;
    },
  };
}
