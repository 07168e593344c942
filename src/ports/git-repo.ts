/**
 * One branch of one remote repository, with a local copy that belongs to this process alone.
 *
 * `fetch` and `publish` talk to the remote; they wait for each other, never throw for a broken remote, and always end
 * (deadline). Everything else reads the local copy only; it rejects with a {@link GitCopyError} when the copy cannot be
 * read, after which the next `fetch` makes the copy anew. Commits and blobs are named by their full hex object id. No
 * message that leaves here holds a credential.
 */
export interface GitRepo {
  /** The remote's address without credentials, for people. */
  readonly address: string;
  /** Its name, or words for it while it is not known which one the remote's default is. */
  readonly branch: string;
  /** Brings the branch's tip with its whole history. */
  fetch(signal?: AbortSignal): Promise<GitFetchOutcome>;
  /** Is this commit in the local copy? */
  hasCommit(commit: string): Promise<boolean>;
  /** Is `ancestor` the same commit as `descendant`, or in its history? A commit that is not here is nobody's ancestor. */
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /** For people: who wrote the commit, when, and its first line. */
  commitInfo(commit: string): Promise<GitCommitInfo>;
  /**
   * What differs below `folder` (`''`: the root) between two commits; `from` null: the empty tree, so all entries. Paths
   * are relative to the folder, ordered by nothing. A folder that does not exist is empty.
   */
  diff(from: string | null, to: string, folder: string): Promise<readonly GitTreeChange[]>;
  /** The bytes of a blob; many calls may be under way at once and are answered in order. */
  readBlob(blob: string, maxBytes: number): Promise<GitBlobOutcome>;
  /**
   * Makes one commit on top of `expected` and moves the remote branch from exactly `expected` (null: absent) to it. Never
   * rewrites history. When the outcome is `failed`, the commit may have arrived all the same: fetch before trying again.
   */
  publish(request: GitPublishRequest, signal?: AbortSignal): Promise<GitPublishOutcome>;
  /** Ends every process. Nothing may be called after it. */
  close(): Promise<void>;
}

/**
 * Why the remote could not be used. `Unreachable`: no answer, or not the answer of a git server. `Unauthorized`: the
 * credentials are missing or wrong. `RepositoryNotFound`: the server answers, it has no such repository (or hides it).
 * `BadObjects`: what it sent is damaged or larger than allowed. `TimedOut`: the deadline passed. `Stopped`: aborted by the caller. `LocalTrouble`: this machine (no git, disk full).
 */
export interface GitFailure {
  readonly type: 'failed';
  readonly reason:
    | 'Unreachable'
    | 'Unauthorized'
    | 'RepositoryNotFound'
    | 'BadObjects'
    | 'TimedOut'
    | 'Stopped'
    | 'LocalTrouble';
  readonly message: string;
}

/** `absent`: the repository was reached, and it has no such branch. */
export type GitFetchOutcome =
  | { readonly type: 'fetched'; readonly commit: string }
  | { readonly type: 'absent' }
  | GitFailure;

export interface GitCommitInfo {
  readonly subject: string;
  readonly author: string;
  /** Milliseconds since 1970; whatever the commit says, a time that RFC 3339 can write. */
  readonly committedAt: number;
}

/** One entry of a tree. Only a `file` has a size in bytes; a submodule's `blob` is a commit id. */
export interface GitTreeEntry {
  readonly kind: 'file' | 'symlink' | 'submodule';
  readonly blob: string;
  readonly size: number;
}

/** `entry` null: the path is gone. */
export interface GitTreeChange {
  readonly path: string;
  readonly entry: GitTreeEntry | null;
}

/** `oversized`: it is larger than asked for; its bytes were not kept. */
export type GitBlobOutcome =
  | { readonly type: 'read'; readonly bytes: Uint8Array }
  | { readonly type: 'oversized'; readonly size: number }
  | { readonly type: 'missing' };

export interface GitPublishRequest {
  /** The commit to build on, as fetched; null: the branch does not exist, and the commit becomes its root. */
  readonly expected: string | null;
  /** Path to new content, or null to remove it; every other path stays as it is in `expected`. */
  readonly changes: ReadonlyMap<string, Uint8Array | null>;
  readonly author: { readonly name: string; readonly email: string };
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly message: string;
}

/** `race`: the branch is no longer at `expected`. `refused`: the server said no (a hook, a protected branch), in its words. */
export type GitPublishOutcome =
  | { readonly type: 'published'; readonly commit: string }
  | { readonly type: 'race' }
  | { readonly type: 'refused'; readonly message: string }
  | GitFailure;

/** The local copy cannot be read; the next `fetch` mends it. */
export interface GitCopyError extends Error {
  readonly name: 'GitCopyError';
}

/** Makes a {@link GitCopyError}. */
export function gitCopyError(message: string): GitCopyError {
  return Object.assign(new Error(message), { name: 'GitCopyError' as const });
}
