import { type JsonObject, objectOf } from '../../model/text/json.ts';
import type { ReviewHost } from '../../ports/review-host.ts';
import { cutLine } from './cut-body.ts';
import type { Send } from './host-requests.ts';
import { type CommentApi, putComment } from './own-comment.ts';
import { pullRequestOf } from './pull-request.ts';

/** The differences between the APIs of GitHub and Gitea. */
export interface GithubDialect extends Pick<CommentApi, 'most' | 'query' | 'nextPage'> {
  /** Most characters of the description of a status. */
  readonly mostOfDescription: number;
  /** The number of the repository of the base or the head of a pull request; undefined: the repository was deleted. */
  readonly repositoryId: (end: JsonObject) => number | undefined;
}

/** A host with the API of GitHub, or one like it. `repository`: `OWNER/NAME`. */
export function createHostLikeGithub(
  send: Send,
  repository: string,
  { mostOfDescription, repositoryId, ...comments }: GithubDialect,
): ReviewHost {
  const at = `/repos/${repository}`;
  return {
    read: async (pullRequest, signal) => {
      const answer = await send({ method: 'GET', path: `${at}/pulls/${pullRequest}` }, signal);
      if (answer.type === 'failed') return answer;
      const { state, base, head } = objectOf(answer.body);
      const [into, from] = [objectOf(base), objectOf(head)];
      const target = repositoryId(into);
      const fork = target === undefined || target !== repositoryId(from);
      return pullRequestOf({ open: state === 'open', fork, base: into.ref, branch: from.ref, commit: from.sha });
    },
    comment: (comment, signal) =>
      putComment(
        {
          send,
          ...comments,
          author: 'user',
          listPath: (pullRequest) => `${at}/issues/${pullRequest}/comments`,
          update: { method: 'PATCH', path: (_, id) => `${at}/issues/comments/${id}` },
        },
        comment,
        signal,
      ),
    setStatus: async ({ commit, state, context, description }, signal) => {
      const body = { state, context, description: cutLine(description, mostOfDescription) };
      const answer = await send({ method: 'POST', path: `${at}/statuses/${commit}`, body }, signal);
      return answer.type === 'failed' ? answer : { type: 'done', value: undefined };
    },
  };
}
