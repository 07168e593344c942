import { engineKindIds, engineKindRow } from '../../model/fleet/engine-kinds.ts';
import { parseApiVersion } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { type Field, get, getIn, isTrue, items, members, text, word } from '../rules/shared/field.ts';

/** What a field of an object names: another object, or a part of it. */
export interface Reference {
  /** The name. */
  readonly field: Field;
  /** `group/Kind`. */
  readonly kind: string;
  /** Empty: the kind has no namespaces, or the manifest names none. */
  readonly namespace: string;
  readonly name: string;
  /** A key of a ConfigMap or Secret, or the name or number of a port of a Service. */
  readonly part?: { readonly field: Field; readonly name: string };
  /** The Pods start without it. */
  readonly isOptional?: boolean;
}

export const CONFIG_MAP = '/ConfigMap';
export const SECRET = '/Secret';
export const SERVICE = '/Service';
export const SERVICE_ACCOUNT = '/ServiceAccount';
export const VOLUME_CLAIM = '/PersistentVolumeClaim';
export const PRIORITY_CLASS = 'scheduling.k8s.io/PriorityClass';
export const ROLE = 'rbac.authorization.k8s.io/Role';
export const CLUSTER_ROLE = 'rbac.authorization.k8s.io/ClusterRole';
const DEFINITION = 'apiextensions.k8s.io/CustomResourceDefinition';

/** The Pod templates of kinds that make Pods; of a Pod its own root. */
const POD_TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  '/Pod': [],
  '/PodTemplate': ['template'],
  '/ReplicationController': ['spec', 'template'],
  'apps/DaemonSet': ['spec', 'template'],
  'apps/Deployment': ['spec', 'template'],
  'apps/ReplicaSet': ['spec', 'template'],
  'apps/StatefulSet': ['spec', 'template'],
  'batch/CronJob': ['spec', 'jobTemplate', 'spec', 'template'],
  'batch/Job': ['spec', 'template'],
};

/** The template of the Pods that an object of the kind (`group/Kind`) makes, or the Pod; undefined for other kinds. */
export function podTemplateOf(kind: string, root: Field): Field | undefined {
  const steps = POD_TEMPLATES[kind];
  return steps && getIn(root, ...steps);
}

/** Whether objects of the kind (`group/Kind`) are Pods or make some. */
export function makesPods(kind: string): boolean {
  return Object.hasOwn(POD_TEMPLATES, kind);
}

/** The root of an object. */
export function rootOf(object: JsonObject): Field {
  return { value: object, parent: undefined, step: '', problems: [] };
}

/** What the fields of an object name, in no particular order. Values of a wrong type name nothing. */
export function referencesIn(kind: string, root: Field): readonly Reference[] {
  const found: Reference[] = [];
  const namespace = word(getIn(root, 'metadata', 'namespace')) ?? '';
  const template = podTemplateOf(kind, root);
  if (template !== undefined) addOfPod(get(template, 'spec'), namespace, found);
  OTHERS[kind]?.(root, namespace, found);
  return found;
}

type Collect = (root: Field, namespace: string, found: Reference[]) => void;

function add(found: Reference[], kind: string, namespace: string, field: Field, more?: Partial<Reference>): void {
  const name = word(field);
  if (name !== undefined) found.push({ field, kind, namespace, name, ...more });
}

function addOfPod(spec: Field, namespace: string, found: Reference[]): void {
  for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of items(get(spec, list))) addOfContainer(container, namespace, found);
  }
  for (const volume of items(get(spec, 'volumes'))) {
    addWithItems(CONFIG_MAP, get(volume, 'configMap'), 'name', namespace, found);
    addWithItems(SECRET, get(volume, 'secret'), 'secretName', namespace, found);
    for (const source of items(getIn(volume, 'projected', 'sources'))) {
      addWithItems(CONFIG_MAP, get(source, 'configMap'), 'name', namespace, found);
      addWithItems(SECRET, get(source, 'secret'), 'name', namespace, found);
    }
    add(found, VOLUME_CLAIM, namespace, getIn(volume, 'persistentVolumeClaim', 'claimName'));
    add(found, SECRET, namespace, getIn(volume, 'csi', 'nodePublishSecretRef', 'name'));
  }
  addPullSecrets(spec, namespace, found);
  const account = get(spec, 'serviceAccountName');
  add(found, SERVICE_ACCOUNT, namespace, word(account) === undefined ? get(spec, 'serviceAccount') : account);
  add(found, PRIORITY_CLASS, '', get(spec, 'priorityClassName'));
}

