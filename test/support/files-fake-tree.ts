import type { FileTree, FileTreeEntry, FileTreeListing } from '../../src/ports/file-tree.ts';

/** A folder in memory. */
export interface FakeFileTree extends FileTree {
  /** Writes files (null removes); with a hint unless told otherwise. */
  write(files: Readonly<Record<string, string | null>>, options?: { readonly hint?: boolean }): void;
  /** The folder cannot be listed until this is taken away. */
  failure: Extract<FileTreeListing, { readonly type: 'failed' }> | undefined;
  /** Files that can be listed and not read. */
  readonly unreadable: Set<string>;
  /** Called at the start of each listing: what a writer does meanwhile. */
  onList: () => void;
  readonly reads: string[];
  lists: number;
  /** Watches that were started and not ended. */
  watches: number;
}

/** Creates an empty folder. Content that starts with `link:` is a link that is not followed. */
export function createFakeFileTree(): FakeFileTree {
  const files = new Map<string, { readonly text: string; readonly stamp: string }>();
  const listeners = new Set<() => void>();
  let writes = 0;
  const entryOf = ([path, { text, stamp }]: readonly [string, { text: string; stamp: string }]): FileTreeEntry => ({
    path,
    kind: text.startsWith('link:') ? 'symlink' : 'file',
    size: Buffer.byteLength(text),
    stamp,
  });
  const tree: FakeFileTree = {
    address: '/desired',
    failure: undefined,
    unreadable: new Set(),
    onList: () => undefined,
    reads: [],
    lists: 0,
    watches: 0,
    write: (changes, { hint = true } = {}) => {
      for (const [path, text] of Object.entries(changes)) {
        writes += 1;
        if (text === null) files.delete(path);
        else files.set(path, { text, stamp: `${writes}` });
      }
      if (hint) for (const listener of listeners) listener();
    },
    list: async (wanted) => {
      tree.lists += 1;
      tree.onList();
      if (tree.failure !== undefined) return tree.failure;
      return { type: 'listed', entries: [...files].filter(([path]) => wanted(path)).map(entryOf) };
    },
    read: async (path, maxBytes) => {
      tree.reads.push(path);
      const file = files.get(path);
      if (file === undefined) return { type: 'missing' };
      if (tree.unreadable.has(path)) return { type: 'unreadable', message: 'cannot be read (EACCES)' };
      const bytes = Buffer.from(file.text);
      return bytes.length > maxBytes ? { type: 'oversized' } : { type: 'read', bytes };
    },
    watch: async (changed) => {
      tree.watches += 1;
      listeners.add(changed);
      return async () => {
        tree.watches -= 1;
        listeners.delete(changed);
      };
    },
  };
  return tree;
}
