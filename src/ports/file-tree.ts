import type { Excess } from '../model/limits/revision-limits.ts';

/**
 * A folder on this machine that other processes write. A result was true at some moment of its call; files may change
 * between two calls. Paths are relative to the folder, with `/`. No file outside the folder is read: a symbolic link is
 * followed only if it leads to a file inside.
 */
export interface FileTree {
  /** The folder, for people. */
  readonly address: string;
  /**
   * Walks the complete folder, except folders that begin with a dot, and lists the files that `wanted` accepts. In a work tree of git
   * it lists only what git would commit, with links as links, and submodules.
   */
  list(wanted: (path: string) => boolean): Promise<FileTreeListing>;
  read(path: string, maxBytes: number): Promise<FileTreeContent>;
  /**
   * Calls `changed` when a file may have changed. Calls can be late, superfluous or missing. The returned function ends the
   * watch. A folder that is replaced by another one of the same name needs a new watch. `hidden`: names that begin with a dot and are
   * watched all the same.
   */
  watch(changed: () => void, hidden?: readonly string[]): Promise<() => Promise<void>>;
}

/** Fails if any part of the folder cannot be listed: an unlisted file must not count as removed. */
export type FileTreeListing =
  | { readonly type: 'listed'; readonly entries: readonly FileTreeEntry[] }
  | {
      readonly type: 'failed';
      readonly reason: 'FolderMissing' | 'FolderUnreadable';
      readonly message: string;
    }
  /** The folder exceeds a limit of the tree. */
  | {
      readonly type: 'failed';
      readonly reason: 'TooManyFiles';
      readonly message: string;
      readonly excess: Excess;
    };

export interface FileTreeEntry {
  readonly path: string;
  /** `symlink`: a symbolic link that is not followed. `submodule`: a repository of its own in a work tree. */
  readonly kind: 'file' | 'symlink' | 'submodule';
  /** Bytes. */
  readonly size: number;
  /** Made of size, times and inode: changes when the file is written or replaced. Equal stamps almost always mean equal content. */
  readonly stamp: string;
}

export type FileTreeContent =
  | { readonly type: 'read'; readonly bytes: Uint8Array }
  | { readonly type: 'missing' }
  | { readonly type: 'oversized' }
  /** `message` is the end of a sentence. */
  | { readonly type: 'unreadable'; readonly message: string };

/** What git would commit of a folder; paths are relative to the folder. */
export interface FolderMembers {
  /** Undefined: git would not commit the path, or it is a folder. */
  kindOf(path: string): FileTreeEntry['kind'] | undefined;
  /** Whether the folder holds a path that git would commit. */
  reaches(folder: string): boolean;
  /** Files that git has and leaves out of the work tree (a sparse checkout). */
  readonly leftOut: readonly string[];
}

/** Finds the members of a folder; undefined: every file of it counts. Rejects with a text for people. */
export type ReadMembers = (folder: string) => Promise<FolderMembers | undefined>;
