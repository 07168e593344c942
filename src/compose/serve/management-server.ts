import type { StatusBranchView } from '../../api/server-api.ts';
import { decoders } from '../../domains/decoders.ts';
import type { Graph } from '../../engine/collections/types.ts';
import { createEngine, type Engine } from '../../engine/graph.ts';
import { MOST_LISTED } from '../../engine/status/listed.ts';
import { revisionStatus } from '../../engine/status/rollout.ts';
import { type LocateAll, locateHere } from '../../manifest/locate.ts';
import type { FleetPolicy } from '../../model/fleet/desired.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { defaultFleetPolicy } from '../../model/fleet/fleet-policy.ts';
import type { FleetName } from '../../model/fleet/ids.ts';
import { PART_RECORDS } from '../../model/fleet/input-parts.ts';
import type { PolicyBounds } from '../../model/fleet/relay-config.ts';
import { type ClusterSize, DEFAULT_QUOTAS } from '../../model/limits/quotas.ts';
import type { JsonValue } from '../../model/text/json.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Source } from '../../ports/source.ts';
import type { AgentListener, RelayServer } from '../../relay/session.ts';
import { createLocator, type Locator, locatedDiagnostics } from '../../runtime/api/locator.ts';
import { createServerApi } from '../../runtime/api/server-api.ts';
import { type Attempts, createAttempts } from '../../runtime/attempts.ts';
import { createEnrolmentAudit, enrolledAgainEvent } from '../../runtime/enrolment-audit.ts';
import type { History } from '../../runtime/history/history.ts';
import { createAssumedWarmRecovery } from '../../runtime/ledger/assumed-warm.ts';
import {
  createContenderRecorder,
  createDeclarationRecorder,
  createDeregistration,
  createHoldRecorder,
} from '../../runtime/ledger/recorders.ts';
import { type BeginSlice, createLoop } from '../../runtime/loop.ts';
import type { Arrange } from '../../runtime/phases.ts';
import { createRefusedAgents } from '../../runtime/refused-agents.ts';
import { createApprovalFiles } from '../../runtime/removals/approval-files.ts';
import { createHeldSets } from '../../runtime/removals/approvals.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import type { StoreLock } from '../../runtime/replica/store-lock.ts';
import { createSafeModeLog, createSafeStart } from '../../runtime/safe-mode.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import { createSingleFlight } from '../../runtime/single-flight.ts';
import { createSourceTable, type SourceTable } from '../../runtime/source-table.ts';
import type { StatusBranch } from '../../runtime/status/observed-statuses.ts';
import { createStatusPublisher, type StatusPublisher, type StatusSink } from '../../runtime/status/status-publisher.ts';
import { createStatusRenderer } from '../../runtime/status/status-renderer.ts';
import { createUnpublishedStatuses } from '../../runtime/status/unpublished-statuses.ts';
import { type Suspensions, withSuspensions } from '../../runtime/suspensions.ts';
import { createSender } from '../../sinks/agents/sender.ts';
import { createSettingsSender } from '../../sinks/agents/settings.ts';
import { createAgentSource } from '../../sources/agents/agents.ts';
import {
  apiOfReplica,
  countedWhileLeading,
  createLeading,
  leaderElsewhere,
  listenerOfReplica,
} from './among-replicas.ts';
import {
  type CustomResourceStatus,
  type StatusOfCustomResources,
  wireCustomResourceStatus,
} from './custom-resource-status.ts';
import { createDomainParts } from './domain-parts.ts';
import { createFigures } from './figures.ts';
import { createPlans, type PlanSetup } from './plans.ts';
import { settledAfterStart, whyNotReady } from './readiness.ts';
import type { Address, ServedDomain } from './server-part.ts';
import { createReplicaParts, type Foundation, layFoundation, type ReplicaSetup } from './wire-replica.ts';

