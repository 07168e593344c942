import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { quote } from '../../model/fleet/ids.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';
import { pathText } from './tree-object.ts';

/** A path that git would commit, relative to the folder. */
export interface Listed {
  readonly path: string;
  readonly kind: 'file' | 'symlink' | 'submodule';
  /** Git has it, and leaves it out of the work tree on purpose (a sparse checkout). */
  readonly isLeftOut?: true;
}

/** A name by which git is asked whether it ignores what lies in a folder. */
export const ANY_MANIFEST = 'manifest.yaml';

/** The folder of a repository that a file `.git` names, as in submodules and further work trees; or `.git` itself. */
export function repositoryOf(root: string): Result<string> {
  const at = join(root, '.git');
  try {
    const found = statSync(at);
    if (found.isDirectory()) return ok(at);
    // The read of a pipe would wait for a writer.
    if (!found.isFile()) return problem(`${quote(at)} is neither a folder nor a file`);
    const named = /^gitdir: (.+)$/m.exec(readFileSync(at, 'utf8'))?.[1];
    return named === undefined ? problem(`${quote(at)} names no repository`) : ok(resolve(root, named));
  } catch {
    return problem(`${quote(at)} cannot be read`);
  }
}

/** The path of a folder below the root of its work tree, with `/`; empty: it is the root. */
export function prefixOf(root: string, folder: string): string {
  return relative(root, folder).split(sep).join('/');
}

/** The nearest folder with a `.git`; undefined: there is none. */
export function workTreeRoot(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (basename(at) === '.git') return undefined;
    if (existsSync(join(at, '.git'))) return at;
    if (at === dirname(at)) return undefined;
  }
}

/** A path with a slash at its end is a repository of its own, of which git would commit a submodule. */
export function* parseOthers(output: Buffer): Generator<Listed> {
  for (const entry of fieldsOf(output)) {
    const path = pathText(entry);
    yield path.endsWith('/') ? { path: path.slice(0, -1), kind: 'submodule' } : { path, kind: 'file' };
  }
}

/** The parts of an answer that end with NUL. */
export function* fieldsOf(output: Buffer): Generator<Buffer, undefined> {
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0, at);
    if (end < 0) return undefined;
    yield output.subarray(at, end);
    at = end + 1;
  }
  return undefined;
}
