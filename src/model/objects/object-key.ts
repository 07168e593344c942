import { type Brand, quote } from '../fleet/ids.ts';
import { isJsonObject, type JsonObject, objectOf, textOf } from '../text/json.ts';
import { ok, problem, type Result } from '../values/result.ts';

/**
 * Identity of an object inside one cluster: `group/Kind/namespace/name`, without the version.
 * The group of the core kinds and the namespace of cluster-scoped objects are empty: `/Namespace//web`.
 *
 * The key of an output can also name the status of an object that fleetrelay does not own, as the URL of an API server does:
 * `group/Kind/namespace/name/status` ({@link statusKey}). Its parts name the object.
 */
export type ObjectKey = Brand<string, 'ObjectKey'>;

/** The parts of an {@link ObjectKey}. */
export interface ObjectRef {
  readonly group: string;
  readonly kind: string;
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

const GROUP = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/;
const KIND = /^[A-Za-z][A-Za-z0-9]{0,62}$/;
const NAMESPACE = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/;
const VERSION = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

/**
 * Checks the parts as an API server does. A name is one path segment (no `/`, no `%`, not `.` or `..`, no control character,
 * at most 253 characters), so that no key leaves its folder or URL.
 */
export function parseObjectRef(ref: ObjectRef): Result<ObjectRef> {
  if (!GROUP.test(ref.group)) return problem(`API group ${quote(ref.group)} is not a DNS name`);
  if (!KIND.test(ref.kind)) return problem(`kind ${quote(ref.kind)} is not a letter followed by letters and digits`);
  if (!NAMESPACE.test(ref.namespace)) return problem(`namespace ${quote(ref.namespace)} is not a DNS label`);
  const badName = nameProblem(ref.name);
  return badName === undefined ? ok(ref) : problem(badName);
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'the name is empty';
  if (name.length > 253) return `name ${quote(name)} is longer than 253 characters`;
  if (name === '.' || name === '..') return `name ${quote(name)} is not allowed`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  return /[/%\\\u0000-\u001f\u007f]/.test(name)
    ? `name ${quote(name)} holds a "/", "%", "\\" or control character`
    : undefined;
}

/** Whether a Namespace can have this name. */
export function isNamespaceName(name: string): boolean {
  return name !== '' && NAMESPACE.test(name);
}

/** Joins checked parts. */
export function objectKey(ref: ObjectRef): ObjectKey {
  return `${ref.group}/${ref.kind}/${ref.namespace}/${ref.name}` as ObjectKey;
}

const STATUS = '/status';

/** The key of the status of an object. */
export function statusKey(object: ObjectKey): ObjectKey {
  return `${object}${STATUS}` as ObjectKey;
}

/** Whether the key names a status (see {@link statusKey}). An object can be called `status`. */
export function isStatusKey(key: string): boolean {
  return key.endsWith(STATUS) && key.split('/').length === 5;
}

/** The key of the object whose status a key names. */
export function objectOfStatus(key: ObjectKey): ObjectKey {
  return key.slice(0, -STATUS.length) as ObjectKey;
}

/** Parses the key of an object from a store or the wire. */
export function parseObjectKey(text: string): Result<ObjectKey> {
  if (text.split('/').length !== 4) {
    return problem(`${quote(text)} is not an object key (group/Kind/namespace/name)`);
  }
  const ref = parseObjectRef(objectRefOf(text as ObjectKey));
  return ref.ok ? ok(text as ObjectKey) : ref;
}

/** Parses the key of an output from a store or the wire: of an object, or of the status of one. */
export function parseOutputKey(text: string): Result<ObjectKey> {
  if (!isStatusKey(text)) return parseObjectKey(text);
  const object = parseObjectKey(objectOfStatus(text as ObjectKey));
  return object.ok ? ok(text as ObjectKey) : object;
}

/** The parts of a key; the key of a status has the parts of its object. */
export function objectRefOf(key: ObjectKey): ObjectRef {
  const kind = key.indexOf('/') + 1;
  const namespace = key.indexOf('/', kind) + 1;
  const name = key.indexOf('/', namespace) + 1;
  const end = key.indexOf('/', name);
  return {
    group: key.slice(0, kind - 1),
    kind: key.slice(kind, namespace - 1),
    namespace: key.slice(namespace, name - 1),
    name: end < 0 ? key.slice(name) : key.slice(name, end),
  };
}

/** The name of a kind: `group/Kind`, and `/Kind` for the core kinds. */
export function nameOfKind({ group, kind }: Pick<ObjectRef, 'group' | 'kind'>): string {
  return `${group}/${kind}`;
}

/** The name of the key's kind: see {@link nameOfKind}. */
export function kindOf(key: ObjectKey): string {
  return key.slice(0, key.indexOf('/', key.indexOf('/') + 1));
}

/** The kind without its group. `name`: see {@link nameOfKind}. */
export function kindWithoutGroup(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}

/** A key for people: `Deployment.apps/web/frontend`, `Namespace/web`, `status of Mesh.kuma.io/default`. */
export function displayKey(key: ObjectKey): string {
  const { group, kind, namespace, name } = objectRefOf(key);
  const object = [group === '' ? kind : `${kind}.${group}`, ...(namespace === '' ? [] : [namespace]), name].join('/');
  return isStatusKey(key) ? `status of ${object}` : object;
}

/** The group of an `apiVersion` that is not checked (`v1` has the empty group). */
export function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.lastIndexOf('/')));
}

/** Splits `apiVersion` into group and version (`v1` has the empty group). */
export function parseApiVersion(apiVersion: string): Result<{ readonly group: string; readonly version: string }> {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const version = slash < 0 ? apiVersion : apiVersion.slice(slash + 1);
  return GROUP.test(group) && VERSION.test(version) && !(slash >= 0 && group === '')
    ? ok({ group, version })
    : problem(`apiVersion ${quote(apiVersion)} is not "version" or "group/version"`);
}

/** Parses the identity of a Kubernetes-style object. */
export function refOfObject(object: JsonObject): Result<ObjectRef> {
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== 'string') return problem('apiVersion is missing or not a string');
  if (typeof kind !== 'string') return problem('kind is missing or not a string');
  if (!isJsonObject(metadata)) return problem('metadata is missing or not an object');
  const { name, namespace } = metadata;
  if (typeof name !== 'string') return problem('metadata.name is missing or not a string');
  if (namespace !== undefined && typeof namespace !== 'string') return problem('metadata.namespace is not a string');
  const version = parseApiVersion(apiVersion);
  if (!version.ok) return version;
  return parseObjectRef({ group: version.value.group, kind, namespace: namespace ?? '', name });
}

/** The metadata of an object; empty if it has none. */
export function metadataOf(value: JsonObject): JsonObject {
  return objectOf(value.metadata);
}

/** The labels of an object; empty if it has none. */
export function labelsOf(value: JsonObject): JsonObject {
  return objectOf(metadataOf(value).labels);
}

/** An annotation of an object; empty if it is missing or no text. */
export function annotationOf(value: JsonObject, name: string): string {
  return textOf(objectOf(metadataOf(value).annotations)[name]);
}
