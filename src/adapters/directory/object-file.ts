import { createHash } from 'node:crypto';
import { YAMLException } from 'js-yaml';
import { composeDocuments } from '../../manifest/compose-documents.ts';
import { type DecodeLimits, defaultDecodeLimits } from '../../manifest/limits.ts';
import { parseYamlEvents } from '../../manifest/parse-yaml.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import { reasonOfParser } from '../../manifest/read-yaml.ts';
import { readText } from '../../manifest/text.ts';
import { builtInKindScope } from '../../model/objects/kinds.ts';
import { type ObjectKey, type ObjectRef, objectKey, objectRefOf, refOfObject } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';
import type { ObservedObject, Ownership, Stamp } from '../../ports/cluster-api.ts';
import { FLEET_ANNOTATION, NONCE_ANNOTATION, OBJECT_ANNOTATION, stampOf, withoutStamp, withStamp } from './stamp.ts';

/** Largest live file in bytes that is read. */
export const LARGEST_FILE_BYTES = 64 * 1024 * 1024;

const LIMITS: DecodeLimits = { ...defaultDecodeLimits, maxBytes: LARGEST_FILE_BYTES };
const LONGEST_YAML_TEXT = 64 * 1024;
const DEEPEST_YAML = 64;
/** Longest file name without extension that every file system accepts. */
const LONGEST_NAME = 200;

/**
 * The path of an object's file in a directory cluster, relative to its root, with `/`:
 * `namespaces/NAMESPACE/KIND[.GROUP]/NAME.yaml` and `cluster/KIND[.GROUP]/NAME.yaml`, the kind in lower case.
 */
export function pathOfObject(key: ObjectKey): string {
  const { group, kind, namespace, name } = objectRefOf(key);
  const folder = `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}`;
  const place = namespace === '' ? 'cluster' : `namespaces/${namespace}`;
  return `${place}/${folder}/${fileName(name)}.yaml`;
}

/** The kind (in lower case), group and namespace that a path implies; undefined for a path outside of the layout. */
export function placeOfPath(path: string): Omit<ObjectRef, 'name'> | undefined {
  const [, namespace = '', inNamespace, inCluster] =
    /^(?:namespaces\/([^/]*)\/([^/]+)|cluster\/([^/]+))\/[^/]*$/.exec(path) ?? [];
  const folder = inNamespace ?? inCluster;
  if (folder === undefined) return undefined;
  const [kind = '', ...group] = folder.split('.');
  return { kind, group: group.join('.'), namespace };
}

/** True for the file names of live state: not for hidden files, backup files of editors and other extensions. */
export function isManifestName(name: string): boolean {
  return /^[^.].*\.(yaml|yml|json)$/i.test(name);
}

/**
 * The name of an object as a file name. Object names contain no `%`, so it escapes the characters that some file systems
 * refuse. A name that is too long ends in a part of its hash.
 */
function fileName(name: string): string {
  const escaped = name.replace(/^[.]|[^A-Za-z0-9._-]/gu, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
  if (escaped.length <= LONGEST_NAME) return escaped;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 24);
  return `${escaped.slice(0, LONGEST_NAME - 26)}%-${hash}`;
}

/** The bytes of an object's file, with the stamp. */
export function renderLiveFile(value: JsonObject, stamp: Stamp): Uint8Array {
  return new TextEncoder().encode(printLiveObject(withStamp(value, stamp)));
}

/** Prints YAML; or indented JSON, which is YAML too, for values that the YAML printer or reader cannot process. */
export function printLiveObject(value: JsonObject): string {
  return isPlainEnough(value, 0) ? printYaml(value) : `${JSON.stringify(value, undefined, 2)}\n`;
}

/** False for long texts, on which the printer's stack overflows, and for values that the reader refuses in YAML. */
function isPlainEnough(value: JsonValue | undefined, depth: number): boolean {
  if (typeof value === 'string') return value.length <= LONGEST_YAML_TEXT;
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= DEEPEST_YAML) return false;
  return Object.entries(value).every(
    ([name, member]) => name !== '__proto__' && name.length <= LONGEST_YAML_TEXT && isPlainEnough(member, depth + 1),
  );
}

