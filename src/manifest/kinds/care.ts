import type { FleetPolicySpec } from '../../../generated/fleet-policy.js';
import type { CareSettings } from '../../model/desired.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { defaultFleetPolicy } from '../../model/fleet-policy.ts';
import { parseGoDuration } from '../../model/go-duration.ts';
import { type FieldProblem, fieldError } from '../problem.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 720 * 3_600_000;
const AT: FieldPath = ['spec', 'care'];

/** Reads `care`; the schema has checked the types of conditions. A later entry for a type is an error. */
export function readCare({ care = {} }: FleetPolicySpec, problems: FieldProblem[]): CareSettings {
  const { conditionThresholds, monitorPeriodMillis } = defaultFleetPolicy.care;
  const listed = new Set<string>();
  const thresholds = care.conditionThresholds?.map(({ type, duration }, index) => {
    const path = [...AT, 'conditionThresholds', index];
    if (listed.has(type)) {
      problems.push(fieldError('WrongValue', [...path, 'type'], `${type} has a threshold already: remove one of them`));
    }
    listed.add(type);
    return { type, millis: readDuration(duration, [...path, 'duration'], problems) };
  });
  const period = care.monitorPeriod;
  return {
    conditionThresholds: thresholds ?? conditionThresholds,
    monitorPeriodMillis:
      period === undefined ? monitorPeriodMillis : readDuration(period, [...AT, 'monitorPeriod'], problems),
  };
}

/** Milliseconds; with a problem the shortest duration. */
function readDuration(text: string, path: FieldPath, problems: FieldProblem[]): number {
  const read = parseGoDuration(text);
  const refused = read.ok
    ? read.value < SHORTEST_MS || read.value > LONGEST_MS
      ? 'is not between 1s and 720h'
      : undefined
    : read.problem;
  if (read.ok && refused === undefined) return read.value;
  problems.push(fieldError('WrongValue', path, `${JSON.stringify(text)} ${refused}`));
  return SHORTEST_MS;
}
