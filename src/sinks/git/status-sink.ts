import { sha256 } from '../../model/digest.ts';
import { errorText } from '../../model/error-text.ts';
import { createTurns } from '../../model/in-turn.ts';
import { publishOnce } from './publish-once.ts';
import { FLEET_FILE, fleetFileText, isManaged, judgeOwner, noTree, readStatusTree } from './status-tree.ts';
import type {
  GitStatusSinkDeps,
  GitStatusSinkOptions,
  PublishState,
  StatusCondition,
  StatusNote,
} from './status-types.ts';

/** What was last written, or why that cannot be known. */
export type StatusReading =
  | { readonly ok: true; readonly files: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly reason: string; readonly message: string };

/**
 * Keeps a branch equal to a set of texts. Commits are batched, made only when something differs, and pushed on the
 * condition that the branch has not moved; history only grows. Trouble is a condition and a back-off.
 */
export interface GitStatusSink {
  /** The texts on the branch now, by path; empty if there is no such branch. */
  readAll(): Promise<StatusReading>;
  /**
   * Takes changes of the set (null removes a path). The first call of a process states the whole set: whatever else the
   * branch holds is removed with the next commit. The note of the latest call goes into the commit message.
   * `published`: called once the branch holds these changes, or newer ones.
   */
  update(changes: ReadonlyMap<string, string | null>, note: StatusNote, published?: () => void): void;
  /** The least time between two commits, in seconds, from now on. */
  setMinInterval(seconds: number): void;
  /** Only who leads publishes (at first: this process). Who begins to looks at the branch anew: somebody else has written it. */
  lead(leads: boolean): void;
  condition(): StatusCondition;
  /** Publishes what waits, now. Resolves after one try, whatever came of it (see `condition`). */
  flush(): Promise<void>;
  /** Ends without publishing what waits. */
  stop(): Promise<void>;
}

/** Creates the sink; nothing happens before the first call. */
export function createGitStatusSink(deps: GitStatusSinkDeps, options: GitStatusSinkOptions): GitStatusSink {
  const state = initialState(deps, options);
  let cancelTimer: (() => void) | undefined;
  let leading = true;
  const inTurn = createTurns();
  let publishing = 0;
  const publish = (): Promise<void> => {
    cancelTimer?.();
    cancelTimer = undefined;
    publishing += 1;
    return inTurn(async () => {
      if (mayPublish()) await publishOnce(deps, options, state);
      publishing -= 1;
      arm();
    });
  };
  function mayPublish(): boolean {
    return leading && !state.stopping.signal.aborted && state.version !== state.published;
  }
  function arm(): void {
    // When the next commit may come is known once the one under way has been made.
    if (cancelTimer !== undefined || publishing > 0) return;
    if (!mayPublish()) return;
    const now = deps.clock.monotonic();
    const at = Math.max(now + (options.collectMs ?? 250), state.lastCommitAt + state.minIntervalMs, state.retryAt);
    // A failure to publish is a condition; nothing is thrown at a timer.
    cancelTimer = deps.clock.schedule(at - now, () => void publish());
  }
  return {
    readAll: () => inTurn(() => readAll(deps, options)),
    update: (changes, note, published) => {
      if (applyUpdate(state, changes, note)) arm();
      if (published === undefined) return;
      if (state.version === state.published) published();
      else state.waiting.push({ version: state.version, published });
    },
    setMinInterval: (seconds) => {
      state.minIntervalMs = seconds * 1000;
    },
    lead: (leads) => {
      if (leads === leading) return;
      leading = leads;
      state.treeIsFresh = false;
      // Before the first update there is nothing to say.
      if (leads && state.version > 0) state.version += 1;
      arm();
    },
    condition: () => state.condition,
    flush: publish,
    stop: async () => {
      state.stopping.abort();
      cancelTimer?.();
      await inTurn(async () => undefined);
      await deps.repo.close();
    },
  };
}

function initialState({ repo }: GitStatusSinkDeps, options: GitStatusSinkOptions): PublishState {
  const text = fleetFileText(options.fleet);
  return {
    wanted: new Map([[FLEET_FILE, { text, digest: sha256(text) }]]),
    note: { summary: 'Status' },
    version: 0,
    published: 0,
    waiting: [],
    tree: noTree,
    treeIsFresh: false,
    lastCommitAt: Number.NEGATIVE_INFINITY,
    retryAt: Number.NEGATIVE_INFINITY,
    failures: 0,
    minIntervalMs: options.minIntervalSeconds * 1000,
    condition: { state: 'pending', reason: 'Pending', message: `nothing was published to ${repo.branch} yet` },
    stopping: new AbortController(),
  };
}

/** True if there may be something to publish. */
function applyUpdate(state: PublishState, changes: ReadonlyMap<string, string | null>, note: StatusNote): boolean {
  // The first update counts even if it is empty: the branch may hold more than it should.
  let differs = state.version === 0;
  for (const [path, text] of changes) {
    if (path === FLEET_FILE || !isManaged(path)) throw new Error(`${JSON.stringify(path)} is no path for status`);
    if (text === null) differs = state.wanted.delete(path) || differs;
    else {
      const digest = sha256(text);
      differs = state.wanted.get(path)?.digest !== digest || differs;
      state.wanted.set(path, { text, digest });
    }
  }
  if (!differs) return false;
  state.note = note;
  state.version += 1;
  return true;
}

async function readAll({ repo }: GitStatusSinkDeps, { fleet }: GitStatusSinkOptions): Promise<StatusReading> {
  try {
    const fetched = await repo.fetch();
    if (fetched.type === 'absent') return { ok: true, files: new Map() };
    if (fetched.type === 'failed') return { ok: false, reason: fetched.reason, message: fetched.message };
    const files = new Map<string, string>();
    const tree = await readStatusTree(repo, noTree, fetched.commit, (path, text) => void files.set(path, text));
    const foreign = judgeOwner(fleet, repo.branch, tree);
    if (foreign !== undefined) return { ok: false, ...foreign };
    files.delete(FLEET_FILE);
    return { ok: true, files };
  } catch (error) {
    return { ok: false, reason: 'ReadFailed', message: errorText(error) };
  }
}
