import { RE2JS } from 're2js';
import { MOST_INSTRUCTIONS, mostInstructions, stepsOfMatching } from '../../model/text/pattern-size.ts';
import { PatternTooLarge } from './metered-patterns.ts';

/** A pattern of a schema. */
export interface Matcher {
  /** Whether the pattern is in a text. */
  matches(text: string): boolean;
  /** The steps that this takes at most. */
  steps(text: string): number;
}

/**
 * Compiles a pattern as an API server does: in the syntax of RE2, and so that it matches in linear time. Undefined if RE2
 * cannot express it (a look-ahead). Throws {@link PatternTooLarge} above {@link MOST_INSTRUCTIONS}. Import this module when there is a
 * pattern, not before: it loads the library.
 */
export function compilePattern(pattern: string): Matcher | undefined {
  const most = mostInstructions(pattern);
  if (most > MOST_INSTRUCTIONS) throw new PatternTooLarge(pattern, most);
  try {
    const compiled = RE2JS.compile(pattern);
    const size = compiled.programSize();
    return { matches: (text) => compiled.test(text), steps: (text) => stepsOfMatching(size, text) };
  } catch {
    return undefined;
  }
}
