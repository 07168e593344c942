import type { Collection, Derived, Graph, Index } from '../../../../engine/collections/types.ts';
import { type Deadline, hasPassed } from '../../../../engine/deadlines.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { conditionOf } from '../../../../model/objects/object-health/health.ts';
import { labelsOf, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { formatGoDuration } from '../../../../model/text/go-duration.ts';
import { type JsonObject, type JsonValue, objectOf, textOf } from '../../../../model/text/json.ts';
import { parseRfc3339 } from '../../../../model/text/time.ts';
import { given } from '../../../../model/values/given.ts';
import type { ShootCondition } from '../../model/shoot.ts';
import { CARE } from '../absences.ts';
import { bounded } from '../bounded-text.ts';
import { careSettingsOf } from '../settings.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { generationsOf } from './generations.ts';

/** The kind of the objects by which Gardener's resource manager applies manifests. */
export const MANAGED_RESOURCE_KIND = 'resources.gardener.cloud/ManagedResource';

/** The label by which an object feeds a condition. */
export const CONDITION_LABEL = 'care.gardener.cloud/condition-type';

/** A ManagedResource that is not healthy, or will not be after a moment. */
interface Verdict {
  readonly feeds: readonly ShootCondition[];
  /** Absent: it is healthy until then. */
  readonly problem?: ConditionFinding;
  /** Whole seconds since 1970: from then on it is progressing for too long. */
  readonly until?: number;
}

interface Reads extends Pick<EngineInputs, 'live' | 'elapsed'> {
  readonly settings: Collection<JsonValue>;
}

/** {@link deriveManagedResources}. */
export interface ManagedResources {
  readonly collections: readonly Derived<unknown>[];
  /** Those with a problem, grouped by {@link managedResourceGroup}. */
  readonly unhealthy: Index<Verdict>;
  readonly deadlines: Derived<Deadline>;
}

/** Derives the verdicts on all ManagedResources. */
export function deriveManagedResources(graph: Graph, { live, elapsed, settings }: Reads): ManagedResources {
  const verdicts: Derived<Verdict> = graph.derive<LiveObject, Verdict>({
    name: 'judgedManagedResources',
    from: live,
    keys: (key) => key.startsWith(`${MANAGED_RESOURCE_KIND}/`),
    reads: [settings, elapsed],
    compute: ({ partition: cluster, key, value: { value } }, read, emit) => {
      const feeds = conditionsFedBy(value);
      if (feeds.length === 0) return;
      const { namespace, name } = objectRefOf(key as ObjectKey);
      const fault = faultOf(value, `${namespace}/${name}`);
      if (fault !== undefined) return emit(cluster, key, { feeds, problem: fault });
      const missing = incompleteness(value, name);
      const since = progressingSince(value);
      if (since === undefined) {
        // Nothing more is read: most ManagedResources are as they should be.
        if (missing !== undefined) emit(cluster, key, { feeds, problem: missing });
        return;
      }
      const { managedResourceProgressingMillis: most } = careSettingsOf(read, settings);
      const until = Math.ceil((since + most) / 1000);
      const isStuck = hasPassed(read, elapsed, CARE, deadlineKey(cluster, key), until);
      const problem = isStuck ? stuck(name, most) : missing;
      emit(cluster, key, { feeds, until, ...given({ problem }) });
    },
  });
  const unhealthy = graph.index('unhealthyManagedResources', verdicts, ({ partition: cluster, key, value }) => {
    if (value.problem === undefined) return [];
    const { namespace } = objectRefOf(key as ObjectKey);
    return [undefined, ...value.feeds].map((type) => managedResourceGroup(cluster, namespace, type));
  });
  const deadlines: Derived<Deadline> = graph.derive<Verdict, Deadline>({
    name: 'deadlinesOfManagedResources',
    from: verdicts,
    compute: ({ partition: cluster, key, value: { until } }, _read, emit) => {
      if (until !== undefined) emit(CARE, deadlineKey(cluster, key), { at: until });
    },
  });
  return { collections: [verdicts, deadlines], unhealthy, deadlines };
}

/** The group of the ManagedResources in a Namespace of a cluster that feed a condition; undefined: any. */
export function managedResourceGroup(cluster: string, namespace: string, type: ShootCondition | undefined): string {
  return `${cluster}/${namespace}/${type ?? ''}`;
}

function deadlineKey(cluster: string, key: string): string {
  return `managedResource/${cluster}/${key}`;
}

/** One without a class is for the Shoot's cluster, all others are for the Seed. */
function conditionsFedBy(value: JsonObject): readonly ShootCondition[] {
  const label = textOf(labelsOf(value)[CONDITION_LABEL]);
  const hasClass = typeof objectOf(value.spec).class === 'string';
  const fed: readonly (readonly [ShootCondition, boolean])[] = [
    ['ControlPlaneHealthy', hasClass && (label === '' || label === 'ControlPlaneHealthy')],
    ['ObservabilityComponentsHealthy', label === 'ObservabilityComponentsHealthy'],
    ['SystemComponentsHealthy', !hasClass || label === 'SystemComponentsHealthy'],
  ];
  return fed.flatMap(([type, isFed]) => (isFed ? [type] : []));
}

const [APPLIED, HEALTHY, PROGRESSING] = ['ResourcesApplied', 'ResourcesHealthy', 'ResourcesProgressing'] as const;

/** What counts before progress and missing conditions. Source of the rules: Gardener's CheckManagedResource. */
function faultOf(value: JsonObject, place: string): ConditionFinding | undefined {
  const status = objectOf(value.status);
  const applied = conditionOf(status, APPLIED);
  const generations = generationsOf(value);
  if (generations !== undefined && generations.observed !== generations.generation) {
    if (applied?.status === 'False' && applied.reason === 'ApplyFailed') return asReported(applied);
    const { observed, generation } = generations;
    const message = `observed generation of managed resource '${place}' outdated (${observed}/${generation})`;
    return { outcome: 'failed', reason: 'OutdatedStatus', message };
  }
  const bad = [applied, conditionOf(status, HEALTHY)].find(
    (one) => one?.status === 'False' || one?.status === 'Unknown',
  );
  return bad === undefined ? undefined : asReported(bad);
}

/** Since when a rollout is going on, in milliseconds since 1970; undefined: none is. */
function progressingSince(value: JsonObject): number | undefined {
  const progressing = conditionOf(objectOf(value.status), PROGRESSING);
  if (progressing?.status !== 'True' && progressing?.status !== 'Unknown') return undefined;
  return parseRfc3339(textOf(progressing.lastTransitionTime)) ?? 0;
}

function stuck(name: string, most: number): ConditionFinding {
  const message = `ManagedResource ${name} is progressing for more than ${formatGoDuration(most)}`;
  return { outcome: 'failed', reason: 'ProgressingRolloutStuck', message };
}

function incompleteness(value: JsonObject, name: string): ConditionFinding | undefined {
  const status = objectOf(value.status);
  const missing = [APPLIED, HEALTHY, PROGRESSING].filter((type) => conditionOf(status, type) === undefined);
  if (missing.length === 0) return undefined;
  const message = `ManagedResource ${name} is missing the following condition(s), [${missing.join(' ')}]`;
  return { outcome: 'failed', reason: 'MissingManagedResourceCondition', message };
}

/** The finding that a condition stands for. Gardener's ConditionBuilder gives the texts in place of empty ones. */
function asReported({ reason, message }: JsonObject): ConditionFinding {
  return {
    outcome: 'failed',
    reason: bounded(textOf(reason)) || 'Unspecified',
    message: bounded(textOf(message)) || 'No message given.',
  };
}
