import { createRequire } from 'node:module';
import type * as Re2 from 're2js';
import { MOST_INSTRUCTIONS, mostInstructions } from '../../../model/text/pattern-size.ts';

/** Why a text is no regular expression of Go; undefined if it is one. A pattern that is too large to be compiled is refused, too. */
export function patternProblem(pattern: string): string | undefined {
  if (mostInstructions(pattern) > MOST_INSTRUCTIONS) return 'the pattern is too large';
  try {
    loadRe2().RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Loads the library when the first pattern needs it. The bare `require` lets the bundler make a lazy part of it. */
function loadRe2(): typeof Re2 {
  // biome-ignore lint/style/noCommonJs: decoding is synchronous, so the lazy part cannot be a dynamic import.
  return typeof require === 'function' ? require('re2js') : createRequire(import.meta.url)('re2js');
}
