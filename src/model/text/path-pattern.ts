/**
 * A compiled pattern for paths that begin with "/" and do not end with one. Matching advances all reachable positions of
 * the path at once and never backtracks, so the work is at most the length of the pattern times the length of the path.
 */
export type PathPattern = readonly Piece[];

export type Piece =
  /** Exactly this text. */
  | { readonly type: 'text'; readonly text: string }
  /** One character (code point) of a name; absent set: any. */
  | { readonly type: 'character'; readonly of?: CharacterSet }
  /** Any number of characters of one name, then this text. */
  | { readonly type: 'characters'; readonly text: string }
  /** Any number of complete names, each with the "/" before it. */
  | { readonly type: 'names'; readonly atLeast: 0 | 1 }
  /** Any one of these patterns. */
  | { readonly type: 'choice'; readonly among: readonly PathPattern[] };

/** The characters in any of the ranges of code points, both ends included; if negated, all others. */
export interface CharacterSet {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** Receives the work of each step of a match, in compared characters. */
export type CountSteps = (steps: number) => void;

/** Returns, in order, the lengths of the beginnings of the path that match; a length may be listed twice. */
export function matchEnds(pattern: PathPattern, path: string, count: CountSteps = uncounted): readonly number[] {
  return follow(pattern, START, path, count);
}

/** Appends a piece. Text is joined with the piece before it if possible, which makes matching faster. */
export function addPiece(pieces: Piece[], piece: Piece): void {
  const last = pieces.at(-1);
  if (last?.type === 'text' && piece.type === 'text') {
    pieces[pieces.length - 1] = { type: 'text', text: last.text + piece.text };
  } else if (last?.type === 'characters' && piece.type === 'text') {
    pieces[pieces.length - 1] = { type: 'characters', text: last.text + piece.text };
  } else pieces.push(piece);
}

/** Counts the pieces that are not plain text, and the alternatives of choices. */
export function countWildcards(pattern: PathPattern): number {
  let wildcards = 0;
  for (const piece of pattern) {
    if (piece.type === 'choice') for (const one of piece.among) wildcards += 1 + countWildcards(one);
    else if (piece.type !== 'text') wildcards += 1;
  }
  return wildcards;
}

const uncounted: CountSteps = () => undefined;
const START: readonly number[] = [0];
const SLASH = 0x2f;

/** The positions that the pieces reach from some positions, one piece after the other. Positions are ascending. */
function follow(pattern: PathPattern, from: readonly number[], path: string, count: CountSteps): readonly number[] {
  let at = from;
  for (const piece of pattern) {
    if (at.length === 0) break;
    at = step(piece, at, path, count);
  }
  return at;
}

function step(piece: Piece, at: readonly number[], path: string, count: CountSteps): readonly number[] {
  switch (piece.type) {
    case 'text':
      count(at.length * piece.text.length);
      return afterText(piece.text, at, path);
    case 'character':
      count(at.length * (1 + (piece.of?.ranges.length ?? 0)));
      return afterCharacter(piece.of, at, path);
    case 'characters':
      return afterCharacters(piece.text, at, path, count);
    case 'names':
      count(path.length);
      return afterNames(piece.atLeast, at, path);
    case 'choice':
      count(path.length);
      return afterChoice(piece.among, at, path, count);
  }
}

function afterText(text: string, at: readonly number[], path: string): readonly number[] {
  const next: number[] = [];
  for (const position of at) if (path.startsWith(text, position)) next.push(position + text.length);
  return next;
}

function afterCharacter(set: CharacterSet | undefined, at: readonly number[], path: string): readonly number[] {
  const next: number[] = [];
  for (const position of at) {
    const character = path.codePointAt(position);
    if (character === undefined || character === SLASH) continue;
    if (set !== undefined && isIn(set.ranges, character) === set.negated) continue;
    next.push(position + (character > 0xffff ? 2 : 1));
  }
  return next;
}

function isIn(ranges: CharacterSet['ranges'], character: number): boolean {
  return ranges.some(([from, to]) => character >= from && character <= to);
}

function afterCharacters(text: string, at: readonly number[], path: string, count: CountSteps): readonly number[] {
  const next: number[] = [];
  let searched = -1;
  for (const position of at) {
    if (position <= searched) continue;
    searched = endOfName(path, position);
    count((searched - position + 1) * (text.length + 1));
    const rest = path.slice(position, searched + text.length);
    for (let found = rest.indexOf(text); found >= 0; found = rest.indexOf(text, found + 1)) {
      next.push(position + found + text.length);
      if (found === rest.length) break;
    }
  }
  return next;
}

/**
 * Returns the positions after any number of complete names, at least `atLeast`, from the positions `at`. Only the first position
 * where a name begins or the path ends counts: every later end is reached from it.
 */
function afterNames(atLeast: 0 | 1, at: readonly number[], path: string): readonly number[] {
  const first = at.find((position) => position === path.length || path.charCodeAt(position) === SLASH);
  if (first === undefined) return [];
  const next = atLeast === 0 ? [first] : [];
  for (let end = first; end < path.length; ) {
    end = endOfName(path, end + 1);
    next.push(end);
  }
  return next;
}

function endOfName(path: string, position: number): number {
  const slash = path.indexOf('/', position);
  return slash < 0 ? path.length : slash;
}

function afterChoice(
  among: readonly PathPattern[],
  at: readonly number[],
  path: string,
  count: CountSteps,
): readonly number[] {
  const reached = new Uint8Array(path.length + 1);
  for (const pattern of among) for (const end of follow(pattern, at, path, count)) reached[end] = 1;
  const next: number[] = [];
  for (let end = reached.indexOf(1); end >= 0; end = reached.indexOf(1, end + 1)) next.push(end);
  return next;
}

/** POSIX character classes: the first and the last character of each range. */
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
 * Parses the bracket expression at the "[" at an offset, as git and shells do: `[abc]`, `[a-c]`, `[!a]`, `[^a]`,
 * `[[:digit:]]`. A "]" in the first place, and any character after "\", is literal. Undefined: the expression has no end,
 * or names an unknown class.
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

/** The longest path that Linux can open. */
export const MAX_PATH_BYTES = 4096;
/** The longest name of one file or folder that common file systems can hold. */
const MAX_NAME_BYTES = 255;

/** Why no file system can hold a file of this path, as the predicate of a sentence; undefined: one can. */
export function pathProblem(path: string): string | undefined {
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    return `has a path of more than ${MAX_PATH_BYTES} bytes`;
  }
  const isLong = path
    .split('/')
    .some((name) => name.length * 3 > MAX_NAME_BYTES && Buffer.byteLength(name) > MAX_NAME_BYTES);
  return isLong ? `has a name of more than ${MAX_NAME_BYTES} bytes in its path` : undefined;
}
