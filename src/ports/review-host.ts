/**
 * A repository at a host of pull requests (GitHub, GitLab, Gitea), as the account of one token sees it. A pull request is named by
 * the number that people see; at GitLab it is a merge request.
 *
 * Every call ends within a deadline or when the signal aborts, and reports a failure as a value. No message contains the token.
 */
export interface ReviewHost {
  /** The pull request as the host has it now. */
  read(pullRequest: number, signal: AbortSignal): Promise<ReviewOutcome<PullRequest>>;
  /**
   * Creates the comment that begins with the marker, or replaces its text. Only a comment that this account has written is
   * replaced: a marker in a comment of another account counts as text. A body above the limit of the host is cut at the end of a line,
   * with a sentence that says so.
   */
  comment(comment: ReviewComment, signal: AbortSignal): Promise<ReviewOutcome>;
  /** Sets the status of a commit in a context. A description above the limit of the host is cut. */
  setStatus(status: CommitStatus, signal: AbortSignal): Promise<ReviewOutcome>;
}

export interface PullRequest {
  /** False: it is merged or closed. */
  readonly open: boolean;
  /** Name of the branch that it is to be merged into. */
  readonly base: string;
  /** Name of the branch with the change; in another repository if `fork`. */
  readonly branch: string;
  /** The newest commit of that branch: a full hex object id. */
  readonly commit: string;
  /** The change comes from another repository, or from one that is gone. */
  readonly fork: boolean;
}

export interface ReviewComment {
  readonly pullRequest: number;
  /** An HTML comment, which people do not see. */
  readonly marker: string;
  /** Markdown. */
  readonly body: string;
}

export interface CommitStatus {
  /** A full hex object id. */
  readonly commit: string;
  /** Full name of a ref that has the commit. */
  readonly ref: string;
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  /** What the status is about: a later one of the same context replaces it. */
  readonly context: string;
  /** One line. */
  readonly description: string;
}

export type ReviewOutcome<Value = undefined> = { readonly type: 'done'; readonly value: Value } | ReviewFailure;

/**
 * Why the host did not do it. `Unauthorized`: the token is missing, wrong, or has too few rights. `NotFound`: the host has no such
 * repository, pull request or commit, or hides it. `RateLimited`: too many requests. `Unreachable`: no answer, or not the answer of
 * such a host. After both `retryAfterSeconds` says when the next request may come, if that is known. `Refused`: the host does not take
 * the request.
 */
export interface ReviewFailure {
  readonly type: 'failed';
  readonly reason: 'Unauthorized' | 'NotFound' | 'RateLimited' | 'Unreachable' | 'Refused';
  /** A sentence for people. */
  readonly message: string;
  readonly retryAfterSeconds?: number;
}
