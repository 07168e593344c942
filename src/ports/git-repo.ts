import type { FileSignature } from '../model/fleet/file-signature.ts';
import type { Excess, RevisionLimits } from '../model/limits/revision-limits.ts';

/**
 * One branch of one remote repository, with a local copy that belongs to this process alone.
 *
 * `fetch`, `fetchRef` and `publish` use the remote. They run one after the other, end within a deadline, and report a broken remote as a
 * failure. The other methods read the local copy, and may fetch older history for their answer; they reject if that fails. They
 * reject with a {@link GitCopyError} if the copy cannot be read; the next `fetch` then replaces the copy. Commits and blobs are full hex object ids. No message contains a credential.
 */
export interface GitRepo {
  /** The remote's address without credentials, for people. */
  readonly address: string;
  /** The name of the branch, or a phrase for people while the remote's default branch is not known. */
  readonly branch: string;
  /** Fetches the tip of the branch. Its history is here too, or is fetched when a method needs it. */
  fetch(signal?: AbortSignal): Promise<GitFetchOutcome>;
  /**
   * Fetches the tip of any other ref with its history: the full name of a ref (`refs/pull/7/head`), the name of a branch, or a
   * commit that the server serves. `absent` if there is none, or no ref can have this name. One such ref is kept at a time, beside
   * the branch: the commits of the one before are gone. The branch is left as it is, and what the ref needs on disk is limited as the
   * copy is.
   */
  fetchRef(ref: string, signal?: AbortSignal): Promise<GitFetchOutcome>;
  /** True if the local copy has this commit. */
  hasCommit(commit: string): Promise<boolean>;
  /** True if `ancestor` is `descendant` or in its history; false if the local copy lacks one of them. */
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /** The best common ancestor of two commits; undefined if they have none, or the local copy lacks one of them. */
  mergeBase(a: string, b: string): Promise<string | undefined>;
  /** Author, time and first line of a commit, for people. */
  commitInfo(commit: string): Promise<GitCommitInfo>;
  /**
   * Returns the differences below `folder` (`''`: the root) between two commits; `from` null: the empty tree. Paths are
   * relative to the folder, in no particular order. A folder that does not exist counts as empty.
   */
  diff(from: string | null, to: string, folder: string): Promise<readonly TreeChange[]>;
  /**
   * Counts the files and folders below `folder` (`''`: the root) of a commit, their levels and the length of their paths,
   * before any of them is listed: each folder is read once, however many paths lead to it. Returns the first limit that they
   * exceed. A folder that does not exist counts as empty.
   */
  measure(commit: string, folder: string, limits: RevisionLimits): Promise<Excess | undefined>;
  /**
   * Judges, for each of these files, the signature of the commit that gave it its content at `commit`: the last one in the complete
   * history of `commit` that changed the file. A merge that takes the file as one of its parents has it does not change it.
   *
   * @param files the blobs by path
   * @returns the verdicts by path
   */
  signaturesOf(commit: string, files: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, FileSignature>>;
  /** Reads a blob. Many calls may be pending at once; they are answered in order. */
  readBlob(blob: string, maxBytes: number): Promise<GitBlobOutcome>;
  /**
   * Makes one commit on top of `expected` and moves the remote branch from exactly `expected` (null: absent) to it. Never
   * rewrites history. After a `failed` outcome the commit may have arrived: fetch before the next attempt.
   */
  publish(request: GitPublishRequest, signal?: AbortSignal): Promise<GitPublishOutcome>;
  /** Ends all processes. No method may be called afterwards. */
  close(): Promise<void>;
}

/**
 * Why the remote could not be used. `TooLarge`: the local copy would need more disk than is allowed. `Unreachable`: no answer, or not the answer of a git server. `Unauthorized`: the
 * credentials are missing or wrong. `RepositoryNotFound`: the server has no such repository, or hides it. `BadObjects`: the
 * transferred objects are damaged or too large. `TimedOut`: the deadline passed. `Stopped`: the caller aborted.
 * `LocalFailure`: a failure of this machine (no git, disk full, a repository of a kind that the adapter cannot read).
 */
export interface GitFailure {
  readonly type: 'failed';
  readonly reason:
    | 'Unreachable'
    | 'Unauthorized'
    | 'RepositoryNotFound'
    | 'BadObjects'
    | 'TooLarge'
    | 'TimedOut'
    | 'Stopped'
    | 'LocalFailure';
  readonly message: string;
}

/** `absent`: the repository has no such branch. */
export type GitFetchOutcome =
  | { readonly type: 'fetched'; readonly commit: string }
  | { readonly type: 'absent' }
  | GitFailure;

export interface GitCommitInfo {
  readonly subject: string;
  readonly author: string;
  /** Milliseconds since 1970, limited to times that RFC 3339 can express. */
  readonly committedAt: number;
}

/**
 * One entry of a tree of files. `unknown`: its mode is of no kind that git writes. `blob` changes exactly when the content does; for a
 * submodule it is a commit id. `size`: bytes of a file, else 0.
 */
export interface TreeEntry {
  readonly kind: 'file' | 'symlink' | 'submodule' | 'unknown';
  readonly blob: string;
  readonly size: number;
}

/** `entry` null: the path was removed. */
export interface TreeChange {
  readonly path: string;
  readonly entry: TreeEntry | null;
}

/** `oversized`: larger than requested; the bytes were discarded. */
export type GitBlobOutcome =
  | { readonly type: 'read'; readonly bytes: Uint8Array }
  | { readonly type: 'oversized'; readonly size: number }
  | { readonly type: 'missing' };

export interface GitPublishRequest {
  /** The commit to build on, as fetched; null: the branch does not exist, and the commit becomes its root. */
  readonly expected: string | null;
  /** New text by path, null to remove the path; all other paths stay as in `expected`. */
  readonly changes: ReadonlyMap<string, string | null>;
  readonly author: { readonly name: string; readonly email: string };
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly message: string;
}

/**
 * `race`: the branch is no longer at `expected`; or, with the words of the server in `locked`, it is there and the server could not
 * lock it. `refused`: the server rejected the push (a hook, a protected branch, a branch whose name is in the way).
 */
export type GitPublishOutcome =
  | { readonly type: 'published'; readonly commit: string }
  | { readonly type: 'race'; readonly locked?: string }
  | { readonly type: 'refused'; readonly message: string }
  | GitFailure;

/** The local copy cannot be read; the next `fetch` replaces it. */
export interface GitCopyError extends Error {
  readonly name: 'GitCopyError';
}

/** Makes a {@link GitCopyError}. */
export function gitCopyError(message: string): GitCopyError {
  return Object.assign(new Error(message), { name: 'GitCopyError' as const });
}
