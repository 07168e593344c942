/**
 * A folder on this machine that somebody else writes. What a call says was true at some moment of the call; files may
 * change between two calls. Paths are relative to the folder, with `/`. Nothing outside the folder is ever read: a
 * symbolic link is followed only if it leads to a file inside.
 */
export interface FileTree {
  /** The folder, for people. */
  readonly address: string;
  /** Walks the whole folder (`.git` and names that start with two dots left out) and looks at the files that `wanted` names. */
  list(wanted: (path: string) => boolean): Promise<FileTreeListing>;
  read(path: string, maxBytes: number): Promise<FileTreeContent>;
  /**
   * Calls back when something may have changed: a hint, which can come late, for nothing, or not at all. The returned
   * function ends it. A folder that is replaced by another of the same name needs a new watch.
   */
  watch(changed: () => void): Promise<() => Promise<void>>;
}

/** A folder of which a part cannot be listed is not listed at all: what is not seen must not count as gone. */
export type FileTreeListing =
  | { readonly type: 'listed'; readonly entries: readonly FileTreeEntry[] }
  | {
      readonly type: 'failed';
      readonly reason: 'FolderMissing' | 'FolderUnreadable' | 'TooManyFiles';
      readonly message: string;
    };

export interface FileTreeEntry {
  readonly path: string;
  /** `symlink`: one that is not followed. */
  readonly kind: 'file' | 'symlink';
  /** Bytes. */
  readonly size: number;
  /** Changes when the file is written or replaced (size, times, inode); equal stamps almost surely mean equal content. */
  readonly stamp: string;
}

export type FileTreeContent =
  | { readonly type: 'read'; readonly bytes: Uint8Array }
  | { readonly type: 'missing' }
  | { readonly type: 'oversized' }
  /** `message` is the end of a sentence. */
  | { readonly type: 'unreadable'; readonly message: string };
