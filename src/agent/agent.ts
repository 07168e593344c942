import { type AgentSettings, NO_SETTINGS } from '../model/agent-settings.ts';
import type { ObjectKey } from '../model/object-key.ts';
import type { OutputPosition } from '../model/output.ts';
import type { AgentDisk } from '../ports/agent-disk.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterApi, LiveState } from '../ports/cluster-api.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { ConnectionState, RelayClient } from '../relay/session.ts';
import { createDiscovery, type Discovery } from './discovery/discovery.ts';
import type { DriftCounts } from './keeper/drift.ts';
import { fleetOf } from './keeper/holding.ts';
import { createKeeper, type Keeper } from './keeper/keeper.ts';
import { recover } from './keeper/recover.ts';
import { createLookout, type Lookout } from './lookout.ts';
import { createResultBook, type ResultBook } from './result-book.ts';
import { createSettingsInForce } from './settings.ts';
import { createTroubles, type Troubles } from './troubles.ts';

export interface AgentDeps {
  readonly cluster: ClusterApi;
  readonly relay: RelayClient;
  readonly disk: AgentDisk;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface AgentOptions {
  /** Milliseconds between two looks at everything; hints come in between. Default 30 s. */
  readonly lookEveryMs?: number;
  /** Another agent has taken the cluster over; this one has stopped by itself, for good. */
  readonly takenOver?: (error: Error) => void;
}

/** How an agent is: for health and metrics. */
export interface AgentHealth {
  readonly connection: ConnectionState;
  readonly paused: boolean;
  readonly position: OutputPosition;
  /** Objects by their last result; `held` are all that are to be there. */
  readonly objects: Readonly<Record<'held' | 'applied' | 'failed' | 'conflict' | 'paused' | 'removing', number>>;
  /** The cluster could be looked at, at the last attempt. */
  readonly clusterReadable: boolean;
  /** Drift is put back. Not before a server was heard, where it is not known for certain what should be there. */
  readonly repairs: boolean;
  /** What is wrong in the cluster itself, by the newest look: files that cannot be read, objects that are there twice. */
  readonly troubles: number;
  /** How often something was put back that others had changed or removed, since the start. */
  readonly driftPutBack: DriftCounts;
}

/** The process in a cluster that makes it be what the server says, and tells what it is. */
export interface Agent {
  /** Resolves once it knows what it holds and has begun to connect. Rejects if the cluster cannot be read at all. */
  start(): Promise<void>;
  /** Ends what runs and leaves everything in the cluster as it is. */
  stop(): Promise<void>;
  health(): AgentHealth;
}

/** After a new connection, what the server may call off is waited for before left-over removals go on. */
const REMOVAL_GRACE_MS = 1_000;

interface Running {
  readonly keeper: Keeper;
  readonly lookout: Lookout;
}

/** Makes an agent; nothing happens before `start`. It does not close its cluster and disk. */
export function createAgent(deps: AgentDeps, options: AgentOptions = {}): Agent {
  const { cluster, relay } = deps;
  const results = createResultBook((changed) => relay.report(changed));
  const settings = createSettingsInForce(cluster);
  const discovery = createDiscovery(relay, settings.current);
  const troubles = createTroubles(deps.log);
  let connection: ConnectionState = { type: 'connecting' };
  let running: Running | undefined;
  let isOver = false;
  let cancelGrace: (() => void) | undefined;

  return { start, stop, health: () => ({ ...health(connection, running, results), troubles: troubles.count() }) };

  async function start(): Promise<void> {
    const inventory = await cluster.loadInventory();
    if (inventory.type === 'found') settings.take(inventory.state.settings ?? NO_SETTINGS);
    const live = await cluster.list('whole');
    troubles.note(live.diagnostics);
    const recovered = await recover(deps, inventory, live);
    const keeper = createKeeper({ ...deps, results, takenOver, idle: () => lookout.soon() }, recovered);
    const everyMs = options.lookEveryMs ?? 30_000;
    const lookout = createLookout(
      deps,
      { everyMs },
      { looked: (next) => looked({ troubles, keeper, discovery }, next), unreadable: discovery.unreadable },
    );
    running = { keeper, lookout };
    discovery.take(live, keeper.holding().records);
    relay.start({
      holding: keeper.told,
      fleet: () => fleetOf(keeper.holding()),
      delta: keeper.accept,
      settings: (said) => settingsChanged(keeper, lookout, said),
      inputAcknowledged: () => {},
      connection: (state) => connectionChanged(keeper, state),
    });
    keeper.see(live);
    keeper.workOnAll();
    lookout.start();
    // What changed before the watch began gave no hint.
    lookout.soon();
  }

  function settingsChanged(keeper: Keeper, lookout: Lookout, said: AgentSettings): void {
    if (!settings.take(said)) return;
    deps.log.info('the policy of the fleet has new settings for agents');
    keeper.remember(said);
    lookout.soon();
  }

  function takenOver(error: Error): void {
    if (isOver) return;
    isOver = true;
    deps.log.error('another agent has taken this cluster over; this one stops', { error });
    void stop().then(() => options.takenOver?.(error));
  }

  function connectionChanged(keeper: Keeper, state: ConnectionState): void {
    if (state.type === connection.type && state.type === 'connected') return;
    connection = state;
    cancelGrace?.();
    keeper.serverIs(state.type === 'connected' ? 'there' : 'away');
    if (state.type !== 'connected') return;
    results.tellAll();
    cancelGrace = deps.clock.schedule(REMOVAL_GRACE_MS, keeper.goOn);
  }

  async function stop(): Promise<void> {
    cancelGrace?.();
    running?.lookout.stop();
    // Together: nothing more is begun while the server is told.
    await Promise.all([running?.keeper.stop(), relay.stop()]);
  }
}

interface Onlookers {
  readonly troubles: Troubles;
  readonly keeper: Keeper;
  readonly discovery: Discovery;
}

/** Hands a state to each, also if another one fails over it: what changed in it is not said again. */
function looked({ troubles, keeper, discovery }: Onlookers, live: LiveState): void {
  troubles.note(live.diagnostics);
  try {
    keeper.see(live);
  } finally {
    discovery.take(live, keeper.holding().records);
  }
}

function health(
  connection: ConnectionState,
  running: Running | undefined,
  results: ResultBook,
): Omit<AgentHealth, 'troubles'> {
  const { applied, failed, conflict, paused, removing } = results.counts();
  const holding = running?.keeper.holding();
  const keys: readonly ObjectKey[] = [...(holding?.records.keys() ?? [])];
  const held = keys.filter((key) => holding?.records.get(key)?.phase === 'held').length;
  return {
    connection,
    paused: running?.keeper.isPaused() ?? false,
    position: holding?.state.position ?? { epoch: 0, sequence: 0 },
    objects: { held, applied, failed, conflict, paused, removing },
    clusterReadable: running?.lookout.readable() ?? false,
    repairs: running?.keeper.repairs() ?? false,
    driftPutBack: running?.keeper.driftPutBack() ?? { changed: 0, removed: 0 },
  };
}
