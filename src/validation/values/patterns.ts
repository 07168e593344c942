import { RE2JS } from 're2js';

/** Whether a pattern of a schema is in a text. */
export type Matcher = (text: string) => boolean;

/**
 * Compiles a pattern as an API server does: in the syntax of RE2, and so that it matches in linear time. Undefined if RE2
 * cannot express it (a look-ahead). Import this module when there is a pattern, not before: it loads the library.
 */
export function compilePattern(pattern: string): Matcher | undefined {
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => compiled.matcher(text).find();
  } catch {
    return undefined;
  }
}