function addPullSecrets(parent: Field, namespace: string, found: Reference[]): void {
  for (const secret of items(get(parent, 'imagePullSecrets'))) add(found, SECRET, namespace, get(secret, 'name'));
}

function addOfContainer(container: Field, namespace: string, found: Reference[]): void {
  for (const variable of items(get(container, 'env'))) {
    const from = get(variable, 'valueFrom');
    if (from.value === undefined) continue;
    addKey(CONFIG_MAP, get(from, 'configMapKeyRef'), 'name', [get(from, 'configMapKeyRef')], namespace, found);
    addKey(SECRET, get(from, 'secretKeyRef'), 'name', [get(from, 'secretKeyRef')], namespace, found);
  }
  for (const source of items(get(container, 'envFrom'))) {
    addKey(CONFIG_MAP, get(source, 'configMapRef'), 'name', [], namespace, found);
    addKey(SECRET, get(source, 'secretRef'), 'name', [], namespace, found);
  }
}

/** Each item of the source of a volume names a key. */
function addWithItems(kind: string, source: Field, nameField: string, namespace: string, found: Reference[]): void {
  if (source.value !== undefined) addKey(kind, source, nameField, items(get(source, 'items')), namespace, found);
}

/** The object, and the `key` of each of the mappings as a part of it. */
function addKey(
  kind: string,
  source: Field,
  nameField: string,
  withKeys: readonly Field[],
  namespace: string,
  found: Reference[],
): void {
  const field = get(source, nameField);
  const isOptional = isTrue(get(source, 'optional'));
  const parts = withKeys.flatMap((each) => {
    const key = get(each, 'key');
    const name = word(key);
    return name === undefined ? [] : [{ field: key, name }];
  });
  if (parts.length === 0) add(found, kind, namespace, field, { isOptional });
  for (const part of parts) add(found, kind, namespace, field, { part, isOptional });
}

/** A Service, and a port of it by name or number. */
function addService(found: Reference[], namespace: string, name: Field, port: Field): void {
  const { value } = port;
  const part = typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : undefined;
  add(found, SERVICE, namespace, name, part === undefined ? {} : { part: { field: port, name: part } });
}

const OTHERS: Readonly<Record<string, Collect>> = {
  '/ServiceAccount': addPullSecrets,
  'autoscaling/HorizontalPodAutoscaler': (root, namespace, found) => {
    const target = getIn(root, 'spec', 'scaleTargetRef');
    const version = parseApiVersion(text(get(target, 'apiVersion')) ?? '');
    const kind = version.ok ? `${version.value.group}/${text(get(target, 'kind'))}` : '';
    if (makesPods(kind)) add(found, kind, namespace, get(target, 'name'));
  },
  'networking.k8s.io/Ingress': (root, namespace, found) => {
    const spec = get(root, 'spec');
    const paths = items(get(spec, 'rules')).flatMap((rule) => items(getIn(rule, 'http', 'paths')));
    for (const backend of [get(spec, 'defaultBackend'), ...paths.map((path) => get(path, 'backend'))]) {
      const service = get(backend, 'service');
      const byName = getIn(service, 'port', 'name');
      const port = byName.value === undefined ? getIn(service, 'port', 'number') : byName;
      addService(found, namespace, get(service, 'name'), port);
    }
  },
  'rbac.authorization.k8s.io/RoleBinding': addBinding,
  'rbac.authorization.k8s.io/ClusterRoleBinding': addBinding,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': addWebhooks,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': addWebhooks,
  'apiregistration.k8s.io/APIService': (root, _namespace, found) =>
    addRemote(get(getIn(root, 'spec'), 'service'), found),
  [DEFINITION]: (root, _namespace, found) =>
    addRemote(getIn(root, 'spec', 'conversion', 'webhook', 'clientConfig', 'service'), found),
  'gateway.networking.k8s.io/HTTPRoute': addRoutes,
  'gateway.networking.k8s.io/GRPCRoute': addRoutes,
};

function addBinding(root: Field, namespace: string, found: Reference[]): void {
  const role = get(root, 'roleRef');
  const kind = `rbac.authorization.k8s.io/${text(get(role, 'kind'))}`;
  if (kind === CLUSTER_ROLE) add(found, kind, '', get(role, 'name'));
  if (kind === ROLE) add(found, kind, namespace, get(role, 'name'));
  for (const subject of items(get(root, 'subjects'))) {
    if (text(get(subject, 'kind')) !== 'ServiceAccount') continue;
    add(found, SERVICE_ACCOUNT, word(get(subject, 'namespace')) ?? namespace, get(subject, 'name'));
  }
}

