import type { Engine } from '../../engine/graph.ts';
import { revisionStatus } from '../../engine/status/revision.ts';
import { safeModeStatus } from '../../engine/status/safe-mode.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { quote } from '../../model/ids.ts';
import { rfc3339 } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Answer, ClusterView, FleetView, ServerApi, SourceView, StatusBranchView } from '../../server/api.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Loop } from '../loop.ts';
import type { HeldSets } from '../removals/approvals.ts';
import type { Sessions } from '../sessions.ts';
import type { SourceState, SourceTable } from '../source-table.ts';
import { type Suspension, type SuspensionKind, type Suspensions, suspensionBy } from '../suspensions.ts';
import { explain } from './explain.ts';
import type { Locator } from './locator.ts';
import { clusterView, clusterViews, desiredViews, heldView, outputViews, sourceView, viewRows } from './views.ts';

interface ServerApiDeps {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly heldSets: HeldSets;
  readonly sessions: Sessions;
  readonly sources: SourceTable;
  readonly suspensions: Suspensions;
  readonly locator: Locator;
  /** The engine's diagnostics with lines, as worked out last. */
  readonly engineDiagnostics: () => readonly Diagnostic[];
  readonly fleet: string;
  readonly version: string;
  readonly ready: () => boolean;
  /** Undefined: this server leads. Otherwise where the one is that does, as far as is known. */
  readonly leadsElsewhere: () => { readonly leader: string | null } | undefined;
  readonly statusBranch: () => StatusBranchView | null;
  readonly clock: Clock;
  readonly log: Log;
}

/** Answers what the commands ask. Reads settle the loop first, so that an answer never lags what was done before it. */
export function createServerApi(deps: ServerApiDeps): ServerApi {
  const { engine, heldSets, sources, log } = deps;
  const diagnostics = (): readonly Diagnostic[] => [...sources.diagnostics(), ...deps.engineDiagnostics()];
  const viewOf = (state: SourceState): SourceView => sourceView(state, deps.suspensions);
  const held = (): FleetView['heldRemovals'] => heldView(heldSets.current());
  const settled =
    <Answered>(answer: () => Answered) =>
    (): Answered => {
      deps.loop.settle();
      return answer();
    };

  return {
    status: settled(() => ({
      fleet: deps.fleet,
      version: deps.version,
      ready: deps.ready(),
      summary: revisionStatus(engine).summary,
      sources: sources.all().map(viewOf),
      clusters: clusterViews(deps),
      heldRemovals: held(),
      safeMode: safeModeStatus(engine) ?? null,
      diagnostics: diagnostics(),
      statusBranch: deps.statusBranch(),
    })),
    clusters: settled(() => clusterViews(deps)),
    outputs: (cluster) => {
      deps.loop.settle();
      if (cluster !== undefined && engine.clusters.get('', cluster) === undefined) return undefined;
      const names = cluster === undefined ? clusterViews(deps).map(({ name }) => name) : [cluster];
      return names.flatMap((name) => outputViews(engine, name));
    },
    desired: (cluster) => {
      deps.loop.settle();
      return engine.clusters.get('', cluster) === undefined
        ? undefined
        : desiredViews(engine, cluster, { withSecrets: false });
    },
    sources: settled(() => sources.all().map(viewOf)),
    elsewhere: () => notLeader(deps),
    removals: settled(held),
    diagnostics,
    view: (name) => settled(() => viewRows(engine, name))(),
    explain: (question) => settled(() => explain(deps, question))(),
    ...suspending(deps, viewOf),
    approve: async (digest, by) => {
      const elsewhere = notLeader(deps);
      if (elsewhere !== undefined) return elsewhere;
      const approved = heldSets.approve(digest, by);
      if (approved === undefined) return notHeld(digest, heldSets);
      log.info('removals are approved', { digest, by, released: approved.released });
      return { ok: true, value: { digest, released: approved.released, expiresAt: rfc3339(approved.expiresAt) } };
    },
    accept: async (name, revision, by) => {
      const elsewhere = notLeader(deps);
      if (elsewhere !== undefined) return elsewhere;
      const state = sources.get(name);
      if (state === undefined) return { ok: false, kind: 'notFound', message: `there is no source ${name}` };
      if (!state.source.accept(revision)) {
        const waits = state.condition.refusedRevision;
        const message =
          waits === undefined ? `source ${name} has no refused revision` : `what waits in source ${name} is ${waits}`;
        return { ok: false, kind: 'conflict', message };
      }
      log.info('a refused revision is accepted', { source: name, revision, by });
      return { ok: true, value: viewOf(sources.get(name) ?? state) };
    },
    replaceCluster: async (cluster, by) => notLeader(deps) ?? replaceCluster(deps, cluster, by),
  };
}

