import type { Graph } from '../../engine/collections/types.ts';
import { countProgress, createEngine, type Engine } from '../../engine/graph.ts';
import { revisionStatus } from '../../engine/status/revision.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { FleetName } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import type { PolicyBounds } from '../../model/relay-config.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Source } from '../../ports/source.ts';
import type { RelayServer } from '../../relay/session.ts';
import { locatedDiagnostics } from '../../runtime/api/located-diagnostics.ts';
import { createLocator, type Locator } from '../../runtime/api/locator.ts';
import { createServerApi } from '../../runtime/api/server-api.ts';
import { createDeclarationKeeper } from '../../runtime/ledger/declaration-keeper.ts';
import { createHoldKeeper } from '../../runtime/ledger/hold-keeper.ts';
import { createJournal, type Journal } from '../../runtime/ledger/journal.ts';
import { createLedger, type Ledger } from '../../runtime/ledger/ledger.ts';
import { type LedgerRecords, readRecords } from '../../runtime/ledger/records.ts';
import { createLoop, type Loop } from '../../runtime/loop.ts';
import { createApprovals } from '../../runtime/removals/approvals.ts';
import { createHeldSets } from '../../runtime/removals/held-sets.ts';
import { createWindows } from '../../runtime/removals/windows.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import { createSourceTable, hasSpoken, type SourceTable } from '../../runtime/source-table.ts';
import { createStatusPublisher, type StatusPublisher, type StatusSink } from '../../runtime/status/status-publisher.ts';
import { createStatusRenderer } from '../../runtime/status/status-renderer.ts';
import type { ServerApi, StatusBranchView } from '../../server/api.ts';
import { createSender } from '../../sinks/agents/sender.ts';
import { createSettingsSender } from '../../sinks/agents/settings.ts';
import { createAgentSource } from '../../sources/agents/agents.ts';
import { type StatusOfCustomResources, wireCustomResourceStatus } from './custom-resource-status.ts';

/** The management server without its adapters. */
export interface ManagementServer {
  readonly api: ServerApi;
  readonly engine: Engine;
  readonly sources: SourceTable;
  /** Why it is not ready; empty if it is. */
  notReady(): readonly string[];
  /** Listens for agents and starts to follow the sources. */
  start(): Promise<{ readonly relay: { readonly host: string; readonly port: number } }>;
  /** Drains the relay, stops the sources and makes durable what is on its way to the store. */
  stop(): Promise<void>;
}

interface ServerDeps {
  readonly graph: Graph;
  readonly store: SnapshotStore;
  readonly sources: readonly Source[];
  readonly relay: RelayServer;
  readonly statusSink?: StatusSink;
  /** Custom resources among the sources whose status is written. */
  readonly customResources?: readonly StatusOfCustomResources[];
  readonly parseYaml: (text: string) => JsonValue;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each commit, for metrics. */
  readonly committed?: (seconds: number, computed: number) => void;
}

interface ServerOptions {
  readonly fleet: FleetName;
  readonly version: string;
  /** How far a repository may loosen what protects the fleet. */
  readonly bounds: PolicyBounds;
}

const FLUSH_MS = 5_000;
const DIAGNOSE_MS = 100;

/** Wires engine, ledger, sources, relay and status. Rejects if the store cannot be read. */
export async function createManagementServer(deps: ServerDeps, options: ServerOptions): Promise<ManagementServer> {
  const { clock, log, relay, store } = deps;
  const records = await readRecords(store, log);
  const journal = createJournal({ store, clock, log });
  const engine = createEngine(deps.graph);
  engine.inputs.fleet.set('', '', { bounds: options.bounds });
  const loop = createLoop({ commit: timedCommit(engine, deps), clock, log });
  const ledger = createLedger({ engine, journal, records, clock });
  if (ledger.wasLost) log.info('the store is new', { epoch: ledger.epoch() });
  const sources = createSourceTable({ ...deps, engine, loop, ledger });
  const parts = { engine, loop, ledger, journal, sources, clock, log };
  const relaying = wireAgents(parts, records, options.fleet);
  const locator = createLocator({ engine, sources });
  const diagnostics = followDiagnostics(parts, locator);
  const isSettled = settledAfterStart(parts);
  const status = wireStatus(parts, deps, locator, isSettled);
  const stopResourceStatus = wireCustomResourceStatus(parts, deps.customResources ?? [], isSettled);
  const notReady = (): readonly string[] => whyNotReady(sources, journal);

  return {
    api: createServerApi({
      ...parts,
      ...relaying,
      locator,
      engineDiagnostics: diagnostics,
      fleet: options.fleet,
      version: options.version,
      ready: () => notReady().length === 0,
      statusBranch: () => statusBranchView(status, deps.statusSink),
    }),
    engine,
    sources,
    notReady,
    start: async () => {
      const address = await relay.start(relaying.listener);
      sources.start();
      status?.start();
      return { relay: address };
    },
    stop: async () => {
      status?.stop();
      await stopResourceStatus();
      await relay.drain();
      await sources.stop();
      loop.settle();
      if (!(await journal.flush(FLUSH_MS))) log.warn('not everything could be written to the store');
    },
  };
}

