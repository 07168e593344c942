import { MOST_INSTRUCTIONS, mostInstructions, STEPS_OF_COMPILING } from '../../model/text/pattern-size.ts';
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

/**
 * The instructions of all compiled patterns that are kept together. Each takes half a kilobyte at most. More than the patterns of one
 * evaluation can have, which pays for each of them.
 */
const MOST_KEPT_INSTRUCTIONS = 200_000;

/** Patterns with their sizes, compiled when they are needed first. */
export interface KeptPatterns<Compiled> {
  get(pattern: string): Kept<Compiled>;
}

interface Kept<Compiled> {
  /** At most, when it is compiled. */
  readonly instructions: number;
  /** Throws what the compiler throws. */
  readonly compiled: () => Compiled;
}

/** Keeps compiled patterns for all that share them: the sum of their instructions is bounded, not their number. */
export function keepPatterns<Compiled>(compile: (pattern: string) => Compiled): KeptPatterns<Compiled> {
  const kept = new Map<string, Kept<Compiled>>();
  let sum = 0;
  const keep = (pattern: string, instructions: number): Compiled => {
    const compiled = compile(pattern);
    if (sum + instructions > MOST_KEPT_INSTRUCTIONS) {
      kept.clear();
      sum = 0;
    }
    sum += instructions;
    kept.set(pattern, { instructions, compiled: () => compiled });
    return compiled;
  };
  return {
    get: (pattern) => {
      const found = kept.get(pattern);
      if (found !== undefined) return found;
      const instructions = mostInstructions(pattern);
      return { instructions, compiled: () => keep(pattern, instructions) };
    },
  };
}

/**
 * Compiles patterns. The meter is charged before a pattern is compiled, once in each evaluation: also for one that is kept, so that
 * an evaluation does not depend on those before it. The returned function throws {@link PatternTooLarge}, and what the compiler throws.
 */
export function createPatterns<Compiled>(
  meter: Meter,
  patterns: KeptPatterns<Compiled>,
): (pattern: string) => Compiled {
  const paid = new Set<string>();
  let evaluation = -1;
  return (pattern) => {
    if (evaluation !== meter.evaluation) paid.clear();
    evaluation = meter.evaluation;
    const { instructions, compiled } = patterns.get(pattern);
    if (!paid.has(pattern)) {
      if (instructions > MOST_INSTRUCTIONS) throw new PatternTooLarge(pattern, instructions);
      meter.charge(instructions * STEPS_OF_COMPILING);
      paid.add(pattern);
    }
    return compiled();
  };
}
