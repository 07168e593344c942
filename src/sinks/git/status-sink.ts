import type { FleetName } from '../../model/fleet/ids.ts';
import { backOffMs } from '../../model/limits/back-off.ts';
import { errorText } from '../../model/text/messages.ts';
import { inSlices } from '../../model/values/in-slices.ts';
import { createTurns } from '../../model/values/in-turn.ts';
import { releaseTexts } from '../../model/values/packed-texts.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import {
  type BranchProblem,
  changesTo,
  FLEET_FILE,
  fetchStatusTree,
  fleetFileText,
  hasText,
  isManaged,
  noTree,
  type StatusTree,
  type WantedFile,
  wantedFile,
} from './status-tree.ts';

export interface GitStatusSinkDeps {
  /** The status branch, with a local copy of its own; the sink closes it. */
  readonly repo: GitRepo;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface GitStatusSinkOptions {
  readonly fleet: FleetName;
  readonly author: { readonly name: string; readonly email: string };
  /** The shortest time between two commits. */
  readonly minIntervalSeconds: number;
}

/** The condition of the status branch. */
export interface StatusCondition {
  /**
   * `pending`: no attempt has ended yet. `synced`: after the last attempt the branch held all wanted files. `failing`: the
   * branch could not be reached. `refused`: the branch belongs to another fleet, or the server refuses the push; a person
   * must act.
   */
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  readonly reason: string;
  readonly message: string;
  /** The commit that was last published or found equal. */
  readonly commit: string | null;
}

/** The files of the status branch, or why they cannot be read. */
export type StatusReading =
  | { readonly ok: true; readonly files: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly reason: string; readonly message: string };

export type GitStatusSink = ReturnType<typeof createGitStatusSink>;

const COLLECT_MS = 250;
const RETRY_MS = 2_000;
const MAX_RETRY_MS = 300_000;
const MAX_RACES = 6;
const RACE_WAIT_MS = 100;
const MAX_MESSAGE_LINE = 200;

/** State between two attempts. Times are monotonic milliseconds. */
interface State {
  readonly wanted: Map<string, WantedFile>;
  summary: string;
  /** Counts the updates that changed something; `published`: the newest one that the branch is known to hold. */
  version: number;
  published: number;
  waiting: { readonly version: number; readonly published: () => void }[];
  /** The branch as last fetched or pushed. */
  tree: StatusTree;
  /** False: the branch may have moved, and must be fetched first. */
  treeIsFresh: boolean;
  leads: boolean;
  lastCommitAt: number;
  retryAt: number;
  failures: number;
  minIntervalMs: number;
  condition: StatusCondition;
  /** Attempts that were asked for and have not ended. */
  attempts: number;
  cancelTimer: (() => void) | undefined;
}

interface Context {
  readonly deps: GitStatusSinkDeps;
  readonly options: GitStatusSinkOptions;
  readonly state: State;
  readonly stopping: AbortSignal;
}

/**
 * Keeps a branch equal to a set of texts. Commits are batched, made only when a text differs, and pushed on the condition
 * that the branch has not moved, so that history only grows. A failure is a condition and is retried with back-off. The sink
 * does nothing before the first call.
 */
export function createGitStatusSink(deps: GitStatusSinkDeps, options: GitStatusSinkOptions) {
  const stopping = new AbortController();
  const inTurn = createTurns();
  const state = initialState(deps, options);
  const context: Context = { deps, options, state, stopping: stopping.signal };
  const publish = (): Promise<void> => {
    state.cancelTimer?.();
    state.cancelTimer = undefined;
    state.attempts += 1;
    return inTurn(async () => {
      if (mayPublish(context)) await publishOnce(context);
      state.attempts -= 1;
      schedule(context, publish);
    });
  };
  return {
    /** Reads the texts on the branch, by path; empty if the branch does not exist. */
    readAll: (): Promise<StatusReading> => inTurn(() => readAll(context)),
    /**
     * Takes changes of the set (null removes a path). The first call of a process gives the complete set: the next commit
     * removes all other files of the branch. The summary of the latest call is the first line of the commit message.
     * `published` is called when the branch holds these changes, or newer ones.
     */
    update: (changes: ReadonlyMap<string, string | null>, summary: string, published?: () => void): void => {
      if (applyUpdate(state, changes, summary)) schedule(context, publish);
      if (published === undefined) return;
      if (state.version === state.published) published();
      else state.waiting.push({ version: state.version, published });
    },
    /** Sets the shortest time between two commits, in seconds. */
    setMinInterval: (seconds: number): void => {
      state.minIntervalMs = seconds * 1000;
    },
    /** Only the leader publishes; at first this process counts as leader. A new leader fetches the branch first. */
    lead: (leads: boolean): void => {
      if (leads === state.leads) return;
      state.leads = leads;
      state.treeIsFresh = false;
      // Before the first update there is nothing to publish.
      if (leads && state.version > 0) state.version += 1;
      schedule(context, publish);
    },
    condition: (): StatusCondition => state.condition,
    /** Publishes the pending changes now. Resolves after one attempt; `condition` reports its outcome. */
    flush: publish,
    /** Ends without publishing the pending changes. */
    stop: async (): Promise<void> => {
      stopping.abort();
      state.cancelTimer?.();
      await inTurn(async () => undefined);
      await deps.repo.close();
    },
  };
}

function initialState({ repo }: GitStatusSinkDeps, options: GitStatusSinkOptions): State {
  return {
    wanted: new Map([[FLEET_FILE, wantedFile(fleetFileText(options.fleet))]]),
    summary: '',
    version: 0,
    published: 0,
    waiting: [],
    tree: noTree,
    treeIsFresh: false,
    leads: true,
    lastCommitAt: Number.NEGATIVE_INFINITY,
    retryAt: Number.NEGATIVE_INFINITY,
    failures: 0,
    minIntervalMs: options.minIntervalSeconds * 1000,
    condition: {
      state: 'pending',
      reason: 'Pending',
      message: `nothing was published to ${repo.branch} yet`,
      commit: null,
    },
    attempts: 0,
    cancelTimer: undefined,
  };
}

function mayPublish({ state, stopping }: Context): boolean {
  return state.leads && !stopping.aborted && state.version !== state.published;
}

function schedule(context: Context, publish: () => Promise<void>): void {
  const { deps, state } = context;
  // The end of an attempt sets the time of the next one.
  if (state.cancelTimer !== undefined || state.attempts > 0 || !mayPublish(context)) return;
  const now = deps.clock.monotonic();
  const at = Math.max(now + COLLECT_MS, state.lastCommitAt + state.minIntervalMs, state.retryAt);
  state.cancelTimer = deps.clock.schedule(at - now, () => void publish());
}

/** Returns true if there may be something to publish. */
function applyUpdate(state: State, changes: ReadonlyMap<string, string | null>, summary: string): boolean {
  // The first update counts even if it is empty: the branch may hold other files.
  let differs = state.version === 0;
  const replaced: WantedFile['text'][] = [];
  for (const [path, text] of changes) {
    if (path === FLEET_FILE || !isManaged(path)) throw new Error(`${JSON.stringify(path)} is no path for status`);
    const before = state.wanted.get(path);
    if (text === null ? before === undefined : before !== undefined && hasText(before, text)) continue;
    differs = true;
    if (before !== undefined) replaced.push(before.text);
    if (text === null) state.wanted.delete(path);
    else state.wanted.set(path, wantedFile(text));
  }
  releaseTexts(replaced);
  if (!differs) return false;
  state.summary = summary;
  state.version += 1;
  return true;
}

async function readAll({ deps, options }: Context): Promise<StatusReading> {
  const files = new Map<string, string>();
  try {
    const fetched = await fetchStatusTree(deps.repo, options.fleet, noTree, {
      onText: (path, text) => void files.set(path, text),
    });
    if ('state' in fetched) return { ok: false, reason: fetched.reason, message: fetched.message };
    files.delete(FLEET_FILE);
    return { ok: true, files };
  } catch (error) {
    return { ok: false, reason: 'ReadFailed', message: errorText(error) };
  }
}

/** Makes the branch equal to the wanted files, or records the failure and the time of the next attempt. Never rejects. */
async function publishOnce(context: Context): Promise<void> {
  const { deps, state, stopping } = context;
  let problem: BranchProblem | undefined;
  try {
    problem = await tryToPublish(context);
  } catch (error) {
    // The known tree may be the cause.
    state.tree = noTree;
    problem = { state: 'failing', reason: 'ReadFailed', message: errorText(error) };
  }
  if (problem === undefined) {
    state.failures = 0;
    state.retryAt = Number.NEGATIVE_INFINITY;
    return;
  }
  if (stopping.aborted) return;
  state.treeIsFresh = false;
  const wait = backOffMs(state.failures, RETRY_MS, MAX_RETRY_MS) * (0.5 + 0.5 * deps.random.next());
  state.failures += 1;
  state.retryAt = deps.clock.monotonic() + wait;
  state.condition = { ...problem, commit: state.condition.commit };
  deps.log.warn('status could not be published', { reason: problem.reason, detail: problem.message });
}

/** Rebuilds the commit on the new tip after a lost race, a bounded number of times. */
async function tryToPublish(context: Context): Promise<BranchProblem | undefined> {
  const { deps, options, state, stopping } = context;
  const { repo, clock, random } = deps;
  let locked: string | undefined;
  for (let races = 0; races < MAX_RACES; races += 1) {
    if (!state.treeIsFresh) {
      const fetched = await fetchStatusTree(repo, options.fleet, state.tree, { signal: stopping });
      if ('state' in fetched) return fetched;
      state.tree = fetched;
      state.treeIsFresh = true;
    }
    // After a lost race the branch is of another leader, if this process does not lead any more.
    if (!mayPublish(context)) return undefined;
    const { version, tree } = state;
    const { changes, digests } = await inSlices(clock, changesTo(tree, state.wanted));
    if (changes.size === 0) {
      recordPublished(context, version, tree.commit);
      return undefined;
    }
    const message = commitMessage(options.fleet, state.summary);
    const request = { expected: tree.commit, changes, author: options.author, at: clock.now(), message };
    const outcome = await repo.publish(request, stopping);
    switch (outcome.type) {
      case 'published':
        state.tree = { commit: outcome.commit, digests, fleet: options.fleet };
        state.lastCommitAt = clock.monotonic();
        recordPublished(context, version, outcome.commit);
        return undefined;
      case 'refused':
        return { state: 'refused', reason: 'PushRefused', message: `the server refused the push: ${outcome.message}` };
      case 'failed':
        return { state: 'failing', reason: outcome.reason, message: outcome.message };
      case 'race':
        state.treeIsFresh = false;
        ({ locked } = outcome);
        await clock.sleep(RACE_WAIT_MS * 2 ** races * (0.5 + random.next()), stopping);
    }
  }
  const message =
    locked === undefined
      ? `${repo.branch} moved ${MAX_RACES} times while status was pushed`
      : `the server did not update ${repo.branch} in ${MAX_RACES} attempts: ${locked}; if its repository has a lock file of this branch and nothing pushes to it, delete that file`;
  return { state: 'failing', reason: 'Race', message };
}

function recordPublished({ deps, state }: Context, version: number, commit: string | null): void {
  const { branch } = deps.repo;
  state.published = version;
  const reached = state.waiting.filter((each) => each.version <= version);
  state.waiting = state.waiting.filter((each) => each.version > version);
  for (const { published } of reached) published();
  const message = commit === null ? branch : `${branch} at ${commit.slice(0, 12)}`;
  state.condition = { state: 'synced', reason: 'Published', message, commit };
}

/** The summary in one line, then the trailer that names the fleet. Equal inputs give equal bytes. */
function commitMessage(fleet: FleetName, summary: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line end would forge a trailer.
  const line = summary.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim() || 'Status';
  const short = line.length > MAX_MESSAGE_LINE ? `${line.slice(0, MAX_MESSAGE_LINE - 3)}...` : line;
  return `${short}\n\nFleetrelay-Fleet: ${fleet}\n`;
}
