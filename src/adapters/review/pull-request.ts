import type { JsonValue } from '../../model/text/json.ts';
import type { PullRequest, ReviewOutcome } from '../../ports/review-host.ts';
import { notUnderstood } from './host-requests.ts';

/** Checks the fields of a pull request as a host gives it. */
export function pullRequestOf(fields: {
  readonly open: boolean;
  readonly fork: boolean;
  readonly base: JsonValue | undefined;
  readonly branch: JsonValue | undefined;
  readonly commit: JsonValue | undefined;
}): ReviewOutcome<PullRequest> {
  const { open, fork, base, branch, commit } = fields;
  if (typeof base !== 'string' || typeof branch !== 'string' || typeof commit !== 'string' || !isCommit(commit)) {
    return notUnderstood('pull request');
  }
  return { type: 'done', value: { open, fork, base, branch, commit } };
}

function isCommit(text: string): boolean {
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}
