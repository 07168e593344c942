import { objectOf } from '../../model/json.ts';
import type { ReviewHost } from '../../ports/review-host.ts';
import { cutLine } from './cut-body.ts';
import { createHostRequests, type HostDeps, type HostOptions } from './host-requests.ts';
import { idOf, putComment } from './own-comment.ts';
import { pullRequestOf } from './pull-request.ts';

/** Both are not in the documentation: the API refuses more with the status 422. */
const MOST_CHARACTERS = 65_536;
const MOST_OF_DESCRIPTION = 140;
const PAGE = 100;

/** A repository at GitHub, or at a GitHub Enterprise Server: REST API, version 2022-11-28. */
export function createGithubHost(deps: HostDeps, { apiUrl, repository }: HostOptions): ReviewHost {
  const send = createHostRequests(deps, apiUrl, (token) => ({
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'x-github-api-version': '2022-11-28',
  }));
  const at = `/repos/${repository}`;
  return {
    read: async (pullRequest, signal) => {
      const answer = await send({ method: 'GET', path: `${at}/pulls/${pullRequest}` }, signal);
      if (answer.type === 'failed') return answer;
      const { state, base, head } = objectOf(answer.body);
      const [into, from] = [objectOf(base), objectOf(head)];
      const target = idOf(objectOf(into.repo).id);
      // The repository of the head is null after its deletion.
      const fork = target === undefined || target !== idOf(objectOf(from.repo).id);
      return pullRequestOf({ open: state === 'open', fork, base: into.ref, branch: from.ref, commit: from.sha });
    },
    comment: (comment, signal) =>
      putComment(
        {
          send,
          most: MOST_CHARACTERS,
          listPath: (pullRequest) => `${at}/issues/${pullRequest}/comments`,
          query: (page) => `?per_page=${PAGE}&page=${page}`,
          nextPage: ({ link }, page) => (/;\s*rel="?next"?/.test(String(link ?? '')) ? page + 1 : undefined),
          author: 'user',
          update: { method: 'PATCH', path: (_, id) => `${at}/issues/comments/${id}` },
        },
        comment,
        signal,
      ),
    setStatus: async ({ commit, state, context, description }, signal) => {
      const body = { state, context, description: cutLine(description, MOST_OF_DESCRIPTION) };
      const answer = await send({ method: 'POST', path: `${at}/statuses/${commit}`, body }, signal);
      return answer.type === 'failed' ? answer : { type: 'done', value: undefined };
    },
  };
}