export interface ServerDeps {
  readonly graph: Graph;
  /** In their order: each can read what the earlier ones derive. */
  readonly domains: readonly ServedDomain[];
  readonly store: SnapshotStore;
  readonly sources: readonly Source[];
  readonly relay: RelayServer;
  /** It is one of several servers of its fleet; the store is shared then. Absent: it is the only one. */
  readonly replicas?: ReplicaSetup;
  /** It is the only one, and has locked a store that others could use. */
  readonly lock?: StoreLock;
  readonly statusSink?: StatusSink;
  /** Custom resources among the sources whose status is written. */
  readonly customResources?: readonly StatusOfCustomResources[];
  readonly parseYaml: (text: string) => JsonValue;
  /** Finds lines in files of the sources; absent: in this thread. */
  readonly locate?: LocateAll;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: what agents change of others' objects is not noted. */
  readonly audit?: AuditLog;
  /** Called after each commit, for metrics. */
  readonly committed?: (seconds: number, computed: number) => void;
  /** Absent: the server makes neither plans nor recordings. */
  readonly plans?: PlanSetup;
  /** Absent: no pull request is planned. */
  readonly pullRequests?: { lead(leads: boolean): void };
  /** Where commits are cut into slices. Default: by time. */
  readonly beginSlice?: BeginSlice;
  /** How the recorders and sinks of one phase are arranged. Default: as they were added. */
  readonly arrange?: Arrange;
}

interface ServerOptions {
  readonly fleet: FleetName;
  readonly version: string;
  /** How far a repository may loosen what protects the fleet. */
  readonly bounds: PolicyBounds;
  /** Of each cluster; absent: the default. */
  readonly quotas?: ClusterSize;
  /** So many records of a large step of an input snapshot share a commit; absent: the default. */
  readonly partRecords?: number;
  /** Most bytes of one delta to a cluster; absent: the default. */
  readonly deltaBytes?: number;
}

const FLUSH_MS = 5_000;
const DIAGNOSE_MS = 100;

export type ManagementServer = Awaited<ReturnType<typeof createManagementServer>>;

/** Wires a management server without its adapters. Rejects if the store cannot be read. */
export async function createManagementServer(deps: ServerDeps, options: ServerOptions) {
  const { relay, replicas: setup } = deps;
  const engine = openEngine(deps, options);
  const loop = createLoop({ ...deps, engine });
  const branch = statusBranchOf(deps);
  const foundation = await layFoundation({ ...deps, engine, loop, lock: deps.lock }, setup, branch);
  const { suspensions } = foundation;
  const standing = createReplicaParts(foundation, suspensions, deps.sources, setup, options.version);
  const sources = createSourceTable({ ...deps, ...foundation, intake: standing.intake });
  const sessions: Sessions = new Map();
  const leading = createLeading();
  const replica = withSuspensions(standing.create(sources, sessions, leading.set), suspensions);
  const attempts = createAttempts(foundation);
  const parts: Parts = { ...foundation, attempts, sources, sessions, replica, suspensions };
  const ready = () => whyNotReady(parts).length === 0;
  const ofDomains = createDomainParts(deps, parts, ready);
  const isSettled = settledAfterStart(parts);
  const otherStatus = wireOtherStatus(parts, deps, branch, isSettled);
  const enrolledAgain = tellOfEnrolments(parts, deps.audit, otherStatus);
  const relaying = wireAgents(parts, { ...options, signer: relay.signer }, enrolledAgain);
  const locator = createLocator({ engine, sources, locate: deps.locate ?? locateHere(decoders) });
  const diagnostics = followDiagnostics(parts, locator);
  const status = wireStatus(parts, deps, branch, locator, isSettled);
  const unfollow = suspensions.follow(replica.leads);
  const api = createServerApi({
    ...options,
    ...parts,
    ...relaying,
    ...createPlans(parts, { ...options, ...deps, locator }),
    ...ofDomains,
    ...{ locator, signer: relay.signer, engineDiagnostics: diagnostics, fleet: options.fleet, ready },
    leadsElsewhere: () => leaderElsewhere(replica),
    statusBranch: () => statusBranchView(status, deps.statusSink),
  });

  loop.begin();
  return {
    api: setup === undefined ? api : apiOfReplica(api, replica),
    engine,
    sources,
    replica,
    /** For metrics. */
    figures: createFigures({ ...parts, ...relaying }),
    /** What the metrics of domains show, by their names. */
    samples: ofDomains.samples,
    /** Resolves, with a text for people, when the server cannot continue and is to be stopped. */
    over: foundation.over,
    /** Why it is not ready; empty: it is. */
    notReady: (): readonly string[] => whyNotReady(parts),
    /** Listens for agents, and for what domains listen for, and starts to follow the sources. Resolves with the addresses, by name. */
    start: async (): Promise<{ readonly relay: Address } & Readonly<Record<string, Address>>> => {
      await replica.start();
      const address = await relay.start(relaying.listener);
      const others = await ofDomains.start();
      sources.start(replica.lastAdmitted);
      leading.follow((leads) => {
        deps.statusSink?.lead?.(leads);
        if (leads) status?.start();
        else status?.stop();
        for (const part of [otherStatus, ofDomains, deps.pullRequests]) part?.lead(leads);
      });
      return { relay: address, ...others };
    },
    /** Drains the relay, stops the sources, and makes durable what waits to be written. */
    stop: async (): Promise<void> => {
      status?.stop();
      await Promise.all([otherStatus.stop(), attempts.stop()]);
      unfollow();
      foundation.deadlines.stop();
      await Promise.all([ofDomains.stop(), relay.drain(), relaying.refusedAgents.stop()]);
      await stopParts(parts);
    },
  };
}

