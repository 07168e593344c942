import { type AgentReports, DRIFT_REPORT, madeReport, reportsOf } from '../model/agent/agent-report.ts';
import { type AgentSettings, NO_SETTINGS, settingsText } from '../model/agent/agent-settings.ts';
import type { StatusCounts } from '../model/fleet/conditions.ts';
import type { DriftRecord } from '../model/fleet/drift.ts';
import type { OutputPosition } from '../model/fleet/output.ts';
import { isStatusKey } from '../model/objects/object-key.ts';
import type { JsonValue } from '../model/text/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterApi, LiveState } from '../ports/cluster-api.ts';
import type { Log } from '../ports/log.ts';
import type { ConnectionState, RelayClient } from '../relay/session.ts';
import { type AgentParts, type CreateAgentPart, createAgentParts } from './agent-part.ts';
import { createDiscovery } from './discovery/discovery.ts';
import { createLiveNotes, createObserver, type Observer } from './observer.ts';
import { createDriftBook } from './reconciler/drift-book.ts';
import type { DriftCounts } from './reconciler/found-drift.ts';
import { fleetOf, toAgentHolding, toHoldingClaim } from './reconciler/inventory.ts';
import { createReconciler, type Reconciler } from './reconciler/reconciler.ts';
import { recover } from './reconciler/recovery.ts';
import type { ReconcilerDeps } from './reconciler/state.ts';
import { createResultBook, type ResultBook } from './result-book.ts';
import { within } from './within.ts';

export interface AgentDeps
  extends Omit<ReconcilerDeps, 'results' | 'drifts' | 'settings' | 'takenOver' | 'idle' | 'contentLost'> {
  readonly relay: RelayClient;
  /** Work beside the reconciliation of objects; absent: none. */
  readonly parts?: readonly CreateAgentPart[];
}

export interface AgentOptions {
  /** Called after another agent has taken the cluster over; this agent has stopped and does not start again. */
  readonly takenOver?: (error: Error) => void;
}

/** The state of an agent, for health and metrics. */
export interface AgentHealth {
  readonly connection: ConnectionState;
  readonly paused: boolean;
  readonly position: OutputPosition;
  /** Objects by their last result; `owned` counts the objects that should exist. */
  readonly objects: Readonly<Record<'owned' | 'applied' | 'failed' | 'conflict' | 'paused' | 'removing', number>>;
  /** The statuses of objects of others, by their last result. */
  readonly statuses: StatusCounts;
  /** Whether the last list of the cluster succeeded. */
  readonly clusterReadable: boolean;
  /** Whether drift is corrected. False until a server connects, where the stored output does not match the inventory. */
  readonly repairs: boolean;
  /** Diagnostics of the newest live state: unreadable files, duplicate objects. */
  readonly diagnostics: number;
  /** Drift that was corrected since the start. */
  readonly driftCorrections: DriftCounts;
  /** Objects whose drift is only reported now. */
  readonly driftLeft: DriftCounts;
}

/** Grace period after a connect in which the server may cancel pending removals. */
const REMOVAL_GRACE_MS = 1_000;
/** Contents that are lost within this time share one new link. */
const GATHER_LOSSES_MS = 10_000;

/** Longest wait for reports: longer than the time limit of a probe. */
const REPORTS_MS = 12_000;
/** Longest wait for the server to take the last report. */
const TAKEN_MS = 2_000;

interface Running {
  readonly reconciler: Reconciler;
  readonly observer: Observer;
}

export type Agent = ReturnType<typeof createAgent>;

/**
 * The agent of one cluster: applies the output snapshot and reports the input snapshot and results. It does nothing before
 * `start`. The caller closes the cluster and the disk.
 */
export function createAgent(deps: AgentDeps, options: AgentOptions = {}) {
  const { cluster, relay } = deps;
  const results = createResultBook((changed) => relay.report(changed));
  const settings = createSettings(cluster);
  const discovery = createDiscovery(relay, settings.current);
  const drifts = createDriftBook(deps, (records) => discovery.report('drift', driftReports(records)));
  const parts = createAgentParts(deps.parts ?? [], discovery.report);
  const notes = createLiveNotes(deps.log);
  const { contentLost, ...connection } = createConnection(deps, results);
  let running: Running | undefined;
  let isOver = false;
  const health = () => healthOf(connection.state(), running, results, notes.diagnostics());

  const outage = () => reportOutage(deps.clock, { running, parts, connection });
  return { start: () => parts.begin(start), stop, reportOutage: outage, health };

  /** Resolves when the inventory is loaded and connecting has begun. Rejects if the cluster cannot be read. */
  async function start(): Promise<void> {
    const loaded = await cluster.loadInventory();
    if (loaded.type === 'found') settings.take(loaded.state.settings ?? NO_SETTINGS);
    const live = await firstLook(cluster, parts, settings.current());
    notes.note(live);
    const recovered = await recover(deps, loaded, live);
    const idle = (): void => running?.observer.observeSoon();
    const shared = { results, drifts, settings: settings.current, takenOver, idle, contentLost };
    const reconciler = createReconciler({ ...deps, ...shared }, recovered);
    const { unreadable } = discovery;
    const observer = createObserver(deps, { observed: (next) => observed(reconciler, next), unreadable });
    running = { reconciler, observer };
    discovery.take(live, reconciler.inventory().records);
    relay.start({
      holding: () => toAgentHolding(reconciler.inventory()),
      claim: () => toHoldingClaim(reconciler.inventory()),
      fleet: () => fleetOf(reconciler.inventory()),
      kubernetesVersion: notes.kubernetesVersion,
      delta: reconciler.accept,
      settings: (next) => settingsReceived({ reconciler, observer }, next),
      inputAcknowledged: connection.inputTaken,
      connection: (state) => connection.changed(reconciler, state),
    });
    reconciler.start(live);
    parts.observe(live, settings.current());
    observer.start();
    // Changes before the watch began gave no hint.
    observer.observeSoon();
  }

  /** Passes a state on to each, also if the reconciler throws: the next state does not name these changes again. */
  function observed(reconciler: Reconciler, live: LiveState): void {
    notes.note(live);
    try {
      reconciler.observe(live);
    } finally {
      discovery.take(live, reconciler.inventory().records);
      parts.observe(live, settings.current());
    }
  }

  function settingsReceived({ reconciler, observer }: Running, next: AgentSettings): void {
    if (!settings.take(next)) return;
    deps.log.info('the policy of the fleet has new settings for agents');
    reconciler.takeSettings(next);
    observer.observeSoon();
    parts.configure(next);
  }

  function takenOver(error: Error): void {
    if (isOver) return;
    isOver = true;
    deps.log.error('another agent has taken this cluster over; this one stops', { error });
    void stop().then(() => options.takenOver?.(error));
  }

  /** Ends all work and leaves the cluster's objects as they are. Never rejects. */
  async function stop(): Promise<void> {
    connection.stop();
    running?.observer.stop();
    // In parallel: the reconciler stops starting work while the relay sends its last messages.
    await allEnded(deps.log, [running?.reconciler.stop(), parts.stop(), relay.stop()]);
  }
}

