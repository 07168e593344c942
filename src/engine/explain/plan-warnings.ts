import type { FleetPolicy } from '../../model/fleet/desired.ts';
import { defaultFleetPolicy } from '../../model/fleet/fleet-policy.ts';
import { AUTOSCALER_KIND, autoscaledBy } from '../../model/objects/autoscalers.ts';
import { type FieldNames, ignoredFields } from '../../model/objects/ignored-fields.ts';
import { matchesLabels } from '../../model/objects/label-selector.ts';
import { NOT_REMOVABLE, WHY_LASTING } from '../../model/objects/lasting-objects.ts';
import {
  displayKey,
  isStatusKey,
  labelsOf,
  type ObjectKey,
  type ObjectRef,
  objectRefOf,
} from '../../model/objects/object-key.ts';
import {
  REPLACE,
  replacementOf,
  type UpdateOutlook,
  updateOutlook,
} from '../../model/objects/updates/update-outlook.ts';
import type { PlanWarning } from '../../model/plan/plan.ts';
import { shownValue } from '../../model/plan/plan-text.ts';
import type { CompareVersions, FieldChange } from '../../model/text/field-diff.ts';
import { parseFieldPath } from '../../model/text/field-path.ts';
import { type JsonObject, objectOf } from '../../model/text/json.ts';
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
  const outlookOf = createOutlooks(compare);
  const { drift } = engine.policy.get('', '')?.value ?? defaultFleetPolicy;
  // An API server keeps a status, and its end removes nothing.
  const byCluster = Map.groupBy(
    objects.filter(({ key }) => !isStatusKey(key)),
    (each) => each.cluster,
  );
  for (const [cluster, planned] of byCluster) {
    const judging: Judging = {
      outlookOf,
      compare,
      isAutoscaled: createAutoscaledTest(engine, cluster, planned),
      drift,
    };
    // A directory takes manifests as they are written.
    const hasApiServer = engine.inputs.agents.get('', cluster)?.kindsAsWritten !== true;
    for (const each of planned) {
      const updates = hasApiServer ? updateWarnings(each, judging) : [];
      for (const warning of [...updates, ...removalWarnings(each)]) add(cluster, warning);
    }
  }
  for (const [cluster, planned] of byCluster) {
    for (const warning of lostPods(engine, cluster, planned)) add(cluster, warning);
  }
  return [...found.values()];
}

/** What updates of objects of one cluster are judged by. */
interface Judging {
  readonly outlookOf: OutlookOf;
  readonly compare: CompareVersions;
  readonly isAutoscaled: (key: ObjectKey) => boolean;
  readonly drift: FleetPolicy['drift'];
}

/** What an API server does with a change beside what the manifest says. */
function updateWarnings(
  { key, action, before, after }: PlannedObject,
  { outlookOf, compare, isAutoscaled, drift }: Judging,
): readonly Warning[] {
  if (action !== 'change' || before === undefined || after === undefined) return [];
  const ref = objectRefOf(key);
  const object = displayKey(key);
  const { kept, restored, ...outlook } = outlookOf(ref, before, after);
  const changes = compare(before, after);
  // The clusters' autoscalers are looked for only if that matters.
  const isScaled = changes.some(({ path }) => path === 'spec.replicas') && isAutoscaled(key);
  const left = createLeftTest(ignoredFields({ key, value: after }, drift, isScaled));
  // What is left to others is never sent.
  const refused = outlook.refused.filter((path) => !left(path));
  return [
    ...(refused.length === 0 ? [] : [refusal(replacementOf(key, after), ref.kind, object, refused.join(', '))]),
    ...changes
      .filter(({ path }) => left(path))
      .map(({ path }): Warning => {
        const message = `${path} stays as it is in the cluster: an autoscaler, an annotation or the FleetPolicy leaves it to others`;
        return { reason: 'FieldKept', object, message };
      }),
    ...kept
      .filter(({ path }) => !left(path))
      .map(({ path, value }): Warning => {
        const message = `${path} stays ${shownValue(value)}: an API server keeps it although the manifest leaves it out`;
        return { reason: 'FieldKept', object, message };
      }),
    ...restored
      .filter(({ path }) => !left(path))
      .map(({ path, value }): Warning => {
        const message = `${path} becomes ${shownValue(value)}, its default, since the manifest leaves it out`;
        return { reason: 'DefaultRestored', object, message };
      }),
  ];
}

