import { engineKindOf } from '../../model/fleet/engine-kinds.ts';
import { builtInKindScope } from '../../model/objects/kinds.ts';
import type { LabelRequirement, LabelSelector } from '../../model/objects/label-selector.ts';
import { type ObjectKey, objectKey, objectRefOf, parseApiVersion } from '../../model/objects/object-key.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '../../model/text/json.ts';
import { type Field, rootOf } from '../rules/shared/field.ts';
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  partsIn,
  podTemplateOf,
  portNamesIn,
  type Reference,
  ROLE,
  referencesIn,
  SECRET,
  SERVICE,
  SERVICE_ACCOUNT,
  selectionsIn,
  targetPortsIn,
} from './object-references.ts';

/** What other files must know of an object: small plain data, as threads send it. Members that would be empty are absent. */
export interface ObjectFacts {
  /** As it is written: the namespace is empty if the manifest names none. */
  readonly key: ObjectKey;
  /** See `partsIn`. */
  readonly parts?: readonly string[];
  /** What must be there for it, each {@link referenceId} once. */
  readonly refers?: readonly string[];
  /** The labels of its Pods; of a Service its own. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly selector?: LabelSelector;
  /** The names of the ports of its Pods; of a Service those that it sends to. */
  readonly ports?: readonly string[];
  /** Of a custom kind: every word in it that can be a name. A controller may make an object of such a name. */
  readonly mentions?: readonly string[];
  /** Of a Role: the kinds (`group/Kind`) that its subjects may write. `Pods`: a kind that makes Pods. */
  readonly writes?: readonly string[];
}

/** Returns the facts about an object; undefined if it has no identity. Never throws: values of a wrong type give no facts. */
export function factsOf(object: JsonObject): ObjectFacts | undefined {
  const { apiVersion, kind: name } = object;
  const metadata = objectOf(object.metadata);
  const version = parseApiVersion(textOf(apiVersion));
  if (!version.ok || textOf(name) === '' || textOf(metadata.name) === '') return undefined;
  const { group } = version.value;
  const ref = { group, kind: textOf(name), namespace: textOf(metadata.namespace), name: textOf(metadata.name) };
  if (ref.kind.includes('/') || ref.namespace.includes('/')) return undefined;
  const key = objectKey(ref);
  const kind = `${group}/${ref.kind}`;
  if (isCustom(kind)) return { key, mentions: wordsIn(object) };
  const root = rootOf(object);
  const references = referencesIn(kind, root);
  const [selection] = selectionsIn(kind, root);
  return {
    key,
    ...some('parts', partsIn(kind, root)),
    ...some('refers', idsOf(references.filter(({ isOptional }) => isOptional !== true))),
    ...some('labels', labelsIn(kind, object, root)),
    ...some('selector', selection && selectorIn(selection.field, selection.isPlain)),
    ...some('ports', portsIn(kind, root)),
    ...some('writes', writesOf(kind, object)),
    ...some('mentions', kind === 'networking.k8s.io/Ingress' ? certificatesOf(object) : undefined),
  };
}

function some<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [Key in Name]?: Value } {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return {};
  // The member has the only name that there is.
  return { [name]: value } as { readonly [Key in Name]?: Value };
}

/** Whether neither Kubernetes nor fleetrelay defines the kind (`group/Kind`): a controller of it may make objects. */
export function isCustom(id: string): boolean {
  const group = id.slice(0, id.indexOf('/'));
  const kind = id.slice(group.length + 1);
  if (engineKindOf(group, kind) !== undefined) return false;
  return group === 'gateway.networking.k8s.io' ? kind === 'Gateway' : builtInKindScope(group, kind) === undefined;
}

/** The text form of a reference: the key of the object, and its part behind a `#`. */
export function referenceId({ kind, namespace, name, part }: Pick<Reference, 'kind' | 'namespace' | 'name' | 'part'>) {
  const key = `${kind}/${namespace}/${name}`;
  return part === undefined ? key : `${key}#${part.name}`;
}

/** The parts of a {@link referenceId}. */
export function parseReferenceId(id: string) {
  const hash = id.indexOf('#');
  const { group, kind, namespace, name } = objectRefOf((hash < 0 ? id : id.slice(0, hash)) as ObjectKey);
  return { kind: `${group}/${kind}`, namespace, name, part: hash < 0 ? undefined : id.slice(hash + 1) };
}