/** What only the leader may do or knows, asked of another replica; undefined: this one leads. */
function notLeader({ leadsElsewhere }: ServerApiDeps): Answer<never> | undefined {
  const elsewhere = leadsElsewhere();
  if (elsewhere === undefined) return undefined;
  const where = elsewhere.leader === null ? 'no other is known to' : `ask ${elsewhere.leader}`;
  return { ok: false, kind: 'notLeader', message: `this replica does not lead; ${where}`, leader: elsewhere.leader };
}

function suspending(
  deps: ServerApiDeps,
  viewOf: (state: SourceState) => SourceView,
): Pick<ServerApi, 'suspendCluster' | 'resumeCluster' | 'suspendSource' | 'resumeSource'> {
  const { suspensions, sources, clock, log } = deps;
  const change = <View>(
    kind: SuspensionKind,
    name: string,
    by: string,
    suspension: Suspension | null,
    view: () => View | undefined,
  ): Answer<View> => {
    const elsewhere = notLeader(deps);
    if (elsewhere !== undefined) return elsewhere;
    deps.loop.settle();
    if (view() === undefined) return { ok: false, kind: 'notFound', message: `there is no ${kind} ${quote(name)}` };
    if (suspension === null && suspensions.get(kind, name) === undefined) {
      return { ok: false, kind: 'conflict', message: `the ${kind} ${name} is not suspended` };
    }
    suspensions.set(kind, name, suspension);
    log.info(suspension === null ? 'resumed' : 'suspended', { [kind]: name, by, reason: suspension?.reason });
    deps.loop.settle();
    const value = view();
    return value === undefined
      ? { ok: false, kind: 'notFound', message: `there is no ${kind} ${quote(name)}` }
      : { ok: true, value };
  };
  const clusterOf = (name: string) => (): ClusterView | undefined => clusterView(deps, name);
  const sourceOf = (name: string) => (): SourceView | undefined => {
    const state = sources.get(name);
    return state === undefined ? undefined : viewOf(state);
  };
  return {
    suspendCluster: async (name, by, reason) =>
      change('cluster', name, by, suspensionBy(clock, by, reason), clusterOf(name)),
    resumeCluster: async (name, by) => change('cluster', name, by, null, clusterOf(name)),
    suspendSource: async (name, by, reason) =>
      change('source', name, by, suspensionBy(clock, by, reason), sourceOf(name)),
    resumeSource: async (name, by) => change('source', name, by, null, sourceOf(name)),
  };
}

function notHeld(digest: string, heldSets: HeldSets): Answer<never> {
  const now = heldSets.current();
  const message =
    now === undefined
      ? 'no removal is held'
      : `no held removals have the digest ${digest.slice(0, 80)}; what is held now is ${now.digest}`;
  return { ok: false, kind: now === undefined ? 'notFound' : 'conflict', message };
}

/**
 * Releases a name for a cluster with another id; a second time gives it back to the one that had it. Nothing in any
 * cluster changes: the old cluster keeps its objects, and its agent is refused. The registration stays, for one that is
 * not there would be one that was lost.
 */
function replaceCluster(
  deps: Pick<ServerApiDeps, 'engine' | 'ledger' | 'sessions' | 'suspensions' | 'clock' | 'log'>,
  cluster: string,
  by: string,
): Answer<ClusterView> {
  const { ledger, sessions, clock, log } = deps;
  const registration = ledger.registration(cluster);
  const view = clusterView(deps, cluster);
  if (registration === undefined || view === undefined) {
    return { ok: false, kind: 'notFound', message: `no agent of a cluster ${cluster} has ever connected` };
  }
  const released = !registration.released;
  // Another replica that serves it loses it with this, and cannot note any more when its agent went.
  const gone = registration.connected ? { connected: false, since: clock.now() } : {};
  ledger.setRegistration(cluster, { ...registration, ...gone, released });
  sessions.get(cluster)?.session.close('refused', 'ClusterReplaced', 'the name was released for another cluster');
  const what = released ? 'a cluster name is released' : 'a cluster name is given back';
  log.info(what, { cluster, id: registration.id, by });
  return { ok: true, value: { ...view, released } };
}
