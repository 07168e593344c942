import { textOf } from '../../model/text/json.ts';
import type { ReviewHost } from '../../ports/review-host.ts';
import { createHostLikeGithub } from './github-api.ts';
import { createHostRequests, type HostDeps, type HostOptions } from './host-requests.ts';
import { idOf } from './own-comment.ts';

/** A repository at Gitea or Forgejo: API, version 1. */
export function createGiteaHost(deps: HostDeps, { apiUrl, repository }: HostOptions): ReviewHost {
  const send = createHostRequests(deps, apiUrl, (token) => ({
    accept: 'application/json',
    authorization: `token ${token}`,
  }));
  return createHostLikeGithub(send, repository, {
    // The API names no limits: these keep pages of a pull request short.
    most: 65_536,
    mostOfDescription: 255,
    // -1 or 0 after the deletion of the repository. A pull request that was pushed without a branch (AGit) names the repository of
    // its base, and each account that may read can push one: its ref is no branch.
    repositoryId: ({ repo_id, ref }) => (/^refs\//.test(textOf(ref)) ? undefined : idOf(repo_id)),
    // The list of comments has no pages.
    query: () => '',
    nextPage: () => undefined,
  });
}
