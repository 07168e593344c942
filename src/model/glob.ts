import picomatch from 'picomatch';

/** A compiled glob over `/`-separated paths relative to a source's root. Names that start with a dot are ordinary. */
export interface Glob {
  readonly text: string;
  /** The folder that every match lies in: the part before the first wildcard, without a slash at the end; may be empty. */
  readonly base: string;
  matches(path: string): boolean;
}

/** Compiles a glob (`*`, `**`, `?`, `[...]`, `{a,b}`). A plain folder matches everything under it. */
export function compileGlob(text: string): Glob {
  const { base, isGlob } = picomatch.scan(text);
  if (!isGlob) {
    const folder = text.replace(/\/+$/, '');
    return { text, base: folder, matches: (path) => path === folder || path.startsWith(`${folder}/`) };
  }
  const matcher = picomatch(text, { dot: true, nonegate: true });
  return { text, base: base.replace(/\/+$/, ''), matches: (path) => matcher(path) };
}

/** A path and every folder above it, the root (empty) last. */
export function selfAndAncestors(path: string): readonly string[] {
  const result = [path];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) result.push(path.slice(0, end));
  result.push('');
  return result;
}
