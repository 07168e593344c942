import { readBracket } from './bracket.ts';
import { addPiece, type PathPattern, type Piece } from './path-pattern.ts';

/** `problem` goes on after the name of the glob. */
export type GlobReading =
  | { readonly ok: true; readonly pattern: PathPattern }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads a glob (`*`, `**`, `?`, `[...]`, `{a,b}`) over paths without a leading "/". `**` is any number of whole names,
 * at the end of the glob at least one. Braces mean the same as all globs that they stand for.
 */
export function readGlob(text: string): GlobReading {
  const problems: string[] = [];
  const pattern = readPart(`/${text}`, '', problems);
  const [problem] = problems;
  return problem === undefined ? { ok: true, pattern } : { ok: false, problem };
}

interface ReadPiece {
  readonly piece: Piece;
  /** Where the glob goes on. */
  readonly end: number;
}

/** What follows a part of the glob: another name, nothing, or more of the same name. */
type Follow = '/' | '' | 'more';

/** What is wrong is added to `problems`. */
function readPart(text: string, follow: Follow, problems: string[]): PathPattern {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; ) {
    // A "/" before braces goes into them: "/**" is read as one.
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

/** Undefined: the character stands for itself. */
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

/** Braces, and the "/" before them if there is one. */
function readGroup(text: string, at: number, follow: Follow, problems: string[]): ReadPiece {
  const slash = text[at] === '/' ? '/' : '';
  const { parts, end } = splitBraces(text, at + slash.length, problems);
  const next = followAt(text, end, follow);
  const among = parts.map((part) => readPart(slash + part, next, problems));
  return { piece: { type: 'choice', among }, end };
}

/** What stands between the commas of the braces that begin here. */
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
