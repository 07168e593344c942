import type { Collection, Derived, Entry, Graph, Index, Reader } from '../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { Want } from '../../../engine/placement/wants.ts';
import type { LiveObject, ObjectResult } from '../../../model/agent/agent.ts';
import { isWell } from '../../../model/objects/object-health/health.ts';
import { objectHealth } from '../../../model/objects/object-health/object-health.ts';
import { displayKey, labelsOf, type ObjectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { SHOOT_CONDITIONS, type ShootCondition } from '../model/shoot.ts';
import { type BoundShoot, clustersOf } from './binding.ts';
import { bounded } from './bounded-text.ts';
import type { FindingsByType } from './checks/check.ts';
import { EXTENSION_GROUP } from './extensions.ts';
import { CONDITION_LABEL, MANAGED_RESOURCE_KIND } from './objects/managed-resources.ts';
import type { ConditionFinding } from './thresholds.ts';

interface Reads extends Pick<EngineInputs, 'live' | 'results'> {
  readonly bindings: Derived<BoundShoot>;
  readonly documentWants: Derived<Want>;
}

/**
 * Derives the conditions that objects with a label feed: objects in the Shoot's cluster, or in its control plane namespace, that
 * are not well, and declared objects that fail to apply. Partition empty, key the Shoot's.
 */
export function deriveLabelledFindings(graph: Graph, { bindings, live, results, documentWants }: Reads) {
  const unhealthy = graph.index('unhealthyLabelledObjects', live, groupsOfLive);
  const { outputs, collections } = deriveOutputs(graph, documentWants, results);
  const ofOutputs = graph.index('unhealthyLabelledOutputs', outputs, ({ partition, key, value: { type } }) =>
    groupsOf(partition, key.slice(type.length + 1), type),
  );
  const findings: Derived<FindingsByType> = graph.derive<BoundShoot, FindingsByType>({
    name: 'labelledObjectsOfShoots',
    from: bindings,
    reads: [unhealthy, ofOutputs, results],
    scope: ({ value }) => clustersOf(value),
    compute: ({ key, value: shoot }, read, emit) => {
      if (shoot.isIgnored) return;
      const { cluster, seed, controlPlaneNamespace } = shoot;
      const places = [cluster, ...(seed === undefined ? [] : [`${seed}/${controlPlaneNamespace}`])];
      const found: Partial<Record<ShootCondition, ConditionFinding>> = {};
      for (const type of fedTypes(read, places, [unhealthy, ofOutputs])) {
        const output = firstOf(read, ofOutputs, places, type);
        const finding = output?.value.finding ?? findingOfLive(firstLive(read, { unhealthy, results }, places, type));
        if (finding !== undefined) found[type] = finding;
      }
      if (Object.keys(found).length > 0) emit('', key, found);
    },
  });
  return { findings, collections: [...collections, findings] };
}

/** Most Shoots have no such object: only then the types are looked at. */
function fedTypes(
  read: Reader,
  places: readonly string[],
  indexes: readonly Index<unknown>[],
): readonly ShootCondition[] {
  const isFed = places.flatMap((place) => indexes.map((index) => read.count(index, place) > 0));
  return isFed.includes(true) ? SHOOT_CONDITIONS : [];
}

function firstOf<Value>(
  read: Reader,
  index: Index<Value>,
  places: readonly string[],
  type: ShootCondition,
): Entry<Value> | undefined {
  return places.flatMap((place) => read.first(index, `${place} ${type}`, 1))[0];
}

/**
 * The first live object that is not well. What its agent says of an object that it has applied counts: it knows deadlines, and the
 * health checks of the policy.
 */
function firstLive(
  read: Reader,
  { unhealthy, results }: { readonly unhealthy: Index<LiveObject>; readonly results: Collection<ObjectResult> },
  places: readonly string[],
  type: ShootCondition,
): Entry<LiveObject> | undefined {
  return places
    .flatMap((place) => read.first(unhealthy, `${place} ${type}`, MOST_LOOKED_AT))
    .find(({ partition, key }) => {
      const health = read.get(results, partition, key)?.health;
      return health === undefined || !isWell(health);
    });
}

/** More objects of a place that their agents find well are not passed over. */
const MOST_LOOKED_AT = 20;

/** A place is a cluster, or a cluster and a namespace. A group is a place, or a place and a condition. */
function groupsOf(cluster: string, key: string, type: ShootCondition): readonly string[] {
  const { namespace } = objectRefOf(key as ObjectKey);
  const places = [cluster, ...(namespace === '' ? [] : [`${cluster}/${namespace}`])];
  return places.flatMap((place) => [place, `${place} ${type}`]);
}

function groupsOfLive({ partition: cluster, key, value: object }: Entry<LiveObject>): readonly string[] {
  if (isJudgedElsewhere(key) || !mentionsLabel(object)) return [];
  const { value } = object;
  const type = conditionFedBy(value);
  return type === undefined || isWell(objectHealth(value)) ? [] : groupsOf(cluster, key, type);
}

/** The condition that the label of an object names. */
function conditionFedBy(value: LiveObject['value']): ShootCondition | undefined {
  return SHOOT_CONDITIONS.find((type) => type === labelsOf(value)[CONDITION_LABEL]);
}

/** Kinds with rules of their own. */
function isJudgedElsewhere(key: string): boolean {
  return key.startsWith(`${MANAGED_RESOURCE_KIND}/`) || key.startsWith(`${EXTENSION_GROUP}/`);
}

/** False: an object does not have the label. Most objects are not parsed for that. */
function mentionsLabel({ content, text }: LiveObject): boolean {
  if (text !== undefined) return text.includes(CONDITION_LABEL);
  if (content === undefined) return true;
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).includes(CONDITION_LABEL);
}

