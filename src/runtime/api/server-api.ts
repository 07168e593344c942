import type { Engine } from '../../engine/graph.ts';
import { rfc3339 } from '../../engine/status/conditions.ts';
import { revisionStatus } from '../../engine/status/revision.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Log } from '../../ports/log.ts';
import type { Answer, ClusterView, FleetView, ServerApi, StatusBranchView } from '../../server/api.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Loop } from '../loop.ts';
import type { HeldSets } from '../removals/held-sets.ts';
import type { Sessions } from '../sessions.ts';
import type { SourceTable } from '../source-table.ts';
import { explain } from './explain.ts';
import type { Locator } from './locator.ts';
import { clusterView, clusterViews, desiredViews, heldView, outputViews, sourceView } from './views.ts';

/** Answers what the commands ask. Reads settle the loop first, so that an answer never lags what was done before it. */
export function createServerApi(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly heldSets: HeldSets;
  readonly sessions: Sessions;
  readonly sources: SourceTable;
  readonly locator: Locator;
  /** The engine's diagnostics with lines, as worked out last. */
  readonly engineDiagnostics: () => readonly Diagnostic[];
  readonly fleet: string;
  readonly version: string;
  readonly ready: () => boolean;
  readonly statusBranch: () => StatusBranchView | null;
  readonly log: Log;
}): ServerApi {
  const { engine, heldSets, sources, log } = deps;
  const diagnostics = (): readonly Diagnostic[] => [...sources.diagnostics(), ...deps.engineDiagnostics()];
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
      sources: sources.all().map(sourceView),
      clusters: clusterViews(deps),
      heldRemovals: held(),
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
    sources: settled(() => sources.all().map(sourceView)),
    removals: settled(held),
    diagnostics,
    explain: (cluster, object) => {
      deps.loop.settle();
      return explain(deps, cluster, object);
    },
    approve: async (digest, by) => {
      const approved = heldSets.approve(digest, by);
      if (approved === undefined) return notHeld(digest, heldSets);
      log.info('removals are approved', { digest, by, released: approved.released });
      return { ok: true, value: { digest, released: approved.released, expiresAt: rfc3339(approved.expiresAt) } };
    },
    accept: async (name, revision, by) => {
      const state = sources.get(name);
      if (state === undefined) return { ok: false, kind: 'notFound', message: `there is no source ${name}` };
      if (!state.source.accept(revision)) {
        const waits = state.condition.refusedRevision;
        const message =
          waits === undefined ? `source ${name} has no refused revision` : `what waits in source ${name} is ${waits}`;
        return { ok: false, kind: 'conflict', message };
      }
      log.info('a refused revision is accepted', { source: name, revision, by });
      return { ok: true, value: sourceView(sources.get(name) ?? state) };
    },
    replaceCluster: async (cluster, by) => replaceCluster(deps, cluster, by),
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
 * Releases a name for a cluster with another id; a second time, for any. Nothing in any cluster changes: the old
 * cluster keeps its objects, and its agent is refused.
 */
function replaceCluster(
  deps: Pick<Parameters<typeof createServerApi>[0], 'engine' | 'ledger' | 'sessions' | 'log'>,
  cluster: string,
  by: string,
): Answer<ClusterView> {
  const { ledger, sessions, log } = deps;
  const registration = ledger.registration(cluster);
  const view = clusterView(deps, cluster);
  if (registration === undefined || view === undefined) {
    return { ok: false, kind: 'notFound', message: `no agent of a cluster ${cluster} has ever connected` };
  }
  ledger.setRegistration(cluster, registration.released ? null : { ...registration, released: true });
  sessions.get(cluster)?.session.close('refused', 'ClusterReplaced', 'the name was released for another cluster');
  log.info('a cluster name is released', { cluster, id: registration.id, by });
  return { ok: true, value: view };
}