interface Parts {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly sources: SourceTable;
  readonly clock: Clock;
  readonly log: Log;
}

function wireAgents(parts: Parts, records: LedgerRecords, fleet: FleetName) {
  const { engine, loop, journal, sources } = parts;
  const sessions: Sessions = new Map();
  const approvals = createApprovals({ ...parts, records });
  const windows = createWindows({ ...parts, records });
  const mayStart = (): boolean => sources.allHaveSpoken();
  const knowsAll = (): boolean => sources.allAreWhole();
  loop.addBookkeeper(createDeclarationKeeper(engine, journal));
  loop.addBookkeeper(createHoldKeeper(engine, journal, approvals));
  const sender = createSender({ ...parts, windows, sessions, mayStart, revisions: () => sources.revisions() });
  loop.addSink(() => windows.recount());
  const settings = createSettingsSender({ engine, sessions, knowsAll });
  loop.addSink(() => sender.run());
  loop.addSink(() => settings.run());
  loop.addSink(createFarewell(engine, sessions));
  const listener = createAgentSource({
    ...parts,
    fleet,
    approvals,
    sessions,
    mayStart,
    knowsAll,
    connected: (cluster, holding) => {
      sender.connected(cluster, holding);
      settings.connected(cluster);
    },
  });
  return { sessions, heldSets: createHeldSets({ ...parts, approvals }), listener };
}

/** Ends the session of a cluster that is not registered any more; what it holds stays as it is. */
function createFarewell(engine: Engine, sessions: Sessions): () => void {
  const clusters = engine.graph.watch(engine.clusters);
  return () => {
    for (const { key, after } of clusters.take()) {
      if (after !== undefined) continue;
      const message = `no KubernetesCluster ${key} is declared any more; what the cluster holds stays as it is`;
      sessions.get(key)?.session.close('refused', 'UnknownCluster', message);
    }
  };
}

/** True once every cluster that was known at the start is back, and nothing is under way there. */
function settledAfterStart({ engine, ledger, sources }: Parts): () => boolean {
  const known = [...ledger.registrations()].map(({ cluster }) => cluster);
  const isBack = (cluster: string): boolean =>
    engine.clusters.get('', cluster) === undefined ||
    (engine.inputs.agents.get('', cluster)?.connected === true && countProgress(engine, cluster).pending === 0);
  return () => sources.allHaveSpoken() && known.every(isBack);
}

function wireStatus(
  parts: Parts,
  deps: ServerDeps,
  locator: Locator,
  isSettled: () => boolean,
): StatusPublisher | undefined {
  if (deps.statusSink === undefined) return undefined;
  const { engine, loop, sources, clock, log } = parts;
  const renderer = createStatusRenderer({
    engine,
    sources,
    diagnosticsOf: (source) => locatedDiagnostics(engine, locator, source),
  });
  const publisher = createStatusPublisher({
    renderer,
    sink: deps.statusSink,
    summary: () => revisionStatus(engine).summary,
    policy: () => (engine.policy.get('', '')?.value ?? defaultFleetPolicy).status,
    isComplete: () => sources.all().every(({ admitted }) => admitted !== undefined),
    isSettled,
    parse: deps.parseYaml,
    clock,
    log,
  });
  loop.addSink(() => publisher.committed());
  return publisher;
}

function statusBranchView(
  publisher: StatusPublisher | undefined,
  sink: StatusSink | undefined,
): StatusBranchView | null {
  const condition = sink?.condition();
  if (condition === undefined) return null;
  const waiting = publisher?.waiting();
  return waiting === undefined || condition.state !== 'pending' ? condition : { ...condition, message: waiting };
}

/** Keeps the engine's diagnostics with their lines at hand; worked out anew, gathered, after commits. */
function followDiagnostics({ engine, loop, clock, log }: Parts, locator: Locator): () => readonly Diagnostic[] {
  let latest: readonly Diagnostic[] = [];
  let asks = 0;
  let scheduled = false;
  loop.addSink(() => {
    if (scheduled) return;
    scheduled = true;
    clock.schedule(DIAGNOSE_MS, () => {
      scheduled = false;
      const asked = ++asks;
      locatedDiagnostics(engine, locator).then(
        (diagnostics) => {
          // A slow answer never replaces a newer one.
          if (asked === asks) latest = diagnostics;
        },
        (error: unknown) => log.error('diagnostics cannot be worked out', { error: String(error) }),
      );
    });
  });
  return () => latest;
}

function whyNotReady(sources: SourceTable, journal: Journal): readonly string[] {
  const silent = sources.all().filter((state) => !hasSpoken(state));
  const trouble = journal.trouble();
  return [
    ...silent.map(({ source }) => `source ${source.name} has not been read yet`),
    ...(trouble === undefined ? [] : [`the store cannot be written: ${trouble}`]),
  ];
}

function timedCommit(engine: Engine, { clock, committed }: ServerDeps): () => void {
  return () => {
    const before = clock.monotonic();
    const { computed } = engine.commit();
    committed?.((clock.monotonic() - before) / 1000, computed);
  };
}
