import { ok, problem, type Result } from '../values/result.ts';
import {
  addPiece,
  type CountSteps,
  countWildcards,
  MAX_PATH_BYTES,
  matchEnds,
  type PathPattern,
  type Piece,
  readBracket,
} from './path-pattern.ts';

/** A compiled glob over `/`-separated paths relative to a source's root. Names that start with a dot are ordinary. */
export interface Glob {
  readonly text: string;
  /** The folder that every match lies in: the part before the first wildcard, without a slash at the end; may be empty. */
  readonly base: string;
  /** As written: a path without any has none. */
  readonly wildcards: number;
  /** No path of more than 4,096 characters matches. */
  matches(path: string): boolean;
  /** As `matches`; `count` receives the work before it is done. */
  matchWith(path: string, count: CountSteps): boolean;
}

/** Compiles a glob (see {@link readGlob}). A path without wildcards matches itself and all below it; a wrong glob nothing. */
export function compileGlob(text: string): Glob {
  const wildcard = text.search(/[*?[{]/);
  const folder = text.replace(/\/+$/, '');
  const base = wildcard < 0 ? folder : text.slice(0, Math.max(0, text.lastIndexOf('/', wildcard)));
  const inFolder: PathPattern = [{ type: 'text', text: `/${folder}` }, BELOW];
  const reading = wildcard < 0 ? ok(inFolder) : readGlob(text);
  const pattern = reading.ok ? reading.value : MATCHES_NOTHING;
  const wildcards = wildcard < 0 ? 0 : countWildcards(pattern);
  const matchWith = (path: string, count: CountSteps = uncounted): boolean => {
    count(STEPS_OF_GLOB);
    return path.length <= MAX_PATH_BYTES && matchEnds(pattern, `/${path}`, count).at(-1) === path.length + 1;
  };
  return { text, base, wildcards, matches: (path) => matchWith(path), matchWith };
}

/** What a match costs besides comparing characters. */
const STEPS_OF_GLOB = 16;
const uncounted: CountSteps = () => undefined;
const BELOW: Piece = { type: 'names', atLeast: 0 };
const MATCHES_NOTHING: PathPattern = [{ type: 'choice', among: [] }];

/** Returns a path and all folders above it; the last one is the root, the empty text. */
export function selfAndAncestors(path: string): readonly string[] {
  const result = [path];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) result.push(path.slice(0, end));
  result.push('');
  return result;
}

/**
 * Parses a glob (`*`, `**`, `?`, `[...]`, `{a,b}`) over paths without a leading "/". `**` matches any number of complete
 * names, at the end of the glob at least one. Braces match what any of their alternatives matches.
 * The problem is the predicate of a sentence about the glob: `holds "{" inside "{"`.
 */
export function readGlob(text: string): Result<PathPattern> {
  const problems: string[] = [];
  const pattern = readPart(`/${text}`, '', problems);
  const [first] = problems;
  return first === undefined ? ok(pattern) : problem(first);
}

interface ReadPiece {
  readonly piece: Piece;
  /** The offset after the piece. */
  readonly end: number;
}

/** What follows in the glob: another name, its end, or more of the same name. */
type Follow = '/' | '' | 'more';

/** Parses a part of a glob. Adds errors to `problems`. */
function readPart(text: string, follow: Follow, problems: string[]): PathPattern {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; ) {
    // A "/" before braces is parsed with each alternative, because "/**" is one piece.
    const isGroup = text[at] === '{' || text.startsWith('/{', at);
    const read = isGroup ? readGroup(text, at, follow, problems) : readWildcard(text, at, follow, problems);
    addPiece(pieces, read?.piece ?? { type: 'text', text: text.charAt(at) });
    at = read?.end ?? at + 1;
  }
  return pieces;
}

function followAt(text: string, at: number, follow: Follow): Follow {
  if (at >= text.length) return follow;
  return text[at] === '/' ? '/' : 'more';
}

/** The wildcard at an offset; undefined: the character matches itself. */
function readWildcard(text: string, at: number, follow: Follow, problems: string[]): ReadPiece | undefined {
  switch (text[at]) {
    case '/': {
      const end = at + 3;
      const next = followAt(text, end, follow);
      if (next === 'more' || !text.startsWith('/**', at)) return undefined;
      return { piece: { type: 'names', atLeast: next === '/' ? 0 : 1 }, end };
    }
    case '*':
      if (text[at + 1] === '*') problems.push('holds a "**" beside other characters; it stands for whole folders');
      return { piece: { type: 'characters', text: '' }, end: at + 1 };
    case '?':
      return { piece: { type: 'character' }, end: at + 1 };
    case '[': {
      const bracket = bracketAt(text, at, problems);
      return bracket && { piece: { type: 'character', of: bracket.set }, end: bracket.end };
    }
    case '}':
      problems.push(UNCLOSED);
  }
  return undefined;
}

const UNCLOSED = 'has a bracket that is not closed';

function bracketAt(text: string, at: number, problems: string[]): ReturnType<typeof readBracket> {
  const bracket = readBracket(text, at);
  if (bracket !== undefined && !text.slice(at, bracket.end).includes('/')) return bracket;
  problems.push(UNCLOSED);
  return undefined;
}

/** The braces at an offset, with the "/" before them if there is one. */
function readGroup(text: string, at: number, follow: Follow, problems: string[]): ReadPiece {
  const slash = text[at] === '/' ? '/' : '';
  const { parts, end } = splitBraces(text, at + slash.length, problems);
  const next = followAt(text, end, follow);
  const among = parts.map((part) => readPart(slash + part, next, problems));
  return { piece: { type: 'choice', among }, end };
}

/** Returns the alternatives of the braces that begin at an offset, and the offset after them. Adds what is wrong to `problems`. */
function splitBraces(
  text: string,
  from: number,
  problems: string[],
): { readonly parts: readonly string[]; readonly end: number } {
  const parts: string[] = [];
  let start = from + 1;
  let at = start;
  while (text[at] !== '}' && problems.length === 0) {
    if (at === text.length) problems.push(UNCLOSED);
    else if (text[at] === '{') problems.push('holds "{" inside "{"');
    else if (text[at] === ',') {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
    at = (text[at] === '[' ? bracketAt(text, at, problems)?.end : undefined) ?? at + 1;
  }
  if (parts.length === 0) problems.push('has braces without a ","');
  return { parts: [...parts, text.slice(start, at)], end: at + 1 };
}