function findingOfLive(entry: Entry<LiveObject> | undefined): ConditionFinding | undefined {
  if (entry === undefined) return undefined;
  const { message } = objectHealth(entry.value.value);
  return findingOf(entry.partition, entry.key as ObjectKey, `is unhealthy: ${message}`);
}

function findingOf(cluster: string, key: ObjectKey, what: string): ConditionFinding {
  const message = `${displayKey(key)} ${bounded(what)}`;
  return { outcome: 'failed', reason: 'ObjectUnhealthy', message, cause: { cluster, key } };
}

/** A declared object that is not well. */
interface UnhealthyOutput {
  readonly type: ShootCondition;
  readonly finding: ConditionFinding;
}

/**
 * The declared objects with the label that fail to apply, or that their agents have found not to work. Partition: the cluster.
 * Key: the condition and the object key.
 */
function deriveOutputs(graph: Graph, documentWants: Derived<Want>, results: Collection<ObjectResult>) {
  const labelled = graph.index('labelledWants', documentWants, ({ value: { key, value, digest, clusters } }) => {
    const type = isJudgedElsewhere(key) ? undefined : conditionFedBy(value);
    return type === undefined ? [] : clusters.map((cluster) => [type, cluster, digest, key].join(' '));
  });
  // Entries of the few labelled objects alone: a derivation from all wants would have a computation for each.
  const addresses = graph.counts('labelledOutputs', labelled);
  const outputs: Derived<UnhealthyOutput> = graph.derive<number, UnhealthyOutput>({
    name: 'unhealthyLabelledWants',
    from: addresses,
    reads: [results],
    compute: ({ key: address }, read, emit) => {
      const [, type = '', cluster = '', digest, key = ''] = /^(\S+) (\S+) (\S+) (.*)$/s.exec(address) ?? [];
      const result = read.get(results, cluster, key);
      const problem = result !== undefined && result.digest === digest ? problemOf(result) : undefined;
      const fed = SHOOT_CONDITIONS.find((each) => each === type);
      if (problem === undefined || fed === undefined) return;
      emit(cluster, `${type}/${key}`, { type: fed, finding: findingOf(cluster, key as ObjectKey, problem) });
    },
  });
  return { outputs, collections: [outputs] };
}

function problemOf({ state, message, health }: ObjectResult): string | undefined {
  if (state === 'failed' || state === 'conflict') return `fails to apply: ${message}`;
  const isUnhealthy = health !== undefined && !isWell(health) && health.state !== 'unknown';
  return state === 'applied' && isUnhealthy ? `is unhealthy: ${health.message}` : undefined;
}
