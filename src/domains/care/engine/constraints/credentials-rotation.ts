import type { Derived, Graph, Reader } from '../../../../engine/collections/types.ts';
import type { Deadline } from '../../../../engine/deadlines.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import { type JsonObject, objectOf, textOf } from '../../../../model/text/json.ts';
import { parseRfc3339 } from '../../../../model/text/time.ts';
import { type CredentialsRotation, rotationOutlook } from '../../model/credentials-rotation.ts';
import type { Shoot } from '../../model/shoot.ts';
import { CARE } from '../absences.ts';
import { ROTATING } from '../binding.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type ClusterReads, notChecked } from '../visibility.ts';

/** The type of the constraint. */
export const ROTATION_POSSIBLE = 'AutomaticCredentialsRotationPossible';

/** The most schedules of a Shoot that are judged. */
const MOST_SCHEDULES = 100;

/** The rotation of a Shoot that rotates its key by itself. Partition empty, key the Shoot's. */
export interface Rotation {
  /** Whole seconds since 1970: the next moment at which the finding may change, or the last one. */
  readonly at: number;
  /** Absent: the rotation is possible, or not required yet. */
  readonly finding?: ConditionFinding;
}

interface Reads extends Pick<EngineInputs, 'elapsed' | 'observed'>, Pick<ClusterReads, 'agents'> {
  readonly shoots: Derived<Shoot>;
}

/**
 * Derives whether the key that encrypts the etcd of a Shoot can be rotated by itself when it is too old. Without a time of
 * creation the age of a key that was never rotated is not known, and nothing is derived. Source: Gardener's constraints.
 */
export function deriveCredentialsRotations(graph: Graph, reads: Reads) {
  const { shoots, agents, elapsed, observed } = reads;
  const rotations: Derived<Rotation> = graph.derive<Shoot, Rotation>({
    name: 'credentialsRotations',
    from: shoots,
    partition: ROTATING,
    reads: [agents, elapsed, observed],
    seesAll: true,
    compute: ({ key, value: { credentialsRotation: wanted, cluster, isIgnored } }, read, emit) => {
      if (wanted === undefined || isIgnored) return;
      const fields = read.get(observed, 'Shoot', key)?.fields ?? {};
      const rotatedAt = lastRotation(fields) ?? wanted.createdAt;
      if (rotatedAt === undefined) return;
      const overdueAt = Math.floor((rotatedAt + wanted.periodMillis) / 1000) + 1;
      const passed = latestMoment(read, reads, cluster, key);
      emit('', key, passed < overdueAt ? { at: overdueAt } : overdue(wanted, fields, Math.max(passed, overdueAt)));
    },
  });
  const deadlines: Derived<Deadline> = graph.derive<Rotation, Deadline>({
    name: 'deadlinesOfRotations',
    from: rotations,
    seesAll: true,
    compute: ({ key, value: { at } }, _read, emit) => emit(CARE, deadlineKey(key), { at }),
  });
  return { rotations, deadlines };
}

function lastRotation({ credentials }: JsonObject): number | undefined {
  const { etcdEncryptionKey } = objectOf(objectOf(credentials).rotation);
  return parseRfc3339(textOf(objectOf(etcdEncryptionKey).lastCompletionTime));
}

/**
 * A moment that is known to have passed, in whole seconds since 1970: the last deadline, or when the agent of the cluster connected
 * or disconnected. So a Shoot whose key has been too old for years is not judged at each event of these years.
 */
function latestMoment(read: Reader, { agents, elapsed }: Reads, cluster: string, key: string): number {
  const since = Math.floor((read.get(agents, '', cluster)?.since ?? 0) / 1000);
  return Math.max(read.get(elapsed, CARE, deadlineKey(key)) ?? 0, since);
}

function overdue(wanted: CredentialsRotation, fields: JsonObject, now: number): Rotation {
  const count = wanted.schedules.length;
  if (count > MOST_SCHEDULES) {
    const message = `spec.hibernation has ${count} schedules, and at most ${MOST_SCHEDULES} are judged`;
    return { at: now, finding: notChecked(message) };
  }
  const { isPrevented, until } = rotationOutlook(wanted, fields.hibernated === true, now * 1000);
  return {
    at: until === undefined ? now : Math.ceil(until / 1000),
    ...(isPrevented ? { finding: PREVENTED } : {}),
  };
}

function deadlineKey(shoot: string): string {
  return `rotation/${shoot}`;
}

const PREVENTED: ConditionFinding = {
  outcome: 'failed',
  reason: 'MaintenanceWindowDuringHibernation',
  message:
    'The key that encrypts etcd is older than its rotation period, but the Shoot sleeps in its next maintenance, so that the key is not rotated by itself: change the maintenance window or the hibernation schedules so that the Shoot is awake then',
};