/** Notes in the audit log, and as an Event, that a cluster has enrolled again. */
function tellOfEnrolments(
  parts: Parts,
  audit: AuditLog | undefined,
  otherStatus: CustomResourceStatus,
): AgentListener['enrolledAgain'] {
  const note = createEnrolmentAudit(parts, audit);
  return (request, serial) => {
    note(request, serial);
    otherStatus.event('KubernetesCluster', request.cluster, enrolledAgainEvent(serial));
  };
}

function openEngine({ graph, domains, replicas }: ServerDeps, options: ServerOptions): Engine {
  const engine = createEngine(
    graph,
    domains.map((domain) => domain.engine),
  );
  engine.inputs.fleet.set('', '', { ...options, role: replicas === undefined ? 'leader' : 'follower' });
  return engine;
}

/** Stops what has no peer any more. */
async function stopParts({ sources, loop, replica, journal, history, log }: Parts): Promise<void> {
  await sources.stop();
  loop.settle();
  await history.stop();
  await replica.stop();
  if (!(await journal.flush(FLUSH_MS))) log.warn('not everything could be written to the store');
  journal.stop();
}

interface Parts extends Foundation {
  readonly sources: SourceTable;
  readonly sessions: Sessions;
  readonly replica: Replica;
  readonly suspensions: Suspensions;
  readonly attempts: Attempts;
  readonly history: History;
}

function wireAgents(
  parts: Parts,
  options: ServerOptions & { readonly signer: string },
  enrolledAgain: AgentListener['enrolledAgain'],
) {
  const { fleet, signer, quotas = DEFAULT_QUOTAS, partRecords = PART_RECORDS, deltaBytes } = options;
  const { engine, loop, fleet: records, sessions, replica, approvals } = parts;
  const windows = countedWhileLeading(parts.windows, replica);
  const { mayStart, knowsAll } = replica;
  loop.addRecorder('judgements', createSafeStart(parts, mayStart));
  parts.deadlines.follow(replica);
  parts.observed.follow(replica);
  loop.addRecorder('contenders', createContenderRecorder(engine, records));
  const heldSets = createHeldSets(parts);
  loop.addRecorder('approvals', createApprovalFiles({ ...parts, heldSets }));
  loop.addRecorder('holds', createHoldRecorder(engine, records, approvals));
  loop.addRecorder('declarations', createDeclarationRecorder(engine, records));
  const recovery = createAssumedWarmRecovery(parts, parts.ledger, knowsAll);
  loop.addRecorder('deregistration', createDeregistration(parts, parts, recovery, knowsAll));
  loop.addRecorder('deregistration', () => recovery.extend());
  const sender = createSender({ ...parts, windows, signer, ...(deltaBytes && { deltaBytes }) });
  loop.addSink('windows', () => parts.windows.recount());
  loop.addSink('readers', createSafeModeLog(parts, mayStart));
  const settings = createSettingsSender(parts, knowsAll);
  const refusedAgents = createRefusedAgents(parts, replica);
  loop.addSink('deltas', () => sender.run());
  loop.addSink('deltas', () => settings.run());
  loop.addSink('deltas', endSessionsOfDeregistered(engine, sessions));
  const listener = createAgentSource({
    ...parts,
    ...{ fleet, quotas, partRecords, approvals, recovery, sessions, mayStart, knowsAll, enrolledAgain, refusedAgents },
    connected: (cluster, holding) => {
      parts.history.connected(cluster, holding);
      sender.connected(cluster, holding);
      settings.connected(cluster);
    },
  });
  return { sessions, heldSets, refusedAgents, listener: listenerOfReplica(listener, parts) };
}

