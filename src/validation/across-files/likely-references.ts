import { engineKindOf, engineKindRow } from '../../model/fleet/engine-kinds.ts';
import { metadataOf, parseApiVersion } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf, textsOf } from '../../model/text/json.ts';

/** Stands for every name of a kind: a selector refers to all of them. */
export const ANY_NAME = '*';

/** Adds the identity of what a member of an object refers to. `namespace`: the object's. */
type AddReference = (group: string, kind: string, namespace: string, name: JsonValue | undefined) => void;

/** Members that are names, by their key. */
const NAMES: Readonly<Record<string, readonly [group: string, kind: string, isNamespaced: boolean]>> = {
  serviceAccountName: ['', 'ServiceAccount', true],
  secretName: ['', 'Secret', true],
  serviceName: ['', 'Service', true],
  claimName: ['', 'PersistentVolumeClaim', true],
  ingressClassName: ['networking.k8s.io', 'IngressClass', false],
  storageClassName: ['storage.k8s.io', 'StorageClass', false],
  priorityClassName: ['scheduling.k8s.io', 'PriorityClass', false],
  runtimeClassName: ['node.k8s.io', 'RuntimeClass', false],
};

/** Members that are, or are lists of, objects with a name, by their key. */
const NAMED: Readonly<Record<string, string>> = {
  configMap: 'ConfigMap',
  configMapRef: 'ConfigMap',
  configMapKeyRef: 'ConfigMap',
  secret: 'Secret',
  secretRef: 'Secret',
  secretKeyRef: 'Secret',
  imagePullSecrets: 'Secret',
  service: 'Service',
  backend: 'Service',
  backendRefs: 'Service',
};

/**
 * The identities (`group/Kind/namespace/name`) of what an object refers to, each once. Members are recognized by name, which
 * covers custom kinds that follow the conventions of Kubernetes; some may be no reference. The object's namespace is the default.
 */
export function likelyReferencesOf(object: JsonObject): readonly string[] {
  const found = new Set<string>();
  const own = textOf(metadataOf(object).namespace);
  const add: AddReference = (group, kind, namespace, name) => {
    if (typeof name === 'string' && name !== '') found.add(`${group}/${kind}/${namespace}/${name}`);
  };
  const { apiVersion, kind, metadata, status, ...rest } = object;
  visit(rest, '', own, add);
  addClusters(object, add);
  return [...found];
}

function visit(value: JsonValue, key: string, own: string, add: AddReference): void {
  if (typeof value === 'string') {
    const row = Object.hasOwn(NAMES, key) ? NAMES[key] : undefined;
    if (row !== undefined) add(row[0], row[1], row[2] ? own : '', value);
  } else if (Array.isArray(value)) {
    for (const item of value) visit(item, key, own, add);
  } else if (isJsonObject(value)) {
    addNamed(value, key, own, add);
    for (const member in value) {
      const inner = value[member];
      if (inner !== undefined && inner !== null) visit(inner, member, own, add);
    }
  }
}

/** An object that states kind and name refers to that object; another one by its key. */
function addNamed(
  { kind, name, namespace, apiVersion, apiGroup, group }: JsonObject,
  key: string,
  own: string,
  add: AddReference,
) {
  if (typeof name !== 'string') return;
  const target = textOf(namespace) === '' ? own : textOf(namespace);
  if (typeof kind === 'string') {
    const version = textOf(apiVersion);
    const stated = textOf(apiGroup ?? group ?? (version.includes('/') ? version.slice(0, version.indexOf('/')) : ''));
    add(stated, kind, target, name);
    if (target !== '') add(stated, kind, '', name);
  } else if (Object.hasOwn(NAMED, key)) add('', NAMED[key] ?? '', target, name);
}

function addClusters({ apiVersion, kind, spec }: JsonObject, add: AddReference): void {
  const version = parseApiVersion(textOf(apiVersion));
  const id = version.ok ? engineKindOf(version.value.group, textOf(kind)) : undefined;
  for (const member of (id && engineKindRow(id).choosesClusters) ?? []) {
    const { names, selector } = objectOf(objectOf(spec)[member]);
    for (const name of [...textsOf(names), ...(selector === undefined ? [] : [ANY_NAME])]) {
      add('admin.gloo.solo.io', 'KubernetesCluster', '', name);
    }
  }
}
