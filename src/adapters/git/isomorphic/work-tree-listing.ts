import fs from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import git, { STAGE } from 'isomorphic-git';
import { must } from '../../../model/result.ts';
import { kindOfMode } from '../tree-object.ts';
import { type Listed, prefixOf, repositoryOf } from '../work-tree-place.ts';

/**
 * Lists what git would commit of a folder in a work tree, without the program git. Undefined: the folder is ignored and holds no
 * tracked file. Rejects if the repository is of a kind that isomorphic-git cannot read.
 */
export async function listWithoutGit(folder: string, root: string): Promise<readonly Listed[] | undefined> {
  const gitdir = must(repositoryOf(root));
  const prefix = prefixOf(root, folder);
  const tree = { fs, dir: root, gitdir };
  const tracked = await trackedFiles(tree, prefix);
  const known = new Set(tracked.map(({ path }) => path));
  const folders = new Set([...known].flatMap((path) => foldersOf(path)));
  const isIgnored = (path: string): Promise<boolean> =>
    git.isIgnored({ ...tree, filepath: prefix === '' ? path : `${prefix}/${path}` });
  if (known.size === 0 && prefix !== '' && (await git.isIgnored({ ...tree, filepath: `${prefix}/` }))) return undefined;
  const found: Listed[] = [...tracked];
  const open = [''];
  for (let below = open.pop(); below !== undefined; below = open.pop()) {
    const children = await readdir(join(folder, below), { withFileTypes: true }).catch(() => []);
    for (const child of children) {
      const path = below === '' ? child.name : `${below}/${child.name}`;
      if (child.name === '.git' || known.has(path)) continue;
      if (child.isDirectory()) {
        // Tracked files lie in ignored folders too; what is not tracked there is ignored as the folder is.
        if (!folders.has(path) && (await isIgnored(`${path}/`))) continue;
        if (fs.existsSync(join(folder, path, '.git'))) found.push({ path, kind: 'submodule' });
        else open.push(path);
      } else if ((child.isFile() || child.isSymbolicLink()) && !(await isIgnored(path))) {
        found.push({ path, kind: child.isFile() ? 'file' : 'symlink' });
      }
    }
  }
  return found;
}

interface WorkTree {
  readonly fs: typeof fs;
  readonly dir: string;
  readonly gitdir: string;
}

/** The entries of the index below a folder, relative to it. */
async function trackedFiles(tree: WorkTree, prefix: string): Promise<readonly Listed[]> {
  const files: Listed[] = [];
  await git.walk({
    ...tree,
    trees: [STAGE()],
    map: async (path, [entry]) => {
      if (!isNear(path, prefix)) return null;
      if (!entry || (await entry.type()) === 'tree') return undefined;
      const kind = kindOfMode(((await entry.mode()) >>> 0).toString(8));
      if (kind === 'folder' || kind === 'unknown') return undefined;
      if (prefix === '' || path.startsWith(`${prefix}/`)) files.push({ path: below(prefix, path), kind });
      return undefined;
    },
  });
  return files;
}

/** Whether a path is on the way to the folder, or in it. */
function isNear(path: string, prefix: string): boolean {
  return path === '.' || prefix === '' || `${path}/`.startsWith(`${prefix}/`) || `${prefix}/`.startsWith(`${path}/`);
}

function below(prefix: string, path: string): string {
  return prefix === '' ? path : path.slice(prefix.length + 1);
}

function foldersOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
