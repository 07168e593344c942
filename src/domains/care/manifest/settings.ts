import type { FleetPolicySpec } from '../../../../generated/fleet-policy.js';
import { type FieldProblem, fieldError } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { parseGoDuration } from '../../../model/text/go-duration.ts';
import { given } from '../../../model/values/given.ts';
import { type CareSettings, careDefaults, type ExtensionHeartbeat } from '../model/settings.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 720 * 3_600_000;
const AT: FieldPath = ['spec', 'care'];

/** Reads `care`; the schema has checked the types of conditions. A second entry for a condition or an extension is an error. */
export function readCare({ care = {} }: FleetPolicySpec, problems: FieldProblem[]): CareSettings {
  const defaults = careDefaults;
  const duration = (name: DurationField, unset: number): number => {
    const text = care[name];
    return text === undefined ? unset : readDuration(text, [...AT, name], problems);
  };
  const stale = staleMillis(care, problems);
  return {
    syncPeriodMillis: duration('syncPeriod', defaults.syncPeriodMillis),
    conditionThresholds: readThresholds(care, problems) ?? defaults.conditionThresholds,
    ...given({ staleExtensionMillis: stale }),
    managedResourceProgressingMillis: duration(
      'managedResourceProgressingThreshold',
      defaults.managedResourceProgressingMillis,
    ),
    webhookRemediatorEnabled: care.webhookRemediatorEnabled ?? defaults.webhookRemediatorEnabled,
    webhookRemediatorDryRun: care.webhookRemediatorDryRun ?? defaults.webhookRemediatorDryRun,
    extensions: readExtensions(care, problems),
    retryMillis: duration('retryDuration', defaults.retryMillis),
    retryPeriodMillis: duration('retryPeriod', defaults.retryPeriodMillis),
    taskTimeoutMillis: duration('taskTimeout', defaults.taskTimeoutMillis),
    monitorPeriodMillis: duration('monitorPeriod', defaults.monitorPeriodMillis),
    stopFailed: care.stopFailed ?? defaults.stopFailed,
    monitoringEnabled: care.monitoringEnabled ?? defaults.monitoringEnabled,
    loggingEnabled: care.loggingEnabled ?? defaults.loggingEnabled,
  };
}

type Care = NonNullable<FleetPolicySpec['care']>;
type DurationField =
  | 'syncPeriod'
  | 'managedResourceProgressingThreshold'
  | 'retryDuration'
  | 'retryPeriod'
  | 'taskTimeout'
  | 'monitorPeriod';

/** Undefined: heartbeats are not judged. */
function staleMillis({ staleExtensionHealthChecks = {} }: Care, problems: FieldProblem[]): number | undefined {
  const { enabled = true, threshold } = staleExtensionHealthChecks;
  const path = [...AT, 'staleExtensionHealthChecks', 'threshold'];
  const millis = threshold === undefined ? careDefaults.staleExtensionMillis : readDuration(threshold, path, problems);
  return enabled ? millis : undefined;
}

function readThresholds({ conditionThresholds }: Care, problems: FieldProblem[]) {
  const listed = new Set<string>();
  return conditionThresholds?.map(({ type, duration }, index) => {
    const path = [...AT, 'conditionThresholds', index];
    if (listed.has(type)) {
      problems.push(fieldError('WrongValue', [...path, 'type'], `${type} has a threshold already: remove one of them`));
    }
    listed.add(type);
    return { type, millis: readDuration(duration, [...path, 'duration'], problems) };
  });
}

function readExtensions({ extensions = [] }: Care, problems: FieldProblem[]): readonly ExtensionHeartbeat[] {
  const listed = new Set<string>();
  for (const [index, { kind, type }] of extensions.entries()) {
    const name = `${kind} of type ${type}`;
    const path = [...AT, 'extensions', index];
    if (listed.has(name)) {
      problems.push(fieldError('WrongValue', path, `${name} has a namespace already: remove one of them`));
    }
    listed.add(name);
  }
  return extensions.map(({ kind, type, namespace }) => ({ kind, type, namespace }));
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
