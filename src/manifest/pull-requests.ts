import type { GitSource, PullRequests } from '../../generated/relay-config.js';
import type { PullRequestsConfig } from '../model/fleet/relay-config.ts';
import type { Refuse } from './problem.ts';
import { secretOf } from './secret-references.ts';

/** Paths of the APIs, except at github.com. */
const API_PATHS = { github: '/api/v3', gitlab: '/api/v4', gitea: '/api/v1' } as const;

/** Reads which host has the pull requests of a repository, where its API is, and what is done about them. */
export function readPullRequests(
  part: PullRequests,
  { url, branch, hook, caFile }: GitSource,
  at: string,
  refuse: Refuse,
): PullRequestsConfig {
  const { host, apiUrl, repository, comment, status, forks } = part;
  if (branch === undefined || hook === undefined)
    refuse('MissingField', at, 'pull requests need the branch of the source and its hook');
  if (!comment && !status) refuse('WrongChoice', at, 'with comment and status both false there is nothing to do');
  const badApi = apiUrl === undefined ? undefined : apiProblem(apiUrl);
  if (badApi !== undefined) refuse('BadAddress', `${at}.apiUrl`, badApi);
  const remote = httpUrl(url);
  const path = repository ?? (remote?.pathname ?? '').replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  if (remote === null && (apiUrl === undefined || repository === undefined)) {
    refuse('MissingField', at, 'the repository has no http(s) address, so apiUrl and repository are needed');
  } else if (!isRepositoryPath(path, host)) {
    const form = host === 'gitlab' ? 'GROUP/NAME, with any number of groups' : 'OWNER/NAME';
    refuse('BadPath', repository === undefined ? at : `${at}.repository`, `the path at the host must be ${form}`);
  }
  const trusted = part.caFile ?? caFile;
  return {
    host,
    comment,
    status,
    forks,
    repository: path,
    token: secretOf(part, 'token'),
    apiUrl: (apiUrl ?? defaultApi(host, remote)).replace(/\/+$/, ''),
    ...(trusted !== undefined && { caFile: trusted }),
  };
}

function httpUrl(text: string): URL | null {
  return /^https?:\/\//.test(text) ? URL.parse(text) : null;
}

function defaultApi(host: PullRequestsConfig['host'], remote: URL | null): string {
  if (host === 'github' && remote?.host === 'github.com') return 'https://api.github.com';
  return `${remote?.origin ?? ''}${API_PATHS[host]}`;
}

/** Never quotes the text, which may contain a password. */
function apiProblem(text: string): string | undefined {
  const api = httpUrl(text);
  if (api === null) return 'the address must begin with https:// or http://';
  return `${api.username}${api.password}${api.search}${api.hash}` === ''
    ? undefined
    : 'the address must not hold a user, a password, "?" or "#"';
}

function isRepositoryPath(path: string, host: PullRequestsConfig['host']): boolean {
  const names = path.split('/');
  const isRightLength = host === 'gitlab' ? names.length > 1 : names.length === 2;
  return isRightLength && names.every((name) => /^[A-Za-z0-9._-]+$/.test(name) && !/^\.+$/.test(name));
}
