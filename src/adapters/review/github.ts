import { objectOf } from '../../model/text/json.ts';
import type { ReviewHost } from '../../ports/review-host.ts';
import { createHostLikeGithub } from './github-api.ts';
import { createHostRequests, type HostDeps, type HostOptions } from './host-requests.ts';
import { idOf } from './own-comment.ts';

const PAGE = 100;

/** A repository at GitHub, or at a GitHub Enterprise Server: REST API, version 2022-11-28. */
export function createGithubHost(deps: HostDeps, { apiUrl, repository }: HostOptions): ReviewHost {
  const send = createHostRequests(deps, apiUrl, (token) => ({
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'x-github-api-version': '2022-11-28',
  }));
  return createHostLikeGithub(send, repository, {
    // Both are not in the documentation: the API refuses more with the status 422.
    most: 65_536,
    mostOfDescription: 140,
    // Null after the deletion of the repository.
    repositoryId: ({ repo }) => idOf(objectOf(repo).id),
    query: (page) => `?per_page=${PAGE}&page=${page}`,
    nextPage: ({ link }, page) => (/;\s*rel="?next"?/.test(String(link ?? '')) ? page + 1 : undefined),
  });
}
