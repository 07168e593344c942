import { engineKindIds, engineKindRow } from '../../model/fleet/engine-kinds.ts';
import { parseApiVersion } from '../../model/objects/object-key.ts';

import type { Field } from '../rules/shared/field.ts';

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
  return steps && root.getIn(...steps);
}

/** Whether objects of the kind (`group/Kind`) are Pods or make some. */
export function makesPods(kind: string): boolean {
  return Object.hasOwn(POD_TEMPLATES, kind);
}

/** What the fields of an object name, in no particular order. Values of a wrong type name nothing. */
export function referencesIn(kind: string, root: Field): readonly Reference[] {
  const found: Reference[] = [];
  const namespace = root.getIn('metadata', 'namespace').word ?? '';
  const template = podTemplateOf(kind, root);
  if (template !== undefined) addOfPod(template.get('spec'), namespace, found);
  OTHERS[kind]?.(root, namespace, found);
  return found;
}

type Collect = (root: Field, namespace: string, found: Reference[]) => void;

function add(found: Reference[], kind: string, namespace: string, field: Field, more?: Partial<Reference>): void {
  const name = field.word;
  if (name !== undefined) found.push({ field, kind, namespace, name, ...more });
}

function addOfPod(spec: Field, namespace: string, found: Reference[]): void {
  for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of spec.get(list).items()) addOfContainer(container, namespace, found);
  }
  for (const volume of spec.get('volumes').items()) {
    addWithItems(CONFIG_MAP, volume.get('configMap'), 'name', namespace, found);
    addWithItems(SECRET, volume.get('secret'), 'secretName', namespace, found);
    for (const source of volume.getIn('projected', 'sources').items()) {
      addWithItems(CONFIG_MAP, source.get('configMap'), 'name', namespace, found);
      addWithItems(SECRET, source.get('secret'), 'name', namespace, found);
    }
    add(found, VOLUME_CLAIM, namespace, volume.getIn('persistentVolumeClaim', 'claimName'));
    add(found, SECRET, namespace, volume.getIn('csi', 'nodePublishSecretRef', 'name'));
  }
  addPullSecrets(spec, namespace, found);
  const account = spec.get('serviceAccountName');
  add(found, SERVICE_ACCOUNT, namespace, account.word === undefined ? spec.get('serviceAccount') : account);
  add(found, PRIORITY_CLASS, '', spec.get('priorityClassName'));
}

function addPullSecrets(parent: Field, namespace: string, found: Reference[]): void {
  for (const secret of parent.get('imagePullSecrets').items()) add(found, SECRET, namespace, secret.get('name'));
}

function addOfContainer(container: Field, namespace: string, found: Reference[]): void {
  for (const variable of container.get('env').items()) {
    const from = variable.get('valueFrom');
    if (from.value === undefined) continue;
    addKey(CONFIG_MAP, from.get('configMapKeyRef'), 'name', [from.get('configMapKeyRef')], namespace, found);
    addKey(SECRET, from.get('secretKeyRef'), 'name', [from.get('secretKeyRef')], namespace, found);
  }
  for (const source of container.get('envFrom').items()) {
    addKey(CONFIG_MAP, source.get('configMapRef'), 'name', [], namespace, found);
    addKey(SECRET, source.get('secretRef'), 'name', [], namespace, found);
  }
}

