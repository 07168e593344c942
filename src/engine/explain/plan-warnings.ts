import type { CompareVersions } from '../../model/field-diff.ts';
import { immutableChanges } from '../../model/immutable-fields.ts';
import { type JsonObject, objectOf } from '../../model/json.ts';
import { matchesLabels } from '../../model/label-selector.ts';
import { displayKey, labelsOf, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { PlanWarning } from '../../model/plan/plan.ts';
import type { Engine } from '../graph.ts';
import type { PlannedObject } from './plan.ts';

type Warning = Pick<PlanWarning, 'reason' | 'message'> & { readonly object: string };

/** What a reviewer should look at, each with all its clusters, in the order of the first one. */
export function warningsOf(
  engine: Engine,
  objects: readonly PlannedObject[],
  compare: CompareVersions,
): readonly PlanWarning[] {
  const found = new Map<string, Warning & { readonly clusters: string[] }>();
  const add = (cluster: string, warning: Warning): void => {
    const key = JSON.stringify(warning);
    const known = found.get(key);
    if (known === undefined) found.set(key, { ...warning, clusters: [cluster] });
    else known.clusters.push(cluster);
  };
  for (const planned of objects) {
    for (const warning of [...immutableWarnings(planned, compare), ...containerWarnings(planned)])
      add(planned.cluster, warning);
  }
  for (const [cluster, planned] of Map.groupBy(objects, (each) => each.cluster)) {
    for (const warning of lostPods(engine, cluster, planned)) add(cluster, warning);
  }
  return [...found.values()];
}

function immutableWarnings(
  { key, action, before, after }: PlannedObject,
  compare: CompareVersions,
): readonly Warning[] {
  if (action !== 'change' || before === undefined || after === undefined) return [];
  const fields = immutableChanges(objectRefOf(key), before, compare(before, after));
  if (fields.length === 0) return [];
  const message = `an API server may refuse to change ${fields.join(', ')}: give the object another name, or delete it first`;
  return [{ reason: 'ImmutableField', object: displayKey(key), message }];
}

function containerWarnings({ key, action }: PlannedObject): readonly Warning[] {
  if (action !== 'remove') return [];
  const { group, kind, name } = objectRefOf(key);
  const object = displayKey(key);
  if (group === '' && kind === 'Namespace') {
    const message = `with the Namespace ${name} goes all that lies in it, also what fleetrelay has not made`;
    return [{ reason: 'NamespaceRemoved', object, message }];
  }
  if (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition') {
    const message = `with the definition ${name} go all objects of its kind, also those that fleetrelay has not made`;
    return [{ reason: 'DefinitionRemoved', object, message }];
  }
  return [];
}

const POD_MAKERS = ['/Pod', 'apps/DaemonSet', 'apps/Deployment', 'apps/ReplicaSet', 'apps/StatefulSet', 'batch/Job'];

/** Services whose selector has selected declared Pods, and selects none any more. */
function lostPods(engine: Engine, cluster: string, planned: readonly PlannedObject[]): readonly Warning[] {
  const byKey = new Map(planned.map((each) => [each.key, each]));
  const touched = new Set(
    planned.filter(({ key }) => isService(key) || makesPods(key)).map(({ key }) => objectRefOf(key).namespace),
  );
  if (touched.size === 0) return [];
  const services: { readonly key: ObjectKey; readonly before: JsonObject; readonly after: JsonObject }[] = [];
  const pods: { readonly namespace: string; readonly before?: JsonObject; readonly after?: JsonObject }[] = [];
  const look = (key: ObjectKey, before: JsonObject | undefined, after: JsonObject | undefined): void => {
    const { namespace } = objectRefOf(key);
    if (!touched.has(namespace)) return;
    if (isService(key) && before !== undefined && after !== undefined) services.push({ key, before, after });
    if (makesPods(key)) pods.push({ namespace, ...(before && { before }), ...(after && { after }) });
  };
  for (const { key, value } of engine.outputs.entries(cluster)) {
    const change = byKey.get(key as ObjectKey);
    const now = value.type === 'object' ? value.value : undefined;
    if (change === undefined) look(key as ObjectKey, now, now);
    // What is held stays as it is.
    else look(change.key, change.before, change.action === 'hold' ? change.before : change.after);
  }
  for (const { key, before, after } of planned) {
    if (engine.outputs.get(cluster, key) === undefined) look(key, before, after);
  }
  return services.flatMap(({ key, before, after }): readonly Warning[] => {
    const { namespace } = objectRefOf(key);
    const there = pods.filter((each) => each.namespace === namespace);
    const had = there.some((each) => isSelected(before, each.before));
    if (!had || there.some((each) => isSelected(after, each.after))) return [];
    const message = 'its selector matches no declared Pod any more, so the Service will have no endpoints';
    return [{ reason: 'SelectsNoPod', object: displayKey(key), message }];
  });
}

function isService(key: ObjectKey): boolean {
  const { group, kind } = objectRefOf(key);
  return group === '' && kind === 'Service';
}

function makesPods(key: ObjectKey): boolean {
  const { group, kind } = objectRefOf(key);
  return POD_MAKERS.includes(`${group}/${kind}`);
}

function isSelected(service: JsonObject, maker: JsonObject | undefined): boolean {
  const selector = objectOf(objectOf(service.spec).selector);
  if (maker === undefined || Object.keys(selector).length === 0) return false;
  const pod = maker.kind === 'Pod' ? maker : objectOf(objectOf(maker.spec).template);
  return matchesLabels(
    { matchLabels: selector as Readonly<Record<string, string>>, matchExpressions: [] },
    labelsOf(pod),
  );
}
