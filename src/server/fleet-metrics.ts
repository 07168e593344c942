import type { ClusterView } from './api.ts';
import { flag, type MetricSet } from './metric-set.ts';
import type { Scrape } from './scrape.ts';

/** What the API's status says: clusters, sources, guards, safe mode. */
export function fleetMetrics(set: MetricSet, scrape: () => Scrape): void {
  set.gauge('fleetrelay_ready', '1 if the server is ready.', [], () => [[{}, flag(scrape().fleet.ready)]]);
  clusterMetrics(set, scrape);
  guardMetrics(set, scrape);
  sourceMetrics(set, scrape);
}

function clusterMetrics(set: MetricSet, scrape: () => Scrape): void {
  const perCluster = (name: string, help: string, value: (cluster: ClusterView) => boolean): void =>
    set.gauge(name, help, ['cluster'], () =>
      scrape().fleet.clusters.map((cluster) => [{ cluster: cluster.name }, flag(value(cluster))]),
    );
  perCluster('fleetrelay_cluster_in_sync', '1 if the cluster holds what it should.', ({ inSync }) => inSync);
  perCluster(
    'fleetrelay_cluster_suspended',
    '1 if a person has suspended the cluster.',
    ({ suspended }) => suspended !== null,
  );
  perCluster(
    'fleetrelay_safe_mode_active',
    '1 if something stays as it is because this cluster cannot be seen.',
    ({ name }) => scrape().fleet.safeMode?.causes.some(({ cluster }) => cluster === name) === true,
  );
  set.gauge(
    'fleetrelay_cluster_objects',
    'Objects that a cluster should hold, by what became of them.',
    ['cluster', 'state'],
    () => scrape().fleet.clusters.flatMap(objectSamples),
  );
}

function objectSamples({ name, counts }: ClusterView): (readonly [{ cluster: string; state: string }, number])[] {
  const states = ['applied', 'failed', 'held', 'pending', 'unreachable'] as const;
  return states.map((state) => [{ cluster: name, state }, counts[state]]);
}

function guardMetrics(set: MetricSet, scrape: () => Scrape): void {
  set.gauge('fleetrelay_held_removals', 'Removals that wait for a person, by cluster.', ['cluster'], () => {
    const { fleet } = scrape();
    const held = new Map(fleet.clusters.map(({ name }) => [name, 0]));
    for (const { cluster } of fleet.heldRemovals.flatMap(({ removals }) => removals))
      held.set(cluster, (held.get(cluster) ?? 0) + 1);
    return [...held].map(([cluster, count]) => [{ cluster }, count]);
  });
  set.gauge('fleetrelay_held_removals_by_guard', 'Removals that wait for a person, by the guard.', ['guard'], () =>
    [...scrape().replica.heldByGuard].map(([guard, count]) => [{ guard }, count]),
  );
  set.total('fleetrelay_removals_approved_total', 'Removals that were released by an approval.', [], () => [
    [{}, scrape().replica.approvals.granted],
  ]);
  set.total('fleetrelay_approvals_used_total', 'Approved removals that have happened.', [], () => [
    [{}, scrape().replica.approvals.used],
  ]);
}

function sourceMetrics(set: MetricSet, scrape: () => Scrape): void {
  const states = ['pending', 'synced', 'failing', 'refused'] as const;
  set.gauge('fleetrelay_source_state', '1 for the state that a source is in.', ['source', 'state'], () =>
    scrape().fleet.sources.flatMap((source) =>
      states.map((state) => [{ source: source.name, state }, flag(source.state === state)] as const),
    ),
  );
  set.gauge('fleetrelay_source_partial', '1 if a file of the admitted revision cannot be read.', ['source'], () =>
    scrape().fleet.sources.map((source) => [{ source: source.name }, flag(source.partial)]),
  );
  set.gauge('fleetrelay_source_suspended', '1 if a person has suspended the source.', ['source'], () =>
    scrape().fleet.sources.map(({ name, suspended }) => [{ source: name }, flag(suspended !== null)]),
  );
  set.gauge('fleetrelay_status_branch_state', '1 for the state that the status branch is in.', ['state'], () => {
    const { statusBranch } = scrape().fleet;
    return statusBranch === null ? [] : states.map((state) => [{ state }, flag(statusBranch.state === state)]);
  });
  set.gauge('fleetrelay_diagnostics', 'Diagnostics about the desired state, by severity.', ['severity'], () =>
    (['error', 'warning'] as const).map((severity) => [
      { severity },
      scrape().fleet.diagnostics.filter((diagnostic) => diagnostic.severity === severity).length,
    ]),
  );
}
