import type { CharacterSet } from './path-pattern.ts';

/** POSIX character classes: first and last character of each range. */
const CLASSES: ReadonlyMap<string, string> = new Map([
  ['alnum', '09AZaz'],
  ['alpha', 'AZaz'],
  ['blank', '\t\t  '],
  ['cntrl', '\u0000\u001f\u007f\u007f'],
  ['digit', '09'],
  ['graph', '!~'],
  ['lower', 'az'],
  ['print', ' ~'],
  ['punct', '!/:@[`{~'],
  ['space', '\t\r  '],
  ['upper', 'AZ'],
  ['xdigit', '09AFaf'],
]);

/**
 * Reads the set of characters that begins with the "[" at a position, as git and shells do: `[abc]`, `[a-c]`, `[!a]`,
 * `[^a]`, `[[:digit:]]`; a "]" stands for itself when it comes first, and any character after "\". Undefined if the set
 * does not end, or names a class that does not exist.
 */
export function readBracket(
  text: string,
  at: number,
): { readonly set: CharacterSet; readonly end: number } | undefined {
  const negated = text[at + 1] === '!' || text[at + 1] === '^';
  const first = at + (negated ? 2 : 1);
  const ranges: (readonly [number, number])[] = [];
  let next = first;
  while (next === first || text[next] !== ']') {
    const named = /\[:([^\]]*):\]/y;
    named.lastIndex = next;
    const name = named.exec(text)?.[1];
    if (name !== undefined) {
      const limits = CLASSES.get(name);
      if (limits === undefined) return undefined;
      for (let i = 0; i < limits.length; i += 2) ranges.push([limits.charCodeAt(i), limits.charCodeAt(i + 1)]);
      next = named.lastIndex;
      continue;
    }
    const from = readCharacter(text, next);
    if (from === undefined) return undefined;
    const isRange = text[from.end] === '-' && text[from.end + 1] !== ']';
    const to = isRange ? readCharacter(text, from.end + 1) : from;
    if (to === undefined) return undefined;
    ranges.push([from.character, to.character]);
    next = to.end;
  }
  return { set: { negated, ranges }, end: next + 1 };
}

function readCharacter(text: string, at: number): { readonly character: number; readonly end: number } | undefined {
  const start = text[at] === '\\' ? at + 1 : at;
  const character = text.codePointAt(start);
  return character === undefined ? undefined : { character, end: start + (character > 0xffff ? 2 : 1) };
}
