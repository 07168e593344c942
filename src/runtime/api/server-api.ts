import type { OperationRequest } from '../../engine/care/operation/types.ts';
import { revisionStatus, safeModeStatus } from '../../engine/status/rollout.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { quote } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { rfc3339 } from '../../model/time.ts';
import type {
  Answer,
  ApprovalView,
  ClusterView,
  DeclaredDataplaneView,
  FleetView,
  ServerApi,
  SourceView,
  StatusBranchView,
  XdsAddressView,
} from '../../server/api.ts';
import { declaredDataplane } from '../dataplanes/declared.ts';
import type { History } from '../history/history.ts';
import type { OperationRequests, RequestOutcome } from '../operation-requests.ts';
import type { ServerParts } from '../parts.ts';
import type { Planner } from '../plans/planner.ts';
import type { KeyedHash } from '../recording/mask.ts';
import type { Recorder } from '../recording/recorder.ts';
import type { RefusedAgents } from '../refused-agents.ts';
import { countsApproval, type HeldSets } from '../removals/approvals.ts';
import type { SourceState } from '../source-table.ts';
import type { Suspension, SuspensionKind } from '../suspensions.ts';
import { explain } from './explain.ts';
import { historyOf } from './history.ts';
import { impactOfFile } from './impact.ts';
import type { Locator } from './locator.ts';
import {
  clusterView,
  clusterViews,
  desiredViews,
  heldView,
  outputViews,
  refusalView,
  sourceView,
  viewRows,
} from './views.ts';
import { whyNotIn } from './why-not.ts';

interface ServerApiDeps extends Omit<ServerParts, 'fleet'> {
  readonly heldSets: HeldSets;
  readonly operationRequests: Pick<OperationRequests, 'ask'>;
  readonly refusedAgents: Pick<RefusedAgents, 'of' | 'undeclared'>;
  readonly locator: Locator;
  readonly planner: Pick<Planner, 'plan'>;
  readonly recorder: Pick<Recorder, 'recording'>;
  /** Makes a keyed hash under a fresh key. */
  readonly keyedHash: () => KeyedHash;
  readonly history: Pick<History, 'read'>;
  /** The engine's latest diagnostics with lines. */
  readonly engineDiagnostics: () => readonly Diagnostic[];
  /** Identifies the key that makes tags now. */
  readonly signer: string;
  readonly fleet: string;
  readonly version: string;
  readonly ready: () => boolean;
  /** Undefined: this server leads. Otherwise the address of the leader, if it is known. */
  readonly leadsElsewhere: () => { readonly leader: string | null } | undefined;
  readonly statusBranch: () => StatusBranchView | null;
  /** Where Envoys connect; null: this server serves none. */
  readonly xds: () => XdsAddressView | null;
}

/**
 * Answers commands. A command is executed when all earlier changes are committed. An answer to a question contains them too,
 * unless their commit takes longer than a slice: then it shows the state before that commit.
 */
