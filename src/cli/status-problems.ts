import type { ClusterView, FleetView, SourceView } from '../api/server-api.ts';
import { displayLocation } from '../model/fleet/diagnostic.ts';
import { counted } from '../model/text/messages.ts';
import { healthOfCluster, isOnlyDrifted, syncOfCluster } from './views.ts';

/** Why a fleet is not well. */
export interface Problem {
  /** `warning`: it waits for a person and nothing is broken. */
  readonly severity: 'error' | 'warning';
  /** "source main", "cluster east". */
  readonly where: string;
  /** A short sentence; the tables have the complete messages. */
  readonly what: string;
}

/** What is not well in a fleet, errors first; empty: it is well. */
export function problemsOf(fleet: FleetView): readonly Problem[] {
  const found = [
    ...serverProblems(fleet),
    ...fleet.sources.flatMap(sourceProblem),
    ...diagnosticProblems(fleet),
    ...fleet.clusters.flatMap(clusterProblem),
    ...fleet.heldRemovals.map(({ removals, digest }) =>
      warning('guard', `${counted(removals.length, 'removal')} held: fleetrelay approve ${digest.slice(0, 12)}`),
    ),
    ...(fleet.safeMode?.causes ?? []).map(({ cluster }) => warning(`cluster ${cluster}`, 'safe mode waits for it')),
  ];
  return found.toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));
}

function serverProblems({ ready, notReady = [], replica, endingCertificates = [] }: FleetView): readonly Problem[] {
  const why = notReady.length === 0 ? 'not ready' : `not ready: ${notReady.join('; ')}`;
  const problem = replica?.problem ?? '';
  return [
    ...(ready ? [] : [error('server', why)]),
    ...(problem === '' ? [] : [error('server', problem)]),
    ...endingCertificates.filter(({ over }) => over).map(({ message }) => error('server', message)),
  ];
}

function sourceProblem({ name, state, partial, suspended, message }: SourceView): readonly Problem[] {
  const where = `source ${name}`;
  const why = message === '' ? '' : `: ${message}`;
  const stopped = suspended === null ? [] : [warning(where, `suspended by ${suspended.by}`)];
  if (state === 'failing' || state === 'refused') return [error(where, `${state}${why}`), ...stopped];
  if (state === 'pending') return [warning(where, `not read yet${why}`), ...stopped];
  return partial ? [warning(where, 'has files that cannot be read, so it removes nothing'), ...stopped] : stopped;
}

function diagnosticProblems({ diagnostics }: FleetView): readonly Problem[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (first === undefined) return [];
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more below)`;
  return [error(first.at === undefined ? 'files' : displayLocation(first.at), `${first.message}${more}`)];
}

function clusterProblem(cluster: ClusterView): readonly Problem[] {
  const { name, counts, connected, connectionSince, asleep, message, suspended, conditions } = cluster;
  const where = `cluster ${name}`;
  const of = (count: number, word: string): string => `${count} of ${counts.targeted} ${word}`;
  if (suspended !== null) {
    // The suspension explains what is behind or held, and no failure. The message of the cluster begins with it.
    const progress = conditions.find(({ type }) => type === 'Ready')?.message ?? '';
    const failures = clusterProblem({ ...cluster, suspended: null, message: progress });
    return [...failures.filter(({ severity }) => severity === 'error'), warning(where, `suspended by ${suspended.by}`)];
  }
  const why = message === '' ? '' : `: ${message}`;
  const away =
    connectionSince === null ? 'its agent has never connected' : `its agent is away since ${connectionSince}`;
  if (asleep === undefined) {
    if (counts.failed > 0) return [error(where, `${of(counts.failed, 'failed')}${connected ? '' : `; ${away}`}${why}`)];
    if (!connected) return [error(where, away)];
    if (healthOfCluster(cluster) === 'not healthy') return [error(where, `not healthy${why}`)];
    if (!cluster.inSync && !isOnlyDrifted(cluster.conditions)) {
      return [warning(where, `${of(counts.applied, 'applied')}${why}`)];
    }
  }
  const advice = `fleetrelay get outputs --cluster ${name}`;
  const { total = 0, failed = 0 } = cluster.statuses ?? {};
  const besides = [
    ...(failed > 0 ? [warning(where, `statuses of objects of others: ${failed} of ${total} failed: ${advice}`)] : []),
    // A server of an earlier version counts none.
    ...(cluster.drifted > 0
      ? [warning(where, `${of(cluster.drifted, 'drifted')}, which is only reported: ${advice}`)]
      : []),
  ];
  if (counts.held === 0) return besides;
  const sync = syncOfCluster({ ...cluster, inSync: true });
  const still = sync === 'kept' ? 'kept: nothing changes in them' : sync;
  return [warning(where, `${of(counts.held, still)}${why}`), ...besides];
}

function error(where: string, what: string): Problem {
  return { severity: 'error', where, what };
}

function warning(where: string, what: string): Problem {
  return { severity: 'warning', where, what };
}