function addWebhooks(root: Field, _namespace: string, found: Reference[]): void {
  for (const webhook of items(get(root, 'webhooks'))) addRemote(getIn(webhook, 'clientConfig', 'service'), found);
}

/** A Service that the API server calls. */
function addRemote(service: Field, found: Reference[]): void {
  addService(found, word(get(service, 'namespace')) ?? '', get(service, 'name'), get(service, 'port'));
}

function addRoutes(root: Field, namespace: string, found: Reference[]): void {
  for (const rule of items(getIn(root, 'spec', 'rules'))) {
    for (const backend of items(get(rule, 'backendRefs'))) {
      if ((word(get(backend, 'group')) ?? '') !== '' || (word(get(backend, 'kind')) ?? 'Service') !== 'Service')
        continue;
      const where = word(get(backend, 'namespace')) ?? namespace;
      addService(found, where, get(backend, 'name'), get(backend, 'port'));
    }
  }
}

/** A selector of Pods or Services. */
export interface Selection {
  readonly field: Field;
  readonly selects: 'Pods' | 'Services';
  /** The selector is a map of labels, not a label selector. */
  readonly isPlain: boolean;
}

/** The member of the spec with a selector of Services, by kind. */
const SERVICE_SELECTORS: ReadonlyMap<string, string> = new Map(
  engineKindIds.flatMap((id) => {
    const { group, kind, selectsServices } = engineKindRow(id);
    return selectsServices === undefined ? [] : [[`${group}/${kind}`, selectsServices]];
  }),
);

/** What the selector of an object of this kind (`group/Kind`) selects: Pods of its namespace, or Services of all namespaces. */
export function selectedBy(kind: string): Selection['selects'] {
  return SERVICE_SELECTORS.has(kind) ? 'Services' : 'Pods';
}

/** The selectors of an object that must select something to have an effect. */
export function selectionsIn(kind: string, root: Field): readonly Selection[] {
  const spec = get(root, 'spec');
  switch (kind) {
    case '/Service':
      return [{ field: get(spec, 'selector'), selects: 'Pods', isPlain: true }];
    case 'policy/PodDisruptionBudget':
      return [{ field: get(spec, 'selector'), selects: 'Pods', isPlain: false }];
    case 'networking.k8s.io/NetworkPolicy':
      return [{ field: get(spec, 'podSelector'), selects: 'Pods', isPlain: false }];
    default: {
      const services = SERVICE_SELECTORS.get(kind);
      return services === undefined ? [] : [{ field: get(spec, services), selects: 'Services', isPlain: false }];
    }
  }
}

/** The names of the ports of the containers of a Pod, or of the Pods that an object makes. */
export function portNamesIn(template: Field): readonly string[] {
  const containers = ['containers', 'initContainers'].flatMap((list) => items(getIn(template, 'spec', list)));
  return containers.flatMap((each) => items(get(each, 'ports'))).flatMap((port) => word(get(port, 'name')) ?? []);
}

/** The ports of Pods that a Service names by their name. */
export function targetPortsIn(kind: string, root: Field): readonly Field[] {
  if (kind !== SERVICE) return [];
  const ports = items(getIn(root, 'spec', 'ports')).map((port) => get(port, 'targetPort'));
  // Digits are a number in quotes, which another rule reports.
  return ports.filter((port) => /\D/.test(word(port) ?? ''));
}

/** The keys of a ConfigMap or Secret and the ports of a Service, by name and number. Undefined: it may have others. */
export function partsIn(kind: string, root: Field): readonly string[] | undefined {
  switch (kind) {
    case CONFIG_MAP:
      return keysIn([get(root, 'data'), get(root, 'binaryData')]);
    case SECRET: {
      const type = word(get(root, 'type'));
      // A controller adds the token.
      if (type === 'kubernetes.io/service-account-token') return undefined;
      return keysIn([get(root, 'data'), get(root, 'stringData')]);
    }
    case SERVICE: {
      if (text(getIn(root, 'spec', 'type')) === 'ExternalName') return undefined;
      const ports = items(getIn(root, 'spec', 'ports')).flatMap((port) => [get(port, 'port'), get(port, 'name')]);
      return someOf(
        ports.flatMap(({ value }) => (typeof value === 'number' || typeof value === 'string' ? [`${value}`] : [])),
      );
    }
    default:
      return undefined;
  }
}

function keysIn(data: readonly Field[]): readonly string[] | undefined {
  return someOf(data.flatMap((each) => members(each).map(({ step }) => step)));
}

/** Another program fills an empty object. */
function someOf(parts: readonly string[]): readonly string[] | undefined {
  return parts.length === 0 ? undefined : parts;
}