/** The objects of one live file (path relative to the root, with `/`), or why it cannot be read. */
export function readLiveFile(path: string, bytes: Uint8Array): Result<readonly ObservedObject[]> {
  // A program that writes a file empties it first: what it had before is not gone.
  if (bytes.length === 0) return problem('the file is empty; if its object is gone, delete the file');
  const decoded = readText(bytes);
  if (!decoded.ok) return problem(decoded.message);
  // Text that begins like JSON is parsed as JSON first: that is much faster, and YAML is tried afterwards.
  const mustBeJson = path.toLowerCase().endsWith('.json');
  const json = mustBeJson || decoded.text.startsWith('{') ? readJson(decoded.text) : undefined;
  const isJson = mustBeJson || json?.ok === true;
  const documents = json !== undefined && isJson ? json : readYaml(decoded.text);
  if (!documents.ok) return documents;
  const objects: ObservedObject[] = [];
  for (const document of documents.value) {
    if (document === null) continue;
    const object = readObject(path, document);
    if (!object.ok) return object;
    objects.push(object.value);
  }
  return ok(objects);
}

function readJson(text: string): Result<readonly JsonValue[]> {
  try {
    return ok([JSON.parse(text) as JsonValue]);
  } catch {
    // The parser's message quotes the text, which can be a Secret.
    return problem('the file is not JSON');
  }
}

function readYaml(text: string): Result<readonly JsonValue[]> {
  try {
    const { documents, problems } = composeDocuments(text, parseYamlEvents(text, LIMITS.maxDepth), LIMITS);
    const error = problems.find(({ severity }) => severity === 'error');
    return error === undefined ? ok(documents.map(({ value }) => value)) : problem(error.message);
  } catch (error) {
    if (!(error instanceof YAMLException)) return problem('the file is not YAML: unknown reason');
    // Not the complete message of the parser: it quotes the text, which can be a Secret.
    return problem(
      `the file is not YAML: ${reasonOfParser(error)}${error.mark ? ` (line ${error.mark.line + 1})` : ''}`,
    );
  }
}

function readObject(path: string, document: JsonValue): Result<ObservedObject> {
  if (!isJsonObject(document)) return problem('the file holds something that is not an object');
  const ref = refOfObject(document);
  if (!ref.ok) return ref;
  const stamp = stampOf(document);
  const namespace = ref.value.namespace === '' ? impliedNamespace(path, ref.value, stamp) : ref.value.namespace;
  return ok({
    key: objectKey({ ...ref.value, namespace }),
    value: withoutStamp(document),
    where: path,
    ...given({ stamp }),
  });
}

/** The namespace of an object that names none: from its stamp, else its kind's scope, else its folder. */
function impliedNamespace(path: string, ref: ObjectRef, stamp?: Stamp): string {
  const stamped = stamp === undefined ? undefined : objectRefOf(stamp.key);
  if (stamped?.group === ref.group && stamped.kind === ref.kind && stamped.name === ref.name) return stamped.namespace;
  const scope = builtInKindScope(ref.group, ref.kind);
  if (scope === 'Cluster') return '';
  const folder = placeOfPath(path)?.namespace ?? '';
  return folder === '' && scope === 'Namespaced' ? 'default' : folder;
}

/**
 * True if an unreadable file is ours and may be overwritten. It is empty (or all zeros after a power failure), or it has
 * the lines of our stamp for this object and no second document.
 */
export function isRemnant(bytes: Uint8Array, { fleet, key, nonce }: Ownership): boolean {
  const text = new TextDecoder().decode(bytes);
  if (text.replaceAll('\0', '').trim() === '') return true;
  const lines = text.split('\n');
  // Fleetrelay never writes a second document: a person is adding one.
  if (lines.some((line) => /^---(\s|$)/.test(line))) return false;
  const trimmed = new Set(lines.map((line) => line.trim()));
  const hasLine = (name: string, value: string) =>
    [`${name}: ${value}`, `${name}: '${value}'`, `${name}: "${value}"`, `"${name}": "${value}",`].some((line) =>
      trimmed.has(line),
    );
  return hasLine(FLEET_ANNOTATION, fleet) && hasLine(OBJECT_ANNOTATION, key) && hasLine(NONCE_ANNOTATION, nonce);
}
