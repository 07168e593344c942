import type { ReviewHost } from '../../ports/review-host.ts';
import { createGiteaHost } from './gitea.ts';
import { createGithubHost } from './github.ts';
import { createGitlabHost } from './gitlab.ts';
import type { HostDeps, HostOptions } from './host-requests.ts';

const HOSTS = { github: createGithubHost, gitlab: createGitlabHost, gitea: createGiteaHost } as const;

/** Makes the adapter of a host. It opens no connection before the first call. */
export function createReviewHost(host: keyof typeof HOSTS, deps: HostDeps, options: HostOptions): ReviewHost {
  return HOSTS[host](deps, options);
}