/** Returns a function that ends the session of each cluster that is not registered any more. The cluster keeps its objects. */
function endSessionsOfDeregistered(engine: Engine, sessions: Sessions): () => void {
  const clusters = engine.graph.watch(engine.clusters);
  return () => {
    for (const { key, after } of clusters.take()) {
      if (after !== undefined) continue;
      const message = `no KubernetesCluster ${key} is declared any more; what the cluster holds stays as it is`;
      sessions.get(key)?.session.close('refused', 'UnknownCluster', message);
    }
  };
}

function statusBranchOf(deps: ServerDeps): StatusBranch | undefined {
  const { statusSink, parseYaml: parse } = deps;
  return statusSink && { parse, readAll: statusSink.readAll, customSources: customSourcesOf(deps) };
}

function customSourcesOf({ customResources = [] }: ServerDeps): ReadonlySet<string> {
  return new Set(customResources.map(({ source }) => source.name));
}

/** The status of custom resources, and of what is published nowhere. */
function wireOtherStatus(
  parts: Parts,
  deps: ServerDeps,
  branch: StatusBranch | undefined,
  isSettled: () => boolean,
): CustomResourceStatus {
  const unpublished = createUnpublishedStatuses({
    ...parts,
    hasBranch: branch !== undefined,
    customSources: customSourcesOf(deps),
    policy: () => statusPolicy(parts.engine),
    leads: parts.replica.leads,
    isSettled,
  });
  const { lead, event, stop } = wireCustomResourceStatus(parts, deps.customResources ?? [], isSettled);
  return {
    lead,
    event,
    stop: () => {
      unpublished.stop();
      return stop();
    },
  };
}

/** What the policy in force says about the status branch. */
function statusPolicy({ policy }: Engine): FleetPolicy['status'] {
  return (policy.get('', '')?.value ?? defaultFleetPolicy).status;
}

function wireStatus(
  parts: Parts,
  deps: ServerDeps,
  branch: StatusBranch | undefined,
  locator: Locator,
  isSettled: () => boolean,
): StatusPublisher | undefined {
  if (deps.statusSink === undefined || branch === undefined) return undefined;
  const { engine, loop, sources, clock, log } = parts;
  const renderer = createStatusRenderer({
    engine,
    sources,
    observed: parts.observed,
    customSources: branch.customSources,
    diagnosticsOf: (source) => locatedDiagnostics(engine, locator, source, MOST_LISTED),
    clock,
  });
  const publisher = createStatusPublisher({
    renderer,
    sink: deps.statusSink,
    summary: () => revisionStatus(engine).summary,
    policy: () => statusPolicy(engine),
    isComplete: () => sources.all().every(({ admitted }) => admitted !== undefined),
    isSettled,
    parse: deps.parseYaml,
    clock,
    log,
  });
  loop.addSink('readers', () => publisher.committed());
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

/** Returns the engine's diagnostics with their lines. They are computed again shortly after a commit. */
function followDiagnostics({ engine, loop, clock, log }: Parts, locator: Locator): () => readonly Diagnostic[] {
  let latest: readonly Diagnostic[] = [];
  const task = createSingleFlight({ clock, log }, 'computing diagnostics', async () => {
    await clock.sleep(DIAGNOSE_MS);
    latest = await locatedDiagnostics(engine, locator, undefined, MOST_LISTED);
    return false;
  });
  loop.addSink('readers', task.wake);
  return () => latest;
}
