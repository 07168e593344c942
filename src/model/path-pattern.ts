/**
 * A pattern over paths, compiled. It is matched against a path that begins with "/" and does not end with one, by
 * following all positions that can be reached at once: what matches once is never tried again, so that the work is at
 * most the length of the pattern times the length of the path.
 */
export type PathPattern = readonly Piece[];

export type Piece =
  /** This very text. */
  | { readonly type: 'text'; readonly text: string }
  /** One character (a code point) of a name. */
  | { readonly type: 'character'; readonly of?: CharacterSet }
  /** Any characters of one name, or none, and after them this text. */
  | { readonly type: 'characters'; readonly text: string }
  /** Any number of whole names, each after its "/". */
  | { readonly type: 'names'; readonly atLeast: 0 | 1 }
  /** One of these. */
  | { readonly type: 'choice'; readonly among: readonly PathPattern[] };

/** Characters in one of the ranges of code points, both ends included; if negated, all others. */
export interface CharacterSet {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** Is told how much work matching is, in characters compared. */
export type CountSteps = (steps: number) => void;

/** The positions, in order, at which those beginnings of the path end that match; one may come twice. */
export function matchEnds(pattern: PathPattern, path: string, count: CountSteps = uncounted): readonly number[] {
  return follow(pattern, START, path, count);
}

/** Adds a piece. Text joins the piece before it where it can, which makes matching quicker. */
export function addPiece(pieces: Piece[], piece: Piece): void {
  const last = pieces.at(-1);
  if (last?.type === 'text' && piece.type === 'text') {
    pieces[pieces.length - 1] = { type: 'text', text: last.text + piece.text };
  } else if (last?.type === 'characters' && piece.type === 'text') {
    pieces[pieces.length - 1] = { type: 'characters', text: last.text + piece.text };
  } else pieces.push(piece);
}

/** How many pieces can match in more ways than one, each alternative of a choice among them. */
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

/** Where the pieces lead to from some positions, one piece after the other. Positions never fall. */
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

/** From the first position at which a name ends, all further ones can be reached. */
function afterNames(atLeast: 0 | 1, at: readonly number[], path: string): readonly number[] {
  const first = at.find((position) => position === path.length || path.charCodeAt(position) === SLASH);
  if (first === undefined) return [];
  const next = atLeast === 0 ? [first] : [];
  for (let end = first; end < path.length; next.push(end)) end = endOfName(path, end + 1);
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
