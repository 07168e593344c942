import { objectOf } from '../../model/json.ts';
import type { ReviewHost } from '../../ports/review-host.ts';
import { cutLine } from './cut-body.ts';
import { createHostRequests, type HostDeps, type HostOptions } from './host-requests.ts';
import { idOf, putComment } from './own-comment.ts';
import { pullRequestOf } from './pull-request.ts';

/** The API names no limits: these keep pages of a pull request short. */
const MOST_CHARACTERS = 65_536;
const MOST_OF_DESCRIPTION = 255;

/** A repository at Gitea or Forgejo: API, version 1. */
export function createGiteaHost(deps: HostDeps, { apiUrl, repository }: HostOptions): ReviewHost {
  const send = createHostRequests(deps, apiUrl, (token) => ({
    accept: 'application/json',
    authorization: `token ${token}`,
  }));
  const at = `/repos/${repository}`;
  return {
    read: async (pullRequest, signal) => {
      const answer = await send({ method: 'GET', path: `${at}/pulls/${pullRequest}` }, signal);
      if (answer.type === 'failed') return answer;
      const { state, base, head } = objectOf(answer.body);
      const [into, from] = [objectOf(base), objectOf(head)];
      // The repository of the head has the number -1 or 0 after its deletion.
      const fork = idOf(into.repo_id) === undefined || idOf(into.repo_id) !== idOf(from.repo_id);
      return pullRequestOf({ open: state === 'open', fork, base: into.ref, branch: from.ref, commit: from.sha });
    },
    comment: (comment, signal) =>
      putComment(
        {
          send,
          most: MOST_CHARACTERS,
          listPath: (pullRequest) => `${at}/issues/${pullRequest}/comments`,
          // The list of comments has no pages.
          query: () => '',
          nextPage: () => undefined,
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
