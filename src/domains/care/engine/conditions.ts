import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import { type Deadline, hasPassed } from '../../../engine/deadlines.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import { withoutTimes } from '../../../model/fleet/conditions.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import type { ShootCondition } from '../model/shoot.ts';
import { type AbsenceReads, absenceOf, CARE, clustersOfCondition, wasSeen } from './absences.ts';
import type { BoundShoot } from './binding.ts';
import { careSettingsOf } from './settings.ts';
import { isAsleep, type Sleep } from './sleep.ts';
import { type ConditionFinding, type Judged, judgeCondition } from './thresholds.ts';
import { lastOperationOf } from './written-operation.ts';

interface Reads extends AbsenceReads, Pick<EngineInputs, 'observed'> {
  readonly bindings: Derived<BoundShoot>;
  readonly sleepers: Derived<Sleep>;
  readonly settings: Collection<JsonValue>;
}

/**
 * Derives the conditions of findings. Partition: type of the condition. Key: the Shoot's. A condition reads what was written
 * last. A finding does not hold for ever while the agent of its cluster is silent.
 */
export function deriveConditions(graph: Graph, findings: readonly Derived<ConditionFinding>[], reads: Reads) {
  const { bindings, sleepers, settings, observed, elapsed, absences } = reads;
  const conditions = graph.derive<ConditionFinding, Judged>({
    name: 'shootConditions',
    from: findings,
    reads: [bindings, sleepers, settings, observed, elapsed, absences],
    seesAll: true,
    compute: ({ partition: type, key, value: finding }, read, emit) => {
      const shoot = read.get(bindings, '', key);
      // Nothing reads the cluster of a Shoot that sleeps.
      const isJudged = shoot?.elected === undefined && !isAsleep(read, sleepers, key);
      const clusters = shoot !== undefined && isJudged ? clustersOfCondition(type as ShootCondition, shoot) : [];
      const absence = absenceOf(read, clusters, { absences, elapsed });
      const { thresholds } = careSettingsOf(read, settings);
      const status = read.get(observed, 'Shoot', key);
      const written = status?.conditions.find((condition) => condition.type === type);
      if (absence?.type === 'unseen' && written !== undefined) {
        emit(type, key, { condition: withoutTimes(written) });
        return;
      }
      const judged = judgeCondition(
        type,
        absence?.type === 'silent' && wasSeen(absence, written) ? absence.finding : finding,
        {
          written,
          operation: lastOperationOf(status),
          thresholdMillis: thresholds[type],
          hasPassed: (at) => hasPassed(read, elapsed, CARE, thresholdKey(type, key), at),
        },
      );
      emit(type, key, judged);
    },
  });
  const deadlines = graph.derive<Judged, Deadline>({
    name: 'deadlinesOfThresholds',
    from: conditions,
    seesAll: true,
    compute: ({ partition: type, key, value: { until } }, _read, emit) => {
      if (until !== undefined) emit(CARE, thresholdKey(type, key), { at: until });
    },
  });
  return { conditions, deadlines };
}

function thresholdKey(type: string, shoot: string): string {
  return `${type}/${shoot}`;
}
