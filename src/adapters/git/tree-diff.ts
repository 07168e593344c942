import { gitCopyError, type TreeEntry } from '../../ports/git-repo.ts';
import { entriesOf, isFolder, kindOfMode, pathText } from './tree-object.ts';

/** Reads a tree object; undefined: there is none, or it is too large to be read. */
export type ReadTree = (tree: string) => Promise<Buffer | undefined>;

/** `entry` null: the path was removed. */
export interface ListedChange {
  readonly path: string;
  readonly entry: Omit<TreeEntry, 'size'> | null;
}

interface Entry {
  readonly mode: string;
  readonly id: string;
}

/** The id of the tree at a path (`''`: the root); undefined if there is no folder. */
export async function folderAt(read: ReadTree, root: string, folder: string): Promise<string | undefined> {
  let tree = root;
  for (const name of folder === '' ? [] : folder.split('/')) {
    const entry = (await childrenOf(read, tree)).get(Buffer.from(name).toString('latin1'));
    if (entry === undefined || !isFolder(entry.mode)) return undefined;
    tree = entry.id;
  }
  return tree;
}

/** Lists the files that differ between two trees; undefined: an empty one. Only folders that differ are read. */
export async function diffTrees(
  read: ReadTree,
  before: string | undefined,
  after: string | undefined,
): Promise<readonly ListedChange[]> {
  const changes: ListedChange[] = [];
  await compare(read, changes, { before, after, prefix: '' });
  return changes;
}

interface Pair {
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** The path of the folder, one character for each byte. */
  readonly prefix: string;
}

async function compare(read: ReadTree, changes: ListedChange[], { before, after, prefix }: Pair): Promise<void> {
  if (before === after) return;
  const [old, now] = await Promise.all([childrenOf(read, before), childrenOf(read, after)]);
  const folders: Promise<void>[] = [];
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(name), now.get(name)];
    if (was?.id === is?.id && was?.mode === is?.mode) continue;
    const path = `${prefix}${name}`;
    const pair = { before: folderOf(was), after: folderOf(is), prefix: `${path}/` };
    if (pair.before !== undefined || pair.after !== undefined) folders.push(compare(read, changes, pair));
    const kind = is && kindOfMode(is.mode);
    if (is !== undefined && kind !== undefined && kind !== 'folder')
      changes.push({ path: decoded(path), entry: { kind, blob: is.id } });
    else if (was !== undefined && pair.before === undefined) changes.push({ path: decoded(path), entry: null });
  }
  await Promise.all(folders);
}

function folderOf(entry: Entry | undefined): string | undefined {
  return entry !== undefined && isFolder(entry.mode) ? entry.id : undefined;
}

/** The entries of a folder by name, one character for each byte. */
async function childrenOf(read: ReadTree, tree: string | undefined): Promise<ReadonlyMap<string, Entry>> {
  const children = new Map<string, Entry>();
  if (tree === undefined) return children;
  const content = await read(tree);
  if (content === undefined) throw gitCopyError(`the local copy lacks the object ${tree}`);
  for (const { mode, name, id } of entriesOf(content, tree.length / 2)) {
    children.set(name.toString('latin1'), { mode, id: id.toString('hex') });
  }
  return children;
}

function decoded(path: string): string {
  return pathText(Buffer.from(path, 'latin1'));
}
