import { type Brand, quote } from '../fleet/ids.ts';
import { isJsonObject, type JsonObject, objectOf, textOf } from '../text/json.ts';
import { ok, problem, type Result } from '../values/result.ts';

/**
 * Identity of an object inside one cluster: `group/Kind/namespace/name`, without the version.
 * The group of the core kinds and the namespace of cluster-scoped objects are empty: `/Namespace//web`.
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

/** Parses a key from a store or the wire. */
export function parseObjectKey(text: string): Result<ObjectKey> {
  if (text.split('/').length !== 4) {
    return problem(`${quote(text)} is not an object key (group/Kind/namespace/name)`);
  }
  const ref = parseObjectRef(objectRefOf(text as ObjectKey));
  return ref.ok ? ok(text as ObjectKey) : ref;
}

/** The parts of a key. */
export function objectRefOf(key: ObjectKey): ObjectRef {
  const kind = key.indexOf('/') + 1;
  const namespace = key.indexOf('/', kind) + 1;
  const name = key.indexOf('/', namespace) + 1;
  return {
    group: key.slice(0, kind - 1),
    kind: key.slice(kind, namespace - 1),
    namespace: key.slice(namespace, name - 1),
    name: key.slice(name),
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

/** A key for people: `Deployment.apps/web/frontend`, `Namespace/web`. */
export function displayKey(key: ObjectKey): string {
  const { group, kind, namespace, name } = objectRefOf(key);
  return [group === '' ? kind : `${kind}.${group}`, ...(namespace === '' ? [] : [namespace]), name].join('/');
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
