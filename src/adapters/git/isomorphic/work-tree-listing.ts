import fs from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import git, { STAGE } from 'isomorphic-git';
import { defaultRevisionLimits, excessOf, excessText } from '../../../model/limits/revision-limits.ts';
import { selfAndAncestors } from '../../../model/text/glob.ts';
import { kindOfMode } from '../tree-object.ts';
import { ANY_MANIFEST, type Listed, prefixOf, repositoryOf } from '../work-tree-place.ts';

/**
 * Lists what git would commit of a folder in a work tree, without the program git. Undefined: what lies in the folder is ignored, or
 * `.git` is no repository. Rejects if the repository is of a kind that isomorphic-git cannot read, or has more entries or deeper folders
 * than a revision may have.
 */
export async function listWithoutGit(folder: string, root: string): Promise<readonly Listed[] | undefined> {
  const repository = repositoryOf(root);
  if (!repository.ok || !fs.existsSync(join(repository.value, 'HEAD'))) return undefined;
  const prefix = prefixOf(root, folder);
  const tree = { fs: withRememberedRules(), dir: root, gitdir: repository.value };
  const tracked = await trackedFiles(tree, prefix);
  const known = new Set(tracked.map(({ path }) => path));
  const folders = new Set([...known].flatMap((path) => selfAndAncestors(path).slice(1, -1)));
  const isIgnored = (path: string): Promise<boolean> =>
    git.isIgnored({ ...tree, filepath: prefix === '' ? path : `${prefix}/${path}` });
  const hasOnlyHidden = tracked.every(({ path }) => basename(path).startsWith('.'));
  if (prefix !== '' && hasOnlyHidden && (await isIgnored(ANY_MANIFEST))) return undefined;
  let entries = 0;
  const count = (limit: 'entries' | 'depth', found: number): void => {
    const excess = excessOf(defaultRevisionLimits, limit, found);
    if (excess !== undefined) throw new Error(`the folder ${excessText(excess)}`);
  };
  const found: Listed[] = [...tracked];
  const open = [''];
  for (let below = open.pop(); below !== undefined; below = open.pop()) {
    count('depth', below === '' ? 0 : below.split('/').length);
    const children = await readdir(join(folder, below), { withFileTypes: true }).catch(() => []);
    for (const child of children) {
      entries += 1;
      count('entries', entries);
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

/** A file system for one listing: a file with rules is read once, not once for each path below it. */
function withRememberedRules(): WorkTree['fs'] {
  const rules = new Map<string, Promise<Uint8Array | string>>();
  const readFile: WorkTree['fs']['promises']['readFile'] = (path, options) => {
    const isRules = /[\\/](?:\.gitignore|exclude)$/.test(path);
    if (!isRules) return fs.promises.readFile(path, options);
    const key = `${path}\u0000${JSON.stringify(options)}`;
    const known = rules.get(key) ?? readRules(path, options);
    rules.set(key, known);
    return known;
  };
  return { promises: { ...fs.promises, readFile } };
}

/** Reads a file with rules. What is no file has none: the read of a pipe would wait for a writer. */
async function readRules(path: string, options?: BufferEncoding): Promise<Uint8Array | string> {
  return (await fs.promises.stat(path)).isFile() ? fs.promises.readFile(path, options) : '';
}

interface WorkTree {
  readonly fs: { readonly promises: Omit<typeof fs.promises, 'readFile'> & { readFile: ReadFile } };
  readonly dir: string;
  readonly gitdir: string;
}

type ReadFile = (path: string, options?: BufferEncoding) => Promise<Uint8Array | string>;

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