type Connection = Omit<ReturnType<typeof createConnection>, 'contentLost'>;

/** The connection to the server. After a connect results are reported again, and removals go on after a while. */
function createConnection({ clock, relay }: Pick<AgentDeps, 'clock' | 'relay'>, results: ResultBook) {
  let current: ConnectionState = { type: 'connecting' };
  let cancelGrace: (() => void) | undefined;
  let cancelReconnect: (() => void) | undefined;
  let input = Promise.withResolvers<void>();
  return {
    state: () => current,
    /** The server has taken an input. */
    inputTaken(): void {
      input.resolve();
      input = Promise.withResolvers();
    },
    /** Resolves when the server takes the next input. */
    nextInput: (): Promise<void> => input.promise,
    changed(reconciler: Reconciler, state: ConnectionState): void {
      if (state.type === current.type && state.type === 'connected') return;
      current = state;
      cancelGrace?.();
      if (state.type === 'connected') {
        reconciler.connected();
        results.reportAgain();
        cancelGrace = clock.schedule(REMOVAL_GRACE_MS, reconciler.continueRemovals);
      } else reconciler.disconnected();
    },
    /** The server sends lost contents again after a hello. */
    contentLost(): void {
      cancelReconnect ??= clock.schedule(GATHER_LOSSES_MS, () => {
        cancelReconnect = undefined;
        relay.reconnect();
      });
    },
    stop(): void {
      cancelGrace?.();
      cancelReconnect?.();
    },
  };
}

function driftReports(records: readonly DriftRecord[]): AgentReports {
  return reportsOf([madeReport(DRIFT_REPORT, { drifts: records as unknown as JsonValue })]);
}

/**
 * Called before `stop` if the Lease was not renewed. Tells the management server if the reason is that the API server does not answer.
 * No object is written any more. Resolves within 14 s.
 */
async function reportOutage(
  clock: Clock,
  { running, parts, connection }: { running: Running | undefined; parts: AgentParts; connection: Connection },
): Promise<void> {
  await running?.reconciler.stop();
  const taken = connection.nextInput();
  if (await parts.lastLook(REPORTS_MS)) await within(clock, TAKEN_MS, taken);
}

/** Resolves when all have ended: what one still has to write does not depend on the others. */
async function allEnded(log: Log, work: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  for (const end of await Promise.allSettled(work))
    if (end.status === 'rejected') log.error('a part of the agent has not ended well', { error: end.reason });
}

/** Lists the cluster while the reports are made. The first snapshot has both: the server would lose reports that it lacks. */
async function firstLook(cluster: ClusterApi, parts: AgentParts, settings: AgentSettings): Promise<LiveState> {
  parts.configure(settings, 0);
  const [live] = await Promise.all([cluster.list('complete'), parts.settled(REPORTS_MS)]);
  await parts.load(settings);
  return live;
}

/** The settings in force; none at first. `take` puts new ones in force, and returns false if they equal the old ones. */
function createSettings(cluster: ClusterApi) {
  let current = NO_SETTINGS;
  return {
    current: () => current,
    take(next: AgentSettings): boolean {
      if (settingsText(next) === settingsText(current)) return false;
      current = next;
      cluster.configure(next);
      return true;
    },
  };
}

function healthOf(
  connection: ConnectionState,
  running: Running | undefined,
  results: ResultBook,
  diagnostics: number,
): AgentHealth {
  const { applied, failed, conflict, paused, removing } = results.counts();
  const inventory = running?.reconciler.inventory();
  const owned = [...(inventory?.records.values() ?? [])].filter(
    ({ key, phase }) => phase === 'held' && !isStatusKey(key),
  ).length;
  return {
    connection,
    paused: running?.reconciler.isPaused() ?? false,
    position: inventory?.state.position ?? { epoch: 0, sequence: 0 },
    objects: { owned, applied, failed, conflict, paused, removing },
    statuses: results.statuses(),
    clusterReadable: running?.observer.isReadable() ?? false,
    repairs: running?.reconciler.repairs() ?? false,
    diagnostics,
    driftCorrections: running?.reconciler.driftCorrections() ?? { changed: 0, removed: 0 },
    driftLeft: running?.reconciler.driftLeft() ?? { changed: 0, removed: 0 },
  };
}