/** Each item of the source of a volume names a key. */
function addWithItems(kind: string, source: Field, nameField: string, namespace: string, found: Reference[]): void {
  if (source.value !== undefined) addKey(kind, source, nameField, source.get('items').items(), namespace, found);
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
  const field = source.get(nameField);
  const isOptional = source.get('optional').isTrue;
  const parts = withKeys.flatMap((each) => {
    const key = each.get('key');
    const name = key.word;
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
    const target = root.getIn('spec', 'scaleTargetRef');
    const version = parseApiVersion(target.get('apiVersion').text ?? '');
    const kind = version.ok ? `${version.value.group}/${target.get('kind').text}` : '';
    if (makesPods(kind)) add(found, kind, namespace, target.get('name'));
  },
  'networking.k8s.io/Ingress': (root, namespace, found) => {
    const spec = root.get('spec');
    const paths = spec
      .get('rules')
      .items()
      .flatMap((rule) => rule.getIn('http', 'paths').items());
    for (const backend of [spec.get('defaultBackend'), ...paths.map((path) => path.get('backend'))]) {
      const service = backend.get('service');
      const byName = service.getIn('port', 'name');
      const port = byName.value === undefined ? service.getIn('port', 'number') : byName;
      addService(found, namespace, service.get('name'), port);
    }
  },
  'rbac.authorization.k8s.io/RoleBinding': addBinding,
  'rbac.authorization.k8s.io/ClusterRoleBinding': addBinding,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': addWebhooks,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': addWebhooks,
  'apiregistration.k8s.io/APIService': (root, _namespace, found) => addRemote(root.get('spec').get('service'), found),
  [DEFINITION]: (root, _namespace, found) =>
    addRemote(root.getIn('spec', 'conversion', 'webhook', 'clientConfig', 'service'), found),
  'gateway.networking.k8s.io/HTTPRoute': addRoutes,
  'gateway.networking.k8s.io/GRPCRoute': addRoutes,
};

function addBinding(root: Field, namespace: string, found: Reference[]): void {
  const role = root.get('roleRef');
  const kind = `rbac.authorization.k8s.io/${role.get('kind').text}`;
  if (kind === CLUSTER_ROLE) add(found, kind, '', role.get('name'));
  if (kind === ROLE) add(found, kind, namespace, role.get('name'));
  for (const subject of root.get('subjects').items()) {
    if (subject.get('kind').text !== 'ServiceAccount') continue;
    add(found, SERVICE_ACCOUNT, subject.get('namespace').word ?? namespace, subject.get('name'));
  }
}

function addWebhooks(root: Field, _namespace: string, found: Reference[]): void {
  for (const webhook of root.get('webhooks').items()) addRemote(webhook.getIn('clientConfig', 'service'), found);
}

/** A Service that the API server calls. */
function addRemote(service: Field, found: Reference[]): void {
  addService(found, service.get('namespace').word ?? '', service.get('name'), service.get('port'));
}

function addRoutes(root: Field, namespace: string, found: Reference[]): void {
  for (const rule of root.getIn('spec', 'rules').items()) {
    for (const backend of rule.get('backendRefs').items()) {
      if ((backend.get('group').word ?? '') !== '' || (backend.get('kind').word ?? 'Service') !== 'Service') continue;
      const where = backend.get('namespace').word ?? namespace;
      addService(found, where, backend.get('name'), backend.get('port'));
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
  const spec = root.get('spec');
  switch (kind) {
    case '/Service':
      return [{ field: spec.get('selector'), selects: 'Pods', isPlain: true }];
    case 'policy/PodDisruptionBudget':
      return [{ field: spec.get('selector'), selects: 'Pods', isPlain: false }];
    case 'networking.k8s.io/NetworkPolicy':
      return [{ field: spec.get('podSelector'), selects: 'Pods', isPlain: false }];
    default: {
      const services = SERVICE_SELECTORS.get(kind);
      return services === undefined ? [] : [{ field: spec.get(services), selects: 'Services', isPlain: false }];
    }
  }
}

/** The names of the ports of the containers of a Pod, or of the Pods that an object makes. */
export function portNamesIn(template: Field): readonly string[] {
  const containers = ['containers', 'initContainers'].flatMap((list) => template.getIn('spec', list).items());
  return containers.flatMap((each) => each.get('ports').items()).flatMap((port) => port.get('name').word ?? []);
}

/** The ports of Pods that a Service names by their name. */
export function targetPortsIn(kind: string, root: Field): readonly Field[] {
  if (kind !== SERVICE) return [];
  const ports = root
    .getIn('spec', 'ports')
    .items()
    .map((port) => port.get('targetPort'));
  // Digits are a number in quotes, which another rule reports.
  return ports.filter((port) => /\D/.test(port.word ?? ''));
}

/** The keys of a ConfigMap or Secret and the ports of a Service, by name and number. Undefined: it may have others. */
export function partsIn(kind: string, root: Field): readonly string[] | undefined {
  switch (kind) {
    case CONFIG_MAP:
      return keysIn([root.get('data'), root.get('binaryData')]);
    case SECRET: {
      const type = root.get('type').word;
      // A controller adds the token.
      if (type === 'kubernetes.io/service-account-token') return undefined;
      return keysIn([root.get('data'), root.get('stringData')]);
    }
    case SERVICE: {
      if (root.getIn('spec', 'type').text === 'ExternalName') return undefined;
      const ports = root
        .getIn('spec', 'ports')
        .items()
        .flatMap((port) => [port.get('port'), port.get('name')]);
      return someOf(
        ports.flatMap(({ value }) => (typeof value === 'number' || typeof value === 'string' ? [`${value}`] : [])),
      );
    }
    default:
      return undefined;
  }
}

function keysIn(data: readonly Field[]): readonly string[] | undefined {
  return someOf(data.flatMap((each) => each.members().map(({ step }) => step)));
}

/** Another program fills an empty object. */
function someOf(parts: readonly string[]): readonly string[] | undefined {
  return parts.length === 0 ? undefined : parts;
}
