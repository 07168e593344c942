import { readGlob } from './glob-syntax.ts';
import { MAX_PATH_BYTES } from './path-limits.ts';
import { matchEnds, type PathPattern } from './path-pattern.ts';

/** A compiled glob over `/`-separated paths relative to a source's root. Names that start with a dot are ordinary. */
export interface Glob {
  readonly text: string;
  /** The folder that every match lies in: the part before the first wildcard, without a slash at the end; may be empty. */
  readonly base: string;
  /** No path of more than 4,096 characters matches. */
  matches(path: string): boolean;
}

/**
 * Compiles a glob (`*`, `**`, `?`, `[...]`, `{a,b}`). A plain folder matches everything under it. What is no glob
 * matches nothing.
 */
export function compileGlob(text: string): Glob {
  const wildcard = text.search(/[*?[{]/);
  const folder = text.replace(/\/+$/, '');
  const base = wildcard < 0 ? folder : text.slice(0, Math.max(0, text.lastIndexOf('/', wildcard)));
  const pattern = wildcard < 0 ? inFolder(folder) : patternOf(text);
  const matches = (path: string): boolean =>
    path.length <= MAX_PATH_BYTES && matchEnds(pattern, `/${path}`).at(-1) === path.length + 1;
  return { text, base, matches };
}

function inFolder(folder: string): PathPattern {
  return [
    { type: 'text', text: `/${folder}` },
    { type: 'names', atLeast: 0 },
  ];
}

function patternOf(glob: string): PathPattern {
  const reading = readGlob(glob);
  return reading.ok ? reading.pattern : MATCHES_NOTHING;
}

const MATCHES_NOTHING: PathPattern = [{ type: 'choice', among: [] }];

/** A path and every folder above it, the root (empty) last. */
export function selfAndAncestors(path: string): readonly string[] {
  const result = [path];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) result.push(path.slice(0, end));
  result.push('');
  return result;
}
