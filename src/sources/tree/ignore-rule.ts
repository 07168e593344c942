import { readBracket } from '../../model/bracket.ts';
import { addPiece, type PathPattern, type Piece } from '../../model/path-pattern.ts';

/** One line of an ignore file, compiled. */
export interface IgnoreRule {
  /** False: what matches is no longer excluded by the rules above. */
  readonly excludes: boolean;
  /** Matches no files. */
  readonly onlyFolders: boolean;
  readonly pattern: PathPattern;
}

/** Reads a line that is neither empty nor a comment, as gitignore(5) says. Undefined: it is a pattern of nothing. */
export function readIgnoreRule(line: string): IgnoreRule | undefined {
  const excludes = !line.startsWith('!');
  const text = withoutTrailingSpaces(excludes ? line : line.slice(1));
  const onlyFolders = text.endsWith('/');
  const path = onlyFolders ? text.slice(0, -1) : text;
  if (path === '') return undefined;
  // With a "/" it begins at the root, without one anywhere.
  const anchored = path.includes('/') ? path.replace(/^\//, '') : `**/${path}`;
  const pattern = readPattern(`/${anchored}`);
  return pattern === undefined ? undefined : { excludes, onlyFolders, pattern };
}

/** A space after a "\" stays. */
function withoutTrailingSpaces(text: string): string {
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === ' ') continue;
    if (text[at] === '\\') at += 1;
    end = at + 1;
  }
  return text.slice(0, end);
}

function readPattern(text: string): PathPattern | undefined {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; ) {
    const read = readPiece(text, at);
    if (read === undefined) return undefined;
    addPiece(pieces, read.piece);
    at = read.end;
  }
  return pieces;
}

function readPiece(text: string, at: number): { readonly piece: Piece; readonly end: number } | undefined {
  switch (text[at]) {
    case '/': {
      const end = endOfStars(text, at + 1);
      const isWhole = end > at + 2 && (text[end] === '/' || end === text.length);
      return isWhole
        ? { piece: { type: 'names', atLeast: end === text.length ? 1 : 0 }, end }
        : { piece: { type: 'text', text: '/' }, end: at + 1 };
    }
    case '*':
      // Several in a name are as good as one.
      return { piece: { type: 'characters', text: '' }, end: endOfStars(text, at) };
    case '?':
      return { piece: { type: 'character' }, end: at + 1 };
    case '[': {
      const bracket = readBracket(text, at);
      return bracket && { piece: { type: 'character', of: bracket.set }, end: bracket.end };
    }
    case '\\':
      return at + 1 < text.length ? { piece: { type: 'text', text: text.charAt(at + 1) }, end: at + 2 } : undefined;
    default:
      return { piece: { type: 'text', text: text.charAt(at) }, end: at + 1 };
  }
}

function endOfStars(text: string, at: number): number {
  let end = at;
  while (text[end] === '*') end += 1;
  return end;
}
