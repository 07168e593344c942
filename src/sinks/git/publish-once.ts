import { errorText } from '../../model/error-text.ts';
import type { GitFailure } from '../../ports/git-repo.ts';
import { commitMessage } from './commit-message.ts';
import {
  changesTo,
  FLEET_FILE,
  type ForeignBranch,
  fleetFileText,
  judgeOwner,
  noTree,
  readStatusTree,
} from './status-tree.ts';
import type { GitStatusSinkDeps, GitStatusSinkOptions, PublishState, StatusCondition } from './status-types.ts';

const MAX_RACES = 6;
const RACE_WAIT_MS = 100;
const RETRY_MS = 2_000;

type Trouble = Pick<StatusCondition, 'state' | 'reason' | 'message'>;

/**
 * Brings the branch to what is wanted, or records why not and when to try again. A lost race is tried again on the new
 * tip at once, a bounded number of times. Never rejects.
 */
export async function publishOnce(
  deps: GitStatusSinkDeps,
  options: GitStatusSinkOptions,
  state: PublishState,
): Promise<void> {
  let trouble: Trouble | undefined;
  try {
    trouble = await tryToPublish(deps, options, state);
  } catch (error) {
    const message = errorText(error);
    // What was known of the branch may be what is wrong.
    state.tree = noTree;
    trouble = { state: 'failing', reason: 'ReadFailed', message };
  }
  if (trouble === undefined) {
    state.failures = 0;
    state.retryAt = Number.NEGATIVE_INFINITY;
    return;
  }
  if (state.stopping.signal.aborted) return;
  state.treeIsFresh = false;
  state.failures += 1;
  const ceiling = Math.min((options.maxRetrySeconds ?? 300) * 1000, RETRY_MS * 2 ** Math.min(state.failures - 1, 30));
  state.retryAt = deps.clock.monotonic() + ceiling * (0.5 + 0.5 * deps.random.next());
  const { commit } = state.condition;
  state.condition = { ...trouble, ...(commit === undefined ? {} : { commit }) };
  deps.log.warn('status could not be published', { reason: trouble.reason, detail: trouble.message });
}

async function tryToPublish(
  deps: GitStatusSinkDeps,
  options: GitStatusSinkOptions,
  state: PublishState,
): Promise<Trouble | undefined> {
  const { repo, clock, random } = deps;
  for (let races = 0; races < MAX_RACES; races += 1) {
    const trouble = await refreshTree(deps, options, state);
    if (trouble !== undefined) return trouble;
    const { version, tree } = state;
    const changes = changesTo(tree, wantedOn(options, state));
    if (changes.size === 0) {
      holds(deps, state, version, tree.commit);
      return undefined;
    }
    const message = commitMessage(options.fleet, state.note);
    const request = { expected: tree.commit, changes, author: options.author, at: clock.now(), message };
    const digests = new Map([...state.wanted].map(([path, { digest }]) => [path, digest] as const));
    const outcome = await repo.publish(request, state.stopping.signal);
    if (outcome.type === 'published') {
      const fleetText = tree.fleetText ?? fleetFileText(options.fleet);
      state.tree = { commit: outcome.commit, digests, fleetText };
      state.lastCommitAt = clock.monotonic();
      holds(deps, state, version, outcome.commit);
      return undefined;
    }
    if (outcome.type !== 'race') return troubleOf(outcome);
    state.treeIsFresh = false;
    await clock.sleep(RACE_WAIT_MS * 2 ** races * (0.5 + random.next()), state.stopping.signal);
  }
  return {
    state: 'failing',
    reason: 'Race',
    message: `${repo.branch} moved ${MAX_RACES} times while status was pushed`,
  };
}

/** A `fleet.json` that names this fleet in other bytes is left as it is. */
function wantedOn(options: GitStatusSinkOptions, state: PublishState): PublishState['wanted'] {
  const { fleetText, digests } = state.tree;
  const digest = digests.get(FLEET_FILE);
  if (fleetText === undefined || digest === undefined) return state.wanted;
  if (fleetText !== fleetFileText(options.fleet)) state.wanted.set(FLEET_FILE, { text: fleetText, digest });
  return state.wanted;
}

/** Fetches, unless the branch was left by this sink just now. */
async function refreshTree(
  { repo }: GitStatusSinkDeps,
  { fleet }: GitStatusSinkOptions,
  state: PublishState,
): Promise<Trouble | undefined> {
  if (state.treeIsFresh) return undefined;
  const fetched = await repo.fetch(state.stopping.signal);
  if (fetched.type === 'failed') return { state: 'failing', reason: fetched.reason, message: fetched.message };
  state.tree = fetched.type === 'absent' ? noTree : await readStatusTree(repo, state.tree, fetched.commit);
  const foreign: ForeignBranch | undefined = judgeOwner(fleet, repo.branch, state.tree);
  if (foreign !== undefined) return { state: 'refused', ...foreign };
  state.treeIsFresh = true;
  return undefined;
}

function holds({ repo }: GitStatusSinkDeps, state: PublishState, version: number, commit: string | null): void {
  state.published = version;
  const told = state.waiting.filter((each) => each.version <= version);
  state.waiting = state.waiting.filter((each) => each.version > version);
  for (const { published } of told) published();
  const where = commit === null ? repo.branch : `${repo.branch} at ${commit.slice(0, 12)}`;
  state.condition = {
    state: 'synced',
    reason: 'Published',
    message: where,
    ...(commit === null ? {} : { commit }),
  };
}

function troubleOf(outcome: GitFailure | { readonly type: 'refused'; readonly message: string }): Trouble {
  return outcome.type === 'refused'
    ? { state: 'refused', reason: 'PushRefused', message: `the server refused the push: ${outcome.message}` }
    : { state: 'failing', reason: outcome.reason, message: outcome.message };
}
