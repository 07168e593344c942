import { quote } from '../model/ids.ts';

/**
 * Why the text is no path glob of a Placement; undefined if it is one. Allowed are `*`, `**`, `?`, `[...]` and `{a,b}`:
 * the nested patterns of extended globs can take a matcher exponential time.
 */
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
  if (segments.some((segment) => (segment.match(/\*+/g)?.length ?? 0) > 5)) {
    return `the path ${shown} holds more than five "*" in one folder or file name`;
  }
  return balanceProblem(glob, shown);
}

function balanceProblem(glob: string, shown: string): string | undefined {
  let braces = 0;
  let groups = 0;
  let inBrackets = false;
  for (const character of glob) {
    if (inBrackets) {
      if (character === ']') inBrackets = false;
    } else if (character === '[') inBrackets = true;
    else if (character === '{') {
      braces += 1;
      groups += 1;
      if (braces > 1) return `the path ${shown} holds "{" inside "{"`;
    } else if (character === '}') braces -= 1;
    if (braces < 0) break;
  }
  if (groups > 5) return `the path ${shown} holds more than five "{...}"`;
  return braces === 0 && !inBrackets ? undefined : `the path ${shown} has a bracket that is not closed`;
}
