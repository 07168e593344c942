import { parseEvents } from 'js-yaml';
import { composeDocuments } from '../../manifest/compose-documents.ts';
import { type DecodeLimits, defaultDecodeLimits } from '../../manifest/limits.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import { readText } from '../../manifest/text.ts';
import type { FleetName } from '../../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { builtInKindScope } from '../../model/kinds.ts';
import { type ObjectKey, objectKey, objectRefOf, refOfObject } from '../../model/object-key.ts';
import { ok, problem, type Result } from '../../model/result.ts';
import type { ObservedObject, Stamp } from '../../ports/cluster-api.ts';
import { placeOfPath } from './layout.ts';
import { FLEET_ANNOTATION, OBJECT_ANNOTATION, stampOf, withoutStamp, withStamp } from './stamp.ts';

/** Largest live file in bytes that is read. */
export const LARGEST_FILE_BYTES = 64 * 1024 * 1024;

const LONGEST_YAML_TEXT = 64 * 1024;
const DEEPEST_YAML = 64;

const LIMITS: DecodeLimits = { ...defaultDecodeLimits, maxBytes: LARGEST_FILE_BYTES };

/** The objects of one live file (path relative to the root, with `/`), or why it cannot be read. */
export function readLiveFile(path: string, bytes: Uint8Array): Result<readonly ObservedObject[]> {
  const decoded = readText(bytes);
  if (!decoded.ok) return problem(decoded.message);
  // JSON is YAML too, and its parser is much faster: text that begins like JSON is parsed as JSON first.
  const mustBeJson = path.toLowerCase().endsWith('.json');
  const json = mustBeJson || decoded.text.startsWith('{') ? readJson(decoded.text) : undefined;
  const documents = json !== undefined && (json.ok || mustBeJson) ? json : readYaml(decoded.text);
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

/** The bytes of an object's file, with the stamp. */
export function renderLiveFile(value: JsonObject, stamp: Stamp): Uint8Array {
  return new TextEncoder().encode(printLiveObject(withStamp(value, stamp)));
}

/**
 * YAML that people can read; or indented JSON, which is YAML too, for what the dumper or our own stricter reader cannot
 * take.
 */
export function printLiveObject(value: JsonObject): string {
  return isPlainEnough(value, 0) ? printYaml(value) : `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Whether the value is written as YAML: the dumper's stack overflows on long texts, our reader refuses the rest in YAML. */
function isPlainEnough(value: JsonValue | undefined, depth: number): boolean {
  if (typeof value === 'string') return value.length <= LONGEST_YAML_TEXT;
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= DEEPEST_YAML) return false;
  return Object.entries(value).every(
    ([name, member]) => name !== '__proto__' && name.length <= LONGEST_YAML_TEXT && isPlainEnough(member, depth + 1),
  );
}

/**
 * Whether an unreadable file is ours and may be overwritten. It is empty (or all zeros after a power failure), or it has
 * both lines of our stamp for this object and this fleet and no second document.
 */
export function isRemnant(bytes: Uint8Array, fleet: FleetName, key: ObjectKey): boolean {
  if (bytes.byteLength > LARGEST_FILE_BYTES) return false;
  const text = new TextDecoder().decode(bytes);
  if (text.replaceAll('\0', '').trim() === '') return true;
  const raw = text.split('\n');
  // Fleetrelay never writes a second document: a person is adding one.
  if (raw.some((line) => /^---(\s|$)/.test(line))) return false;
  const lines = raw.map((line) => line.trim());
  const hasLine = (name: string, value: string) =>
    [`${name}: ${value}`, `${name}: '${value}'`, `${name}: "${value}"`, `"${name}": "${value}",`].some((line) =>
      lines.includes(line),
    );
  return hasLine(FLEET_ANNOTATION, fleet) && hasLine(OBJECT_ANNOTATION, key);
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
  let events: ReturnType<typeof parseEvents>;
  try {
    events = parseEvents(text, { maxDepth: LIMITS.maxDepth });
  } catch (error) {
    return problem(`the file is not YAML: ${yamlReason(error)}`);
  }
  const { documents, problems } = composeDocuments(text, events, LIMITS);
  const error = problems.find(({ severity }) => severity === 'error');
  return error === undefined ? ok(documents.map(({ value }) => value)) : problem(error.message);
}

/** The parser's reason and line, without its quotation of the text, which can be a Secret. */
function yamlReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : error.name;
  const mark: unknown = 'mark' in error ? error.mark : undefined;
  const line =
    typeof mark === 'object' && mark !== null && 'line' in mark && typeof mark.line === 'number'
      ? mark.line
      : undefined;
  return line === undefined ? reason : `${reason} (line ${line + 1})`;
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
    ...(stamp === undefined ? {} : { stamp }),
  });
}

/** The namespace of an object that names none: from its stamp, else its kind's scope, else its folder. */
function impliedNamespace(path: string, ref: { group: string; kind: string; name: string }, stamp?: Stamp): string {
  const stamped = stamp === undefined ? undefined : objectRefOf(stamp.key);
  if (stamped?.group === ref.group && stamped.kind === ref.kind && stamped.name === ref.name) return stamped.namespace;
  const scope = builtInKindScope(ref.group, ref.kind);
  if (scope === 'Cluster') return '';
  const folder = placeOfPath(path)?.namespace ?? '';
  return folder === '' && scope === 'Namespaced' ? 'default' : folder;
}