/** Tests whether a field keeps its live value, because others own it by agreement. */
function createLeftTest(ignored: readonly FieldNames[]): (path: string) => boolean {
  return (path) => {
    if (ignored.length === 0) return false;
    const names = parseFieldPath(path);
    if (!names.ok) return false;
    const plain = names.value.filter((step) => typeof step === 'string');
    return ignored.some((field) => field.every((name, index) => name === plain[index]));
  };
}

function refusal(replacement: ReturnType<typeof replacementOf>, kind: string, object: string, fields: string): Warning {
  const may = `an API server may refuse to change ${fields}`;
  switch (replacement) {
    case 'replaces': {
      const message = `${may}: then the object is deleted and made anew, since its manifest has the annotation ${REPLACE}: "true"`;
      return { reason: 'ReplacedObject', object, message };
    }
    case 'never': {
      const message = `${may}, and a ${kind} is never replaced, since all that is in it would go: give the object another name`;
      return { reason: 'ImmutableField', object, message };
    }
    case 'lasts': {
      const message = `${may}, and the object is never replaced: ${WHY_LASTING}`;
      return { reason: 'ImmutableField', object, message };
    }
    case 'asks': {
      const way = `or set the annotation ${REPLACE}: "true" to have it deleted and made anew`;
      return { reason: 'ImmutableField', object, message: `${may}: give the object another name, ${way}` };
    }
  }
}

type OutlookOf = (ref: ObjectRef, before: JsonObject, after: JsonObject) => UpdateOutlook;

/** Each pair of versions is judged once: clusters share contents. */
function createOutlooks(compare: CompareVersions): OutlookOf {
  const known = new Map<readonly FieldChange[], UpdateOutlook>();
  return (ref, before, after) => {
    const changes = compare(before, after);
    const outlook = known.get(changes) ?? updateOutlook(ref, before, after, changes);
    known.set(changes, outlook);
    return outlook;
  };
}

/**
 * Tests whether an autoscaler sets the replicas of an object when the object is applied: one that the cluster will have, or one that goes,
 * since removals come last. The cluster is looked through at the first test.
 */
function createAutoscaledTest(
  engine: Engine,
  cluster: string,
  planned: readonly PlannedObject[],
): (key: ObjectKey) => boolean {
  let targets: ReadonlySet<ObjectKey> | undefined;
  return (key) => {
    targets ??= new Set(autoscaledIn(engine, cluster, planned));
    return targets.has(key);
  };
}

function* autoscaledIn(engine: Engine, cluster: string, planned: readonly PlannedObject[]): Generator<ObjectKey> {
  const isAutoscaler = (key: string): key is ObjectKey => key.startsWith(`${AUTOSCALER_KIND}/`);
  for (const { key, action, before, after } of planned) {
    const goes = before !== undefined && after === undefined && action !== 'cancel';
    const target = goes && isAutoscaler(key) ? autoscaledBy(key, before) : undefined;
    if (target !== undefined) yield target;
  }
  for (const { key, value } of engine.outputs.entries(cluster)) {
    const target = isAutoscaler(key) && value.type === 'object' ? autoscaledBy(key, value.value) : undefined;
    if (target !== undefined) yield target;
  }
  for (const { key, value } of engine.inputs.live.entries(cluster)) {
    if (!isAutoscaler(key)) continue;
    const output = engine.outputs.get(cluster, key)?.type;
    // The output counts, unless the object stays as it is, now or until the others are applied.
    if (output === 'object' || output === 'removing') continue;
    const target = autoscaledBy(key, value.value);
    if (target !== undefined) yield target;
  }
}

function removalWarnings({ key, action, stays }: PlannedObject): readonly Warning[] {
  if (stays !== undefined) return [{ reason: NOT_REMOVABLE, object: displayKey(key), message: stays.message }];
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
