import type { PullRequestsConfig } from '../model/fleet/relay-config.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../model/text/json.ts';
import { bodyOf, type Header } from './hook-body.ts';

/** A call of a hook about a pull request that was opened, has new commits, or goes into another branch than before. */
export interface PullRequestEvent {
  readonly host: PullRequestsConfig['host'];
  /** Path of the repository at the host. */
  readonly repository: string;
  /** Name of the branch that it is to be merged into. */
  readonly base: string;
  readonly number: number;
}

const MOST_NUMBER = 2 ** 31 - 1;
const ACTIONS: ReadonlySet<JsonValue | undefined> = new Set(['opened', 'reopened', 'synchronize', 'synchronized']);

/** Returns what the call says about a pull request; undefined: nothing that needs a plan, or nothing that can be read. */
export function pullRequestEvent(header: Header, body: Uint8Array): PullRequestEvent | undefined {
  const gitlab = header('X-Gitlab-Event');
  if (gitlab !== undefined) {
    return gitlab === 'Merge Request Hook' ? mergeRequestOf(bodyOf(header, body)) : undefined;
  }
  // Gitea and Forgejo send the header of GitHub as well.
  const gitea = header('X-Gitea-Event');
  const event = gitea ?? header('X-GitHub-Event');
  if (event !== 'pull_request') return undefined;
  return pullRequestOf(gitea === undefined ? 'github' : 'gitea', bodyOf(header, body));
}

function pullRequestOf(
  host: PullRequestsConfig['host'],
  { action, number, pull_request: request, repository, changes }: JsonObject,
): PullRequestEvent | undefined {
  // The earlier branch is in `base` at GitHub, and in `ref` at Gitea.
  const { base: earlier, ref } = objectOf(changes);
  const isMoved = action === 'edited' && (isJsonObject(earlier) || isJsonObject(ref));
  if (!ACTIONS.has(action) && !isMoved) return undefined;
  const base = objectOf(objectOf(request).base).ref;
  return eventOf(host, objectOf(repository).full_name, base, number);
}

function mergeRequestOf({ object_attributes: attributes, project, changes }: JsonObject): PullRequestEvent | undefined {
  const { action, oldrev, iid, target_branch: base } = objectOf(attributes);
  // Only an update with new commits has `oldrev`.
  const isChanged = typeof oldrev === 'string' || isJsonObject(objectOf(changes).target_branch);
  const isNew = action === 'open' || action === 'reopen' || (action === 'update' && isChanged);
  return isNew ? eventOf('gitlab', objectOf(project).path_with_namespace, base, iid) : undefined;
}

function eventOf(
  host: PullRequestsConfig['host'],
  repository: JsonValue | undefined,
  base: JsonValue | undefined,
  number: JsonValue | undefined,
): PullRequestEvent | undefined {
  const isNumber = typeof number === 'number' && Number.isInteger(number) && number > 0 && number <= MOST_NUMBER;
  if (!isNumber || typeof repository !== 'string' || textOf(base) === '') return undefined;
  return { host, repository, base: textOf(base), number };
}

/** Whether the event is about the pull requests of a source: its branch of its repository at its host. */
export function isAbout(
  event: PullRequestEvent,
  source: Pick<PullRequestsConfig, 'host' | 'repository'> & { readonly branch: string },
): boolean {
  return (
    event.host === source.host &&
    event.repository.toLowerCase() === source.repository.toLowerCase() &&
    event.base === source.branch
  );
}
