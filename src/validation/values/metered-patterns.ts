import { MOST_INSTRUCTIONS, mostInstructions, STEPS_OF_COMPILING } from '../../model/pattern-size.ts';
import { type Meter, TooMuchWork } from './meter.ts';

/** A pattern that is not compiled. */
export class PatternTooLarge extends TooMuchWork {
  constructor(pattern: string, instructions: number) {
    const shown = pattern.length <= LONGEST_SHOWN ? pattern : `${pattern.slice(0, LONGEST_SHOWN)}…`;
    super(
      `the pattern ${JSON.stringify(shown)} has up to ${instructions} instructions when it is compiled; at most ${MOST_INSTRUCTIONS} are allowed`,
    );
  }
}

const LONGEST_SHOWN = 60;

/** How many compiled patterns are kept. */
const MOST_PATTERNS = 1_000;

/**
 * Compiles patterns, and keeps them. The meter is charged before a pattern is compiled, once in each evaluation: also for one that is
 * kept, so that an evaluation does not depend on those before it. The returned function throws {@link PatternTooLarge}, and what
 * `compile` throws.
 */
export function createPatterns<Compiled>(
  meter: Meter,
  compile: (pattern: string) => Compiled,
): (pattern: string) => Compiled {
  const kept = new Map<string, Kept<Compiled>>();
  const paid = new Set<string>();
  let evaluation = -1;
  const pay = (pattern: string, { instructions }: Kept<Compiled>): void => {
    if (evaluation !== meter.evaluation) paid.clear();
    evaluation = meter.evaluation;
    if (paid.has(pattern)) return;
    if (instructions > MOST_INSTRUCTIONS) throw new PatternTooLarge(pattern, instructions);
    meter.charge(instructions * STEPS_OF_COMPILING);
    paid.add(pattern);
  };
  return (pattern) => {
    const found = kept.get(pattern) ?? { instructions: mostInstructions(pattern), compiled: undefined };
    pay(pattern, found);
    if (found.compiled === undefined) {
      if (kept.size >= MOST_PATTERNS) kept.clear();
      found.compiled = { as: compile(pattern) };
      kept.set(pattern, found);
    }
    return found.compiled.as;
  };
}

interface Kept<Compiled> {
  readonly instructions: number;
  compiled: { readonly as: Compiled } | undefined;
}