export function createServerApi(deps: ServerApiDeps): ServerApi {
  const { engine, heldSets, sources } = deps;
  const diagnostics = (): readonly Diagnostic[] => [...sources.diagnostics(), ...deps.engineDiagnostics()];
  const viewOf = (state: SourceState): SourceView => sourceView(state, deps.suspensions);
  const held = (): FleetView['heldRemovals'] => heldView(heldSets.current());
  const upToDate =
    <Args extends readonly unknown[], Answered>(answer: (...args: Args) => Answered) =>
    (...args: Args): Answered => {
      void deps.loop.settled();
      return answer(...args);
    };
  const asLeader =
    <Args extends readonly unknown[], View>(command: (...args: Args) => Answer<View> | Promise<Answer<View>>) =>
    async (...args: Args): Promise<Answer<View>> => {
      await deps.loop.settled();
      return notLeader(deps) ?? command(...args);
    };
  const ofClusters = suspensionCommands(deps, 'cluster', (name) => clusterView(deps, name));
  const ofSources = suspensionCommands(deps, 'source', (name) => {
    const state = sources.get(name);
    return state && viewOf(state);
  });
  const isKnown = (cluster: string): boolean => engine.clusters.get('', cluster) !== undefined;

  return {
    status: upToDate(() => ({
      fleet: deps.fleet,
      version: deps.version,
      ready: deps.ready(),
      summary: revisionStatus(engine).summary,
      sources: sources.all().map(viewOf),
      clusters: clusterViews(deps),
      ...undeclaredAgents(deps),
      heldRemovals: held(),
      safeMode: safeModeStatus(engine) ?? null,
      diagnostics: diagnostics(),
      statusBranch: deps.statusBranch(),
    })),
    clusters: upToDate(() => clusterViews(deps)),
    outputs: upToDate((cluster) => {
      if (cluster !== undefined && !isKnown(cluster)) return undefined;
      const names = cluster === undefined ? clusterViews(deps).map(({ name }) => name) : [cluster];
      return names.flatMap((name) => outputViews(engine, name));
    }),
    desired: upToDate((cluster) =>
      isKnown(cluster) ? desiredViews(engine, cluster, { withSecrets: false }) : undefined,
    ),
    sources: upToDate(() => sources.all().map(viewOf)),
    elsewhere: () => notLeader(deps),
    removals: upToDate(held),
    diagnostics,
    view: upToDate((name, filter) => viewRows(engine, name, filter)),
    dataplane: upToDate((mesh, name) => dataplaneView(deps, mesh, name)),
    plan: async (source, ref, signal) => notLeader(deps) ?? deps.planner.plan(source, ref, signal),
    recording: () => deps.recorder.recording(deps.keyedHash()),
    explain: upToDate((question) => explain(deps, question)),
    whyNot: upToDate((question) => whyNotIn(deps, question)),
    impact: upToDate((question) => impactOfFile(deps, question)),
    history: upToDate((question) => historyOf(deps, question)),
    suspendCluster: asLeader(ofClusters.suspend),
    resumeCluster: asLeader(ofClusters.resume),
    suspendSource: asLeader(ofSources.suspend),
    resumeSource: asLeader(ofSources.resume),
    approve: asLeader((digest, by) => approve(deps, digest, by)),
    accept: asLeader((name, revision, by) => accept(deps, name, revision, by)),
    replaceCluster: asLeader((cluster, by) => replaceCluster(deps, cluster, by)),
    operateShoot: asLeader((namespace, name, request, by) => operateShoot(deps, { namespace, name }, request, by)),
  };
}

function undeclaredAgents({ refusedAgents }: ServerApiDeps): Pick<FleetView, 'undeclaredAgents'> {
  const undeclared = refusedAgents.undeclared().flatMap((cluster) => {
    const refusal = refusedAgents.of(cluster);
    return refusal === undefined ? [] : [[cluster, refusalView(refusal)] as const];
  });
  return undeclared.length === 0 ? {} : { undeclaredAgents: Object.fromEntries(undeclared) };
}

function dataplaneView(
  { engine, ready, xds }: ServerApiDeps,
  mesh: string,
  name: string,
): Answer<DeclaredDataplaneView> {
  // Before the sources are read, a missing declaration means nothing.
  if (!ready()) return { ok: false, kind: 'unavailable', message: 'the server is not ready yet' };
  const declared = declaredDataplane(engine, `${mesh}/${name}`);
  if (declared !== undefined) return { ok: true, value: { mesh, name, spec: declared.spec, xds: xds() } };
  return { ok: false, kind: 'notFound', message: `no data plane ${quote(`${mesh}/${name}`)} is declared` };
}

/** The refusal of a command that only the leader may execute; undefined: this replica leads. */
function notLeader({ leadsElsewhere }: ServerApiDeps): Answer<never> | undefined {
  const elsewhere = leadsElsewhere();
  if (elsewhere === undefined) return undefined;
  const where = elsewhere.leader === null ? 'no other is known to' : `ask ${elsewhere.leader}`;
  return { ok: false, kind: 'notLeader', message: `this replica does not lead; ${where}`, leader: elsewhere.leader };
}

function suspensionCommands<View>(
  { suspensions, loop, clock, log }: ServerApiDeps,
  kind: SuspensionKind,
  viewOf: (name: string) => View | undefined,
) {
  const change = async (name: string, by: string, suspension: Suspension | null): Promise<Answer<View>> => {
    const unknown = { ok: false, kind: 'notFound', message: `there is no ${kind} ${quote(name)}` } as const;
    if (viewOf(name) === undefined) return unknown;
    if (suspension === null && suspensions.get(kind, name) === undefined) {
      return { ok: false, kind: 'conflict', message: `the ${kind} ${name} is not suspended` };
    }
    suspensions.set(kind, name, suspension);
    log.info(suspension === null ? 'resumed' : 'suspended', { [kind]: name, by, reason: suspension?.reason });
    await loop.settled();
    const value = viewOf(name);
    return value === undefined ? unknown : { ok: true, value };
  };
  return {
    suspend: (name: string, by: string, reason: string) => change(name, by, { by, at: clock.now(), reason }),
    resume: (name: string, by: string) => change(name, by, null),
  };
}

