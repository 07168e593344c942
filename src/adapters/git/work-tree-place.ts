import { readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { quote } from '../../model/ids.ts';
import { ok, problem, type Result } from '../../model/result.ts';

/** A path that git would commit, relative to the folder. */
export interface Listed {
  readonly path: string;
  readonly kind: 'file' | 'symlink' | 'submodule';
  /** Git has it, and leaves it out of the work tree on purpose (a sparse checkout). */
  readonly isLeftOut?: true;
}

/** The folder of a repository that a file `.git` names, as in submodules and further work trees; or `.git` itself. */
export function repositoryOf(root: string): Result<string> {
  const at = join(root, '.git');
  try {
    const named = /^gitdir: (.+)$/m.exec(readFileSync(at, 'utf8'))?.[1];
    return named === undefined ? problem(`${quote(at)} names no repository`) : ok(resolve(root, named));
  } catch (error) {
    const isFolder = error instanceof Error && 'code' in error && error.code === 'EISDIR';
    return isFolder ? ok(at) : problem(`${quote(at)} cannot be read`);
  }
}

/** The path of a folder below the root of its work tree, with `/`; empty: it is the root. */
export function prefixOf(root: string, folder: string): string {
  return relative(root, folder).split(sep).join('/');
}
