import { type FieldProblem, fieldError } from '../../manifest/problem.ts';

/**
 * Counts the work of an evaluation in steps. A step is a node of an expression in CEL, or of a schema. The count depends on the input
 * only, so every process stops at the same point.
 */
export interface Meter {
  /** Adds work. Throws {@link TooMuchWork} if the limit is exceeded. */
  charge(steps: number): void;
  /** Begins a new evaluation. */
  reset(limit: number): void;
  /** What is left of the limit. Negative: it was exceeded, and the result of the evaluation must not be used. */
  readonly left: number;
  /** How many evaluations have begun. */
  readonly evaluation: number;
}

/** Thrown inside an evaluation; the evaluator returns it as an error of the expression. */
export class TooMuchWork extends Error {}

/** The most steps that the check of one object by the schemas of its kind may need. */
export const MOST_STEPS = 2_000_000;

/** The problem of an object whose check was ended: it must not pass unjudged. */
export function tooMuchWork(): FieldProblem {
  const message = `the schema of the kind cannot be used: to check this object takes more than ${MOST_STEPS} steps`;
  return fieldError('SchemaUnreadable', ['kind'], message, 'write the schema with fewer alternatives and patterns');
}

export function createMeter(): Meter {
  let left = 0;
  let evaluation = 0;
  return {
    charge(steps) {
      left -= steps;
      if (left < 0) throw new TooMuchWork('the expression needs too many steps');
    },
    reset(limit) {
      left = limit;
      evaluation += 1;
    },
    get left() {
      return left;
    },
    get evaluation() {
      return evaluation;
    },
  };
}
