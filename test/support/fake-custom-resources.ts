import { type ObjectKey, objectKey, objectRefOf, refOfObject } from '../../src/model/objects/object-key.ts';
import { isJsonObject, type JsonObject, jsonEquals, objectOf } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import type { CustomResource, CustomResourceKindState, CustomResources } from '../../src/ports/custom-resources.ts';
import type { ResourceEvent, ResourceStatus } from '../../src/ports/resource-status.ts';

/** The custom resources of a cluster in memory, and their status. */
export interface FakeCustomResources {
  readonly resources: CustomResources;
  readonly status: ResourceStatus;
  /** Creates or changes an object, as `kubectl apply` would. */
  apply(object: JsonObject): CustomResource;
  remove(key: string): void;
  kind(kind: string, state: CustomResourceKindState['state'], message?: string): void;
  get(key: string): CustomResource | undefined;
  /** Another manager writes a status. */
  putStatus(key: string, status: JsonObject): void;
  readonly writes: readonly { readonly key: string; readonly status: JsonObject }[];
  /** Objects whose metadata was written, in order. */
  readonly marks: readonly string[];
  readonly events: (ResourceEvent & { readonly key: string })[];
  /** The answer to the next writes of an object, until it is deleted. */
  readonly answers: Map<string, Awaited<ReturnType<ResourceStatus['write']>>>;
  stopped: boolean;
}

export const engineKinds = [
  'admin.gloo.solo.io/KubernetesCluster',
  'fleetrelay.dev/Placement',
  'fleetrelay.dev/FleetPolicy',
];

/** Creates it: every kind is listed, and empty. */
export function createFakeCustomResources(kinds: readonly string[] = engineKinds): FakeCustomResources {
  const states = new Map<string, CustomResourceKindState>(
    kinds.map((kind) => [kind, { kind, state: 'complete', message: '' }]),
  );
  const objects = new Map<ObjectKey, CustomResource>();
  const writes: { key: string; status: JsonObject }[] = [];
  const marks: string[] = [];
  const events: (ResourceEvent & { key: string })[] = [];
  /** Types of conditions that were written here, by object. */
  const said = new Map<ObjectKey, ReadonlySet<string>>();
  /** Fields that the last write here had, by object. */
  const fields = new Map<ObjectKey, readonly string[]>();
  const answers: FakeCustomResources['answers'] = new Map();
  let version = 0;
  let changed: (key?: ObjectKey) => void = () => undefined;

  const put = (resource: CustomResource): CustomResource => {
    objects.set(resource.key, resource);
    changed(resource.key);
    return resource;
  };
  const fake: FakeCustomResources = {
    resources: {
      start: (listener) => {
        changed = listener;
        changed();
      },
      state: () => ({ kinds: [...states.values()], objects }),
      stop: async () => {
        fake.stopped = true;
      },
    },
    status: {
      write: async ({ key, uid }, status) => {
        const answer = answers.get(key);
        if (answer !== undefined) return answer;
        const resource = objects.get(key);
        if (resource?.uid !== uid) return { type: 'gone' };
        writes.push({ key, status });
        const kept = Object.entries(resource.status ?? {}).filter(
          ([field]) => fields.get(key)?.includes(field) !== true,
        );
        const before = { ...Object.fromEntries(kept), conditions: resource.status?.conditions };
        const after = merged(before, status, said.get(key) ?? new Set());
        fields.set(key, Object.keys(status));
        said.set(key, new Set(Object.keys(conditionsIn(status))));
        const resourceVersion = String(++version);
        put({ ...resource, resourceVersion, status: after });
        return { type: 'written', resourceVersion };
      },
      mark: async ({ key, uid }, { labels, removeAnnotations }) => {
        const resource = objects.get(key);
        if (resource?.uid !== uid) return { type: 'gone' };
        const metadata = objectOf(resource.value.metadata);
        const annotations = Object.entries(objectOf(metadata.annotations)).filter(
          ([name, value]) => removeAnnotations[name] !== value,
        );
        const value = {
          ...resource.value,
          metadata: {
            ...metadata,
            labels: { ...objectOf(metadata.labels), ...labels },
            annotations: Object.fromEntries(annotations),
          },
        };
        marks.push(key);
        const resourceVersion = String(++version);
        put({ ...resource, resourceVersion, value });
        return { type: 'written', resourceVersion };
      },
      event: async ({ key }, event) => void events.push({ key, ...event }),
    },
    apply: (object) => {
      const key = objectKey(must(refOfObject(object)));
      const before = objects.get(key);
      const same = jsonEquals(before?.value.spec, object.spec);
      const generation = before === undefined ? 1 : before.generation + (same ? 0 : 1);
      const uid = before?.uid ?? `uid-${++version}`;
      const resourceVersion = String(++version);
      return put({ key, uid, generation, resourceVersion, value: object, status: before?.status });
    },
    remove: (key) => {
      objects.delete(key as ObjectKey);
      changed(key as ObjectKey);
    },
    kind: (kind, state, message = '') => {
      states.set(kind, { kind, state, message });
      changed();
    },
    get: (key) => objects.get(key as ObjectKey),
    putStatus: (key, status) => {
      const resource = objects.get(key as ObjectKey);
      if (resource !== undefined) put({ ...resource, resourceVersion: String(++version), status });
    },
    writes,
    marks,
    events,
    answers,
    stopped: false,
  };
  return fake;
}

/** Server-side apply, as far as a status needs it: conditions are one a type, with an owner each; the rest is replaced. */
function merged(before: JsonObject, after: JsonObject, said: ReadonlySet<string>): JsonObject {
  const ours = conditionsIn(after);
  const others = Object.entries(conditionsIn(before)).filter(([type]) => ours[type] === undefined && !said.has(type));
  return { ...before, ...after, conditions: [...others.map(([, other]) => other), ...Object.values(ours)] };
}

/** A KubernetesCluster as a custom resource. */
export function clusterResource(name: string, labels: Readonly<Record<string, string>> = {}): JsonObject {
  return {
    apiVersion: 'admin.gloo.solo.io/v2',
    kind: 'KubernetesCluster',
    metadata: { name, namespace: 'fleet', labels },
    spec: {},
  };
}

/** A Placement as a custom resource. */
export function placementResource(
  name: string,
  paths: readonly string[],
  clusters: JsonObject = { selector: {} },
): JsonObject {
  return {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'Placement',
    metadata: { name, namespace: 'fleet' },
    spec: { paths, clusters },
  };
}

/** The conditions in a status, by type. */
export function conditionsIn(status: JsonObject | undefined): Readonly<Record<string, JsonObject>> {
  const list = Array.isArray(status?.conditions) ? status.conditions.filter(isJsonObject) : [];
  return Object.fromEntries(list.map((condition) => [String(condition.type), condition]));
}

/** `Kind/name` of a key. */
export function shortName(key: string): string {
  const { kind, name } = objectRefOf(key as ObjectKey);
  return `${kind}/${name}`;
}