async function approve(
  { engine, heldSets, log }: ServerApiDeps,
  digest: string,
  by: string,
): Promise<Answer<ApprovalView>> {
  if (!countsApproval(engine, 'api')) {
    const message =
      'the RelayConfig lets no command approve removals (bounds.approvals): commit a RemovalApproval instead';
    return { ok: false, kind: 'conflict', message };
  }
  const approved = await heldSets.approve(digest, by);
  if (approved !== undefined) {
    log.info('removals are approved', { digest, by, released: approved.released });
    return { ok: true, value: { digest, released: approved.released, expiresAt: rfc3339(approved.expiresAt) } };
  }
  const now = heldSets.current();
  if (now === undefined) return { ok: false, kind: 'notFound', message: 'no removal is held' };
  const message = `no held removals have the digest ${digest.slice(0, 80)}; what is held now is ${now.digest}`;
  return { ok: false, kind: 'conflict', message };
}

async function operateShoot(
  { operationRequests, engine, loop }: ServerApiDeps,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  request: OperationRequest,
  by: string,
): Promise<Answer<JsonObject>> {
  const shoot = `${namespace}/${name}`;
  const refusal = REFUSED_REQUESTS[operationRequests.ask(shoot, request, by)];
  if (refusal !== undefined) return { ok: false, kind: refusal.kind, message: refusal.message(shoot) };
  await loop.settled();
  const rows = viewRows(engine, 'shoots', {});
  if (!rows.ok) return rows;
  const row = rows.value.find((each) => each.namespace === namespace && each.name === name);
  return { ok: true, value: row ?? { namespace, name } };
}

const REFUSED_REQUESTS: Readonly<
  Record<
    RequestOutcome,
    { readonly kind: 'notFound' | 'conflict'; readonly message: (shoot: string) => string } | undefined
  >
> = {
  taken: undefined,
  unknown: { kind: 'notFound', message: (shoot) => `no source declares a Shoot ${quote(shoot)}` },
  uncared: { kind: 'conflict', message: (shoot) => `Shoot ${shoot} is not in the care of this server` },
  new: { kind: 'conflict', message: (shoot) => `Shoot ${shoot} has no operation yet` },
  asleep: { kind: 'conflict', message: (shoot) => `the cluster of Shoot ${shoot} is hibernated` },
  notFailed: {
    kind: 'conflict',
    message: (shoot) =>
      `the last operation of Shoot ${shoot} has not failed; begin one with: fleetrelay shoot reconcile ${shoot}`,
  },
  retryOnly: {
    kind: 'conflict',
    message: (shoot) =>
      `the last operation of Shoot ${shoot} has failed; try it again with: fleetrelay shoot retry ${shoot}`,
  },
};

/** Admits a refused revision of a source. */
function accept(
  { sources, suspensions, log }: ServerApiDeps,
  name: string,
  revision: string,
  by: string,
): Answer<SourceView> {
  const state = sources.get(name);
  if (state === undefined) return { ok: false, kind: 'notFound', message: `there is no source ${name}` };
  if (!state.source.accept(revision)) {
    const { reason, refusedRevision: waits, message: why } = state.condition;
    const isTooLarge = reason === 'TooLarge' && waits === revision;
    const message = isTooLarge
      ? `a revision above a limit cannot be accepted: ${why}`
      : waits === undefined
        ? `source ${name} has no refused revision`
        : `what waits in source ${name} is ${waits}`;
    return { ok: false, kind: 'conflict', message };
  }
  log.info('a refused revision is accepted', { source: name, revision, by });
  return { ok: true, value: sourceView(sources.get(name) ?? state, suspensions) };
}

/**
 * Releases a name for a cluster with another id; a second call gives it back to the former cluster. Nothing in any
 * cluster changes: the former cluster keeps its objects, and its agent is refused. The registration stays, because a missing
 * one counts as lost.
 */
function replaceCluster(deps: ServerApiDeps, cluster: string, by: string): Answer<ClusterView> {
  const { ledger, sessions, clock, log } = deps;
  const registration = ledger.registration(cluster);
  const view = clusterView(deps, cluster);
  if (registration === undefined || view === undefined) {
    return { ok: false, kind: 'notFound', message: `no agent of a cluster ${cluster} has ever connected` };
  }
  const released = !registration.released;
  // This takes the cluster from a replica that serves it, which then cannot record the disconnect.
  const gone = registration.connected ? { connected: false, since: clock.now() } : {};
  ledger.setRegistration(cluster, { ...registration, ...gone, released });
  sessions.get(cluster)?.session.close('refused', 'ClusterReplaced', 'the name was released for another cluster');
  const what = released ? 'a cluster name is released' : 'a cluster name is given back';
  log.info(what, { cluster, id: registration.id, by });
  return { ok: true, value: { ...view, released } };
}
