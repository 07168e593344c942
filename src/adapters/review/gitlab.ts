import { objectOf } from '../../model/text/json.ts';
import type { CommitStatus, ReviewHost } from '../../ports/review-host.ts';
import { cutLine } from './cut-body.ts';
import { createHostRequests, type HostDeps, type HostOptions } from './host-requests.ts';
import { idOf, putComment } from './own-comment.ts';
import { pullRequestOf } from './pull-request.ts';

const MOST_CHARACTERS = 1_000_000;
const MOST_OF_DESCRIPTION = 255;
const PAGE = 100;

const STATES = { pending: 'pending', success: 'success', failure: 'failed', error: 'failed' } as const satisfies Record<
  CommitStatus['state'],
  string
>;

/** A project at GitLab: REST API, version 4. */
export function createGitlabHost(deps: HostDeps, { apiUrl, repository }: HostOptions): ReviewHost {
  const send = createHostRequests(deps, apiUrl, (token) => ({ accept: 'application/json', 'private-token': token }));
  const at = `/projects/${encodeURIComponent(repository)}`;
  return {
    read: async (pullRequest, signal) => {
      const answer = await send({ method: 'GET', path: `${at}/merge_requests/${pullRequest}` }, signal);
      if (answer.type === 'failed') return answer;
      const request = objectOf(answer.body);
      const target = idOf(request.target_project_id);
      return pullRequestOf({
        open: request.state === 'opened',
        fork: target === undefined || target !== idOf(request.source_project_id),
        base: request.target_branch,
        branch: request.source_branch,
        commit: request.sha,
      });
    },
    comment: (comment, signal) =>
      putComment(
        {
          send,
          most: MOST_CHARACTERS,
          listPath: (pullRequest) => `${at}/merge_requests/${pullRequest}/notes`,
          query: (page) => `?sort=asc&order_by=created_at&per_page=${PAGE}&page=${page}`,
          nextPage: (headers) => Number(headers['x-next-page'] || 0) || undefined,
          author: 'author',
          update: { method: 'PUT', path: (pullRequest, id) => `${at}/merge_requests/${pullRequest}/notes/${id}` },
          defuse: withoutQuickActions,
        },
        comment,
        signal,
      ),
    setStatus: async ({ commit, ref, state, context, description }, signal) => {
      const body = {
        state: STATES[state],
        // Without a ref GitLab takes any branch that has the commit, and refuses the commit of a fork.
        ref: ref.replace(/^refs\/heads\//, ''),
        name: context,
        description: cutLine(description, MOST_OF_DESCRIPTION),
      };
      const answer = await send({ method: 'POST', path: `${at}/statuses/${commit}`, body }, signal);
      if (answer.type === 'answered') return { type: 'done', value: undefined };
      // GitLab refuses a pending status for one that is pending.
      const isThere = state === 'pending' && answer.message.includes('Cannot transition status via :enqueue');
      return isThere ? { type: 'done', value: undefined } : answer;
    },
  };
}

/** GitLab executes a line that begins with `/`, as `/merge`, with the rights of the comment's author. */
function withoutQuickActions(text: string): string {
  return text.replaceAll(/^\//gm, ' /');
}
