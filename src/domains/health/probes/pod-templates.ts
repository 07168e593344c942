import { isJsonObject, type JsonObject, type JsonValue, textOf } from '../../../model/text/json.ts';

/** A Pod or Pod template inside a document. */
export interface PodPlace {
  readonly path: readonly (string | number)[];
  readonly pod: JsonObject;
  /** Of the object that it is in: `Deployment web`. */
  readonly name: string;
}

const TEMPLATE = ['spec', 'template'];

/** Where the Pod or its template is, by `group/Kind`. */
const PLACES: ReadonlyMap<string, readonly string[]> = new Map([
  ['/Pod', []],
  ['/PodTemplate', ['template']],
  ['/ReplicationController', TEMPLATE],
  ...['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'].flatMap((kind) =>
    ['apps', 'extensions'].map((group) => [`${group}/${kind}`, TEMPLATE] as const),
  ),
  ['batch/Job', TEMPLATE],
  ['batch/CronJob', ['spec', 'jobTemplate', ...TEMPLATE]],
]);

/** The Pods and Pod templates of a document of a kind of Kubernetes, also of those in a list. */
export function podsIn(document: JsonValue): readonly PodPlace[] {
  if (!isJsonObject(document)) return [];
  const { apiVersion, kind, items } = document;
  const list = /^(\w*)List$/.exec(textOf(kind));
  if (list === null || !Array.isArray(items)) return podOf(document, document);
  // The items of a DeploymentList need not name their kind.
  const [, ofKind = ''] = list;
  const implied = ofKind === '' ? {} : { apiVersion, kind: ofKind };
  return items.flatMap((item: JsonValue, index) =>
    isJsonObject(item)
      ? podOf(item, { ...implied, ...item }).map((place) => ({ ...place, path: ['items', index, ...place.path] }))
      : [],
  );
}

function podOf(object: JsonObject, { apiVersion, kind, metadata }: JsonObject): readonly PodPlace[] {
  const [group = ''] = textOf(apiVersion).includes('/') ? textOf(apiVersion).split('/') : [];
  const path = PLACES.get(`${group}/${textOf(kind)}`);
  if (path === undefined) return [];
  let pod: JsonValue | undefined = object;
  for (const step of path) pod = isJsonObject(pod) ? pod[step] : undefined;
  const { name, generateName } = isJsonObject(metadata) ? metadata : {};
  const named = textOf(name) || textOf(generateName);
  return isJsonObject(pod) ? [{ path, pod, name: named === '' ? textOf(kind) : `${textOf(kind)} ${named}` }] : [];
}

/** A copy of a value with another one at a path that it has. */
export function withAt(value: JsonValue, path: readonly (string | number)[], other: JsonValue): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return other;
  if (Array.isArray(value)) return value.with(Number(step), withAt(value[Number(step)] ?? null, rest, other));
  return isJsonObject(value) ? { ...value, [step]: withAt(value[step] ?? null, rest, other) } : value;
}
