import type { Collection, Derived, Graph, Index, Reader } from '../../../engine/collections/types.ts';
import { type Deadline, hasPassed, OF_PROCESS } from '../../../engine/deadlines.ts';
import type { ClusterValue } from '../../../engine/fleet/clusters.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { Condition } from '../../../model/fleet/conditions.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import type { ShootCondition } from '../model/shoot.ts';
import { type BoundShoot, clustersOf } from './binding.ts';
import { careSettingsOf } from './settings.ts';
import type { ConditionFinding } from './thresholds.ts';
import { CHECK_ERROR } from './visibility.ts';

/** Owner of the deadlines of care. */
export const CARE = 'care';

/** Monitor periods without its agent after which a cluster is not known any more. */
const SILENT_PERIODS = 5;

/** A cluster of Shoots whose agent is away. */
export interface Absence {
  /** From then on the cluster is not known; whole seconds since 1970. */
  readonly until: number;
  /** Nothing of the cluster is here since this process began, as after the loss of the store: what was written holds until then. */
  readonly isUnseen: boolean;
}

interface Reads extends Pick<EngineInputs, 'agents' | 'safeStart'> {
  readonly byCluster: Index<BoundShoot>;
  readonly settings: Collection<JsonValue>;
  readonly clusters: Collection<ClusterValue>;
  readonly snapshots: Collection<unknown>;
}

/** Derives the clusters of Shoots whose agents are away. Partition empty, key the cluster. */
export function deriveAbsences(graph: Graph, reads: Reads) {
  const { byCluster, settings, agents, snapshots, safeStart, clusters } = reads;
  const absences: Derived<Absence> = graph.derive<ClusterValue, Absence>({
    name: 'absentClustersOfShoots',
    from: clusters,
    reads: [byCluster, settings, agents, snapshots, safeStart],
    compute: ({ key: cluster }, read, emit) => {
      if (read.count(byCluster, cluster) === 0) return;
      const { monitorPeriodMillis } = careSettingsOf(read, settings);
      const from = (millis: number): number => Math.ceil((millis + SILENT_PERIODS * monitorPeriodMillis) / 1000);
      const began = read.get(safeStart, '', '');
      const { connected, since } = read.get(agents, '', cluster) ?? { connected: false, since: 0 };
      const isUnseen = read.get(snapshots, '', cluster) === undefined;
      if (isUnseen && began !== undefined) emit('', cluster, { until: from(began * 1000), isUnseen });
      else if (!connected && since > 0) emit('', cluster, { until: from(since), isUnseen });
    },
  });
  const deadlines: Derived<Deadline> = graph.derive<Absence, Deadline>({
    name: 'deadlinesOfAbsences',
    from: absences,
    seesAll: true,
    compute: ({ key: cluster, value: { until, isUnseen } }, _read, emit) =>
      emit(ownerOf(isUnseen), keyOf(cluster), { at: until }),
  });
  return { absences, deadlines };
}

function ownerOf(isUnseen: boolean): string {
  return isUnseen ? OF_PROCESS : CARE;
}

function keyOf(cluster: string): string {
  return `silent/${cluster}`;
}

/** The clusters that a condition is judged by. The parts of a control plane are in the Seed alone. */
export function clustersOfCondition(type: ShootCondition, shoot: Pick<BoundShoot, 'cluster' | 'seed'>) {
  const isOfSeed = type === 'ControlPlaneHealthy' || type === 'ObservabilityComponentsHealthy';
  return isOfSeed && shoot.seed !== undefined ? [shoot.seed] : clustersOf(shoot);
}

/** What {@link absenceOf} reads. */
export interface AbsenceReads extends Pick<EngineInputs, 'elapsed'> {
  readonly absences: Derived<Absence>;
}

/**
 * How absent agents change a judgement that reads these clusters. `silent`: one has been away for too long, and the finding
 * says so. `unseen`: nothing of one is here yet, so that what was written holds. Undefined: nothing.
 */
export function absenceOf(
  read: Reader,
  clusters: readonly string[],
  { absences, elapsed }: AbsenceReads,
):
  | { readonly type: 'silent'; readonly finding: ConditionFinding; readonly isUnseen: boolean }
  | { readonly type: 'unseen' }
  | undefined {
  const away = clusters.flatMap((cluster) => {
    const absence = read.get(absences, '', cluster);
    return absence === undefined ? [] : [{ cluster, ...absence }];
  });
  const silent = away.find(({ cluster, until, isUnseen }) =>
    hasPassed(read, elapsed, ownerOf(isUnseen), keyOf(cluster), until),
  );
  if (silent === undefined) return away.some(({ isUnseen }) => isUnseen) ? { type: 'unseen' } : undefined;
  const message = `The agent of cluster ${silent.cluster} stopped sending heartbeats.`;
  const finding: ConditionFinding = { outcome: 'unknown', reason: 'StatusUnknown', message };
  return { type: 'silent', finding, isUnseen: silent.isUnseen };
}

/** Whether a cluster that is away was ever seen, by one of the conditions written last: else it is known why it was not judged. */
export function wasSeen({ isUnseen }: { readonly isUnseen: boolean }, written: Condition | undefined): boolean {
  return !isUnseen || (written !== undefined && written.reason !== CHECK_ERROR);
}
