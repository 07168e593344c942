import { existsSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import type { ValidationRequest } from '../report.ts';

/**
 * Makes the lookup of the folder that the schemas must be in which a file names: the repository of the file. That is the folder
 * of `--repository` if it holds the file, else the nearest folder above the file with an entry `.git`. Outside of a git
 * repository it is the outermost folder among the paths of the request that holds the file, else the folder of the file. So an
 * editor, a hook and CI read the same schemas, wherever they start.
 */
export function createSchemaRoots({ cwd, paths, repository }: Pick<ValidationRequest, 'cwd' | 'paths' | 'repository'>) {
  const stated = repository === undefined ? undefined : resolve(cwd, repository);
  const given = paths.map((path) => resolve(cwd, path)).sort((a, b) => a.length - b.length);
  const known = new Map<string, string>();
  return (location: string): string => {
    const folder = dirname(location);
    const root =
      known.get(folder) ??
      (stated !== undefined && holds(stated, location) ? stated : undefined) ??
      gitRootOf(folder) ??
      given.find((path) => holds(path, location)) ??
      folder;
    known.set(folder, root);
    return root;
  };
}

function holds(folder: string, location: string): boolean {
  return location.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

function gitRootOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (at === dirname(at)) return undefined;
  }
}
