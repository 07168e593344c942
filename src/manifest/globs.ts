import { readGlob } from '../model/glob-syntax.ts';
import { quote } from '../model/ids.ts';
import { countWildcards } from '../model/path-pattern.ts';

/** Each can be work for every character of every path. */
const MAX_WILDCARDS = 100;

/** Why the text is no path glob of a Placement; undefined if it is one. Allowed are `*`, `**`, `?`, `[...]` and `{a,b}`. */
export function globProblem(glob: string): string | undefined {
  const shown = quote(glob);
  if (glob === '') return 'a path must not be empty';
  if (glob.length > 1024) return 'a path must not be longer than 1024 characters';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  if (/[\u0000-\u001f\u007f]/.test(glob)) return `the path ${shown} holds a control character`;
  if (glob.includes('\\')) return `the path ${shown} holds a "\\"; folders are separated by "/"`;
  if (glob.startsWith('/'))
    return `the path ${shown} must be relative to the root of the source: remove the leading "/"`;
  if (glob.startsWith('!')) return `the path ${shown} must not begin with "!"; only what is listed is selected`;
  if (/[()|]/.test(glob)) return `the path ${shown} holds "(", ")" or "|"; only *, **, ?, [abc] and {a,b} are allowed`;
  const segments = glob.split('/');
  if (segments.some((segment) => segment === '..' || segment === '.')) {
    return `the path ${shown} must not hold "." or ".." as a folder`;
  }
  if (segments.slice(0, -1).includes('')) return `the path ${shown} holds "//"`;
  const reading = readGlob(glob);
  if (!reading.ok) return `the path ${shown} ${reading.problem}`;
  if (countWildcards(reading.pattern) <= MAX_WILDCARDS) return undefined;
  return `the path ${shown} holds more than ${MAX_WILDCARDS} wildcards, alternatives in braces among them`;
}