function idsOf(references: readonly Reference[]): readonly string[] {
  return references.length === 0 ? NONE : [...new Set(references.map(referenceId))];
}

const NONE: readonly string[] = [];

function labelsIn(kind: string, object: JsonObject, root: Field): ObjectFacts['labels'] {
  const owner = kind === SERVICE ? object : podTemplateOf(kind, root)?.value;
  return isJsonObject(owner) ? textMembers(objectOf(owner.metadata).labels) : undefined;
}

function portsIn(kind: string, root: Field): readonly string[] {
  const template = podTemplateOf(kind, root);
  return template === undefined ? targetPortsIn(kind, root).map(({ value }) => String(value)) : portNamesIn(template);
}

function textMembers(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const texts = Object.entries(objectOf(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(texts);
}

/** Undefined: the selector is missing, selects everything, or has values of a wrong type. */
export function selectorIn({ value }: Field, isPlain: boolean): LabelSelector | undefined {
  if (!isJsonObject(value)) return undefined;
  const labels = isPlain ? value : objectOf(value.matchLabels);
  const matchLabels = textMembers(labels);
  const matchExpressions = isPlain ? [] : objectsOf(value.matchExpressions).flatMap(requirementOf);
  const isRight = Object.keys(matchLabels).length === Object.keys(labels).length;
  return isRight && (Object.keys(matchLabels).length > 0 || matchExpressions.length > 0)
    ? { matchLabels, matchExpressions }
    : undefined;
}

function requirementOf({ key, operator, values }: JsonObject): readonly LabelRequirement[] {
  if (operator !== 'In' && operator !== 'NotIn' && operator !== 'Exists' && operator !== 'DoesNotExist') return [];
  return [{ key: textOf(key), operator, values: textsOf(values) }];
}

/** The kinds that are looked for, by their plural and group. */
const WRITTEN: Readonly<Record<string, string>> = {
  'secrets/': SECRET,
  'configmaps/': CONFIG_MAP,
  'services/': SERVICE,
  'serviceaccounts/': SERVICE_ACCOUNT,
  'persistentvolumeclaims/': '/PersistentVolumeClaim',
  'roles/rbac.authorization.k8s.io': ROLE,
  'pods/': 'Pods',
  'deployments/apps': 'Pods',
  'statefulsets/apps': 'Pods',
  'daemonsets/apps': 'Pods',
  'replicasets/apps': 'Pods',
  'jobs/batch': 'Pods',
};
const WRITE_VERBS = ['*', 'create', 'update', 'patch'];

function writesOf(kind: string, { rules }: JsonObject): readonly string[] | undefined {
  if (kind !== ROLE && kind !== CLUSTER_ROLE) return undefined;
  const writing = objectsOf(rules).filter(({ verbs }) => textsOf(verbs).some((verb) => WRITE_VERBS.includes(verb)));
  const kinds = writing.flatMap(({ apiGroups, resources }) => {
    const groups = textsOf(apiGroups);
    const named = textsOf(resources);
    // A ClusterRole for everything belongs to a person or a deployer, which says nothing about single objects.
    const isAll = kind === ROLE && named.includes('*');
    return Object.entries(WRITTEN).flatMap(([resource, written]) => {
      const [plural = '', group = ''] = resource.split('/');
      return (isAll || named.includes(plural)) && (groups.includes('*') || groups.includes(group)) ? [written] : [];
    });
  });
  return [...new Set(kinds)];
}

/** The Secrets that a controller of certificates makes for an Ingress. */
function certificatesOf({ spec }: JsonObject): readonly string[] {
  return objectsOf(objectOf(spec).tls).flatMap(({ secretName }) =>
    textOf(secretName) === '' ? [] : [textOf(secretName)],
  );
}

/** The words of an object that can be names or values of labels. Bounded, as an object can be large. */
function wordsIn(object: JsonObject): readonly string[] {
  const words = new Set<string>();
  const open: JsonValue[] = [object];
  for (let value = open.pop(); value !== undefined && words.size < MAX_WORDS; value = open.pop()) {
    if (typeof value === 'string') {
      if (NAME.test(value)) words.add(value);
    } else if (typeof value === 'object' && value !== null) {
      for (const member of Object.values(value)) if (member !== undefined) open.push(member);
    }
  }
  return [...words];
}

const MAX_WORDS = 2_000;
const NAME = /^[A-Za-z0-9][\w.-]{0,252}$/;
