import type { AgentHolding } from '../../model/agent.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import type { ServerListener } from '../../relay/session.ts';
import { createAwaited } from './awaited.ts';
import { createDrift, type DriftCounts } from './drift.ts';
import { createDurable } from './durable.ts';
import { createEntering } from './entering.ts';
import { createHealthTeller } from './health.ts';
import { type Holding, toldHolding } from './holding.ts';
import { workRank } from './order.ts';
import type { Recovered } from './recover.ts';
import { see } from './see.ts';
import type { KeeperDeps, KeeperState } from './state.ts';
import { accept, goOn, trust, workOnAll } from './take-up.ts';
import { workOn } from './work-on.ts';
import { createWorkQueue, type WorkQueue } from './work-queue.ts';

/** Holds what the server says and makes the cluster be so. */
export interface Keeper {
  holding(): Holding;
  told(): AgentHolding;
  readonly accept: ServerListener['delta'];
  /** Remembers what the fleet's policy says, for a start without a server. */
  remember(settings: AgentSettings): void;
  /** Compares live state with what is held, and works where they differ. */
  see(live: LiveState): void;
  workOnAll(): void;
  /**
   * The server has had its time to object: left-over removals go on (nothing is removed while it is away), and what was
   * found at the start without being known to be right becomes durable.
   */
  goOn(): void;
  serverIs(where: 'there' | 'away'): void;
  isPaused(): boolean;
  /** Is drift put back? Not before a server was heard, where it is not known for certain what should be there. */
  repairs(): boolean;
  driftPutBack(): DriftCounts;
  stop(): Promise<void>;
}

export function createKeeper(deps: KeeperDeps, { holding, trusted }: Recovered): Keeper {
  const durable = createDurable(deps, holding, trusted);
  const state: KeeperState = {
    deps,
    // Contents of what is gone are the disk's matter only.
    holding: { ...holding, contents: new Map([...holding.contents].filter(([key]) => holding.records.has(key))) },
    trusted,
    mayRemove: false,
    partings: 0,
    paused: false,
    live: undefined,
    passedOver: new Set(),
    seenGone: new Set(),
    awaited: createAwaited(),
    missed: true,
    drift: createDrift({ ...deps, queue: { isWaiting: (key) => queue.isWaiting(key) } }),
    health: createHealthTeller(deps),
    durable,
    entering: createEntering({
      ...deps,
      durable,
      holding: () => state.holding,
      become: (next) => {
        state.holding = next;
      },
    }),
    settings: undefined,
  };
  const queue: WorkQueue = createWorkQueue(deps, {
    rank: (key) => {
      const record = state.holding.records.get(key);
      return record === undefined ? undefined : workRank(record);
    },
    run: (key) => workOn(state, queue, key),
    idle: deps.idle,
  });
  return {
    holding: () => state.holding,
    told: () => toldHolding(state.holding),
    accept: (delta, fleet) => {
      const { partings } = state;
      return state.durable.serially(async () => {
        const answer = await accept(state, queue, delta, fleet, partings);
        // A server forgets what it knew of an object when it sends its removal.
        if (!answer.accepted) deps.results.tellAgain(delta.removals);
        return answer;
      });
    },
    remember: (settings) => remember(state, settings),
    see: (live) => see(state, queue, live),
    workOnAll: () => workOnAll(state, queue),
    goOn: () => goOn(state, queue),
    serverIs: (where) => {
      if (where === 'there') return trust(state, queue);
      state.mayRemove = false;
      state.partings += 1;
    },
    isPaused: () => state.paused,
    repairs: () => state.trusted,
    driftPutBack: state.drift.putBack,
    stop: async () => {
      state.health.stop();
      await queue.stop();
      state.entering.stop();
      await durable.settled();
    },
  };
}

function remember(state: KeeperState, settings: AgentSettings): void {
  const { durable, deps } = state;
  const isWaiting = state.settings !== undefined;
  state.settings = settings;
  if (isWaiting) return;
  void durable.serially(async () => {
    const newest = state.settings ?? settings;
    state.settings = undefined;
    const next = { ...state.holding.state, settings: newest };
    state.holding = { ...state.holding, state: next };
    // Should this fail, the next write takes it along.
    await durable.state(next).catch((error: unknown) => {
      deps.log.error('the settings could not be made durable', { error });
    });
  });
}
