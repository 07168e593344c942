import { displayPath, type FieldPath } from '../../model/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { suggestion } from '../../model/messages.ts';
import { metadataOf, type ObjectRef, objectKey, parseApiVersion, parseObjectRef } from '../../model/object-key.ts';
import { caseFix, type FieldProblem, fieldError, fieldWarning, typeFix, typeWord, withFix } from '../problem.ts';
import { type DocumentReading, isReadable } from './reading.ts';
import { checkLabels, labelKeyProblem } from './selectors.ts';

/** Fields that only an API server writes. */
const SERVER_METADATA = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
] as const;

/** Decodes an object for clusters. Checks identity, labels, annotations and the data of ConfigMaps and Secrets, nothing else. */
export function readObject(document: JsonObject): DocumentReading {
  const ref = readIdentity(document);
  if ('problem' in ref) return { problems: [ref.problem] };
  const problems: FieldProblem[] = [...checkMetadata(document), ...checkData(document)];
  const value = withEmptyTexts(withoutServerFields(document, problems));
  const identity = objectKey(ref);
  if (!isReadable(problems)) return { identity, problems };
  return { identity, problems, content: { type: 'object', ref, value } };
}

/** The identity of the object, or the first problem of it, at its field. */
function readIdentity(document: JsonObject): ObjectRef | { readonly problem: FieldProblem } {
  const { apiVersion, kind, metadata } = document;
  const misspelt = misspeltField(document, ['apiVersion', 'kind', 'metadata']);
  if (misspelt !== undefined) return { problem: misspelt };
  if (typeof apiVersion !== 'string') return wrongType(['apiVersion'], apiVersion, NO_MANIFEST);
  const version = parseApiVersion(apiVersion);
  if (!version.ok) return { problem: fieldError('BadIdentity', ['apiVersion'], version.problem) };
  if (typeof kind !== 'string') return wrongType(['kind'], kind, NO_MANIFEST);
  if (!isJsonObject(metadata)) return wrongType(['metadata'], metadata, undefined, 'a mapping');
  const { name, namespace, generateName } = metadata;
  const misspeltName = generateName === undefined ? misspeltField(metadata, ['name'], ['metadata']) : undefined;
  if (misspeltName !== undefined) return { problem: misspeltName };
  if (name === undefined && generateName !== undefined) {
    const message = 'metadata.generateName gives the object another name at each apply';
    const hint = 'give it a fixed metadata.name';
    return { problem: fieldError('GeneratedName', ['metadata', 'generateName'], message, hint) };
  }
  if (typeof name !== 'string') return wrongType(['metadata', 'name'], name);
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string') {
    return wrongType(['metadata', 'namespace'], namespace);
  }
  const ref = parseObjectRef({ group: version.value.group, kind, namespace: namespace ?? '', name });
  return ref.ok ? ref.value : { problem: fieldError('BadIdentity', fieldOf(ref.problem), ref.problem) };
}

/** The problem of a key that is near the name of a field that is missing. `above`: the path of the mapping. */
function misspeltField(
  mapping: JsonObject,
  names: readonly string[],
  above: readonly string[] = [],
): FieldProblem | undefined {
  for (const name of names) {
    if (Object.hasOwn(mapping, name)) continue;
    const key = Object.keys(mapping).find((each) => !KNOWN_FIELDS.has(each) && suggestion(each, [name]) !== undefined);
    if (key === undefined) continue;
    const path = [...above, key];
    const message = `${displayPath(path)} is not a field that is known here`;
    const problem = { ...fieldError('UnknownField', path, message, `did you mean ${name}?`), atKey: true };
    return withFix(problem, caseFix(key, [name]) === undefined ? undefined : { key: name });
  }
  return undefined;
}

/** Fields near whose name another one is. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  'apiVersion',
  'kind',
  'metadata',
  'data',
  'name',
  'namespace',
  'type',
]);

const NO_MANIFEST = 'if the file is no manifest, list it in .fleetrelayignore';

function wrongType(path: FieldPath, value: JsonValue | undefined, hint?: string, wanted = 'text') {
  const name = path.join('.');
  if (value === undefined || value === null) {
    return { problem: fieldError('MissingField', path, `${name} is missing`, hint) };
  }
  const message = `${name} must be ${wanted}, not ${typeWord(value)}`;
  return { problem: fieldError('WrongType', path, message, wanted === 'text' ? 'quote it' : hint) };
}

/** The field that a problem of `parseObjectRef` is about. */
function fieldOf(problem: string): FieldPath {
  if (problem.startsWith('kind')) return ['kind'];
  if (problem.startsWith('namespace')) return ['metadata', 'namespace'];
  return problem.startsWith('API group') ? ['apiVersion'] : ['metadata', 'name'];
}

function checkMetadata(document: JsonObject): readonly FieldProblem[] {
  const { labels, annotations } = metadataOf(document);
  const checked = textMap(labels, ['metadata', 'labels']);
  const notes = textMap(annotations, ['metadata', 'annotations']);
  const badKeys = Object.keys(notes.texts).flatMap((key) => {
    // The case of the prefix does not matter in annotations.
    const bad = labelKeyProblem(key.toLowerCase());
    const path = ['metadata', 'annotations', key];
    return bad === undefined ? [] : [{ ...fieldError('BadAnnotation', path, bad), atKey: true }];
  });
  return [...checked.problems, ...checkLabels(checked.texts, ['metadata', 'labels']), ...notes.problems, ...badKeys];
}

/** The data of ConfigMaps and Secrets must be text; unquoted numbers are a common mistake. Never quotes a value. */
function checkData(document: JsonObject): readonly FieldProblem[] {
  return dataFields(document).flatMap((field) => textMap(document[field], [field]).problems);
}

function dataFields({ apiVersion, kind }: JsonObject): readonly string[] {
  if (apiVersion !== 'v1') return [];
  return kind === 'ConfigMap' ? ['data', 'binaryData'] : kind === 'Secret' ? ['data', 'stringData'] : [];
}

/** Gives the members of maps of texts that have no value an empty text, as an API server does: otherwise they would drift. */
function withEmptyTexts(document: JsonObject): JsonObject {
  const metadata = withFilled(metadataOf(document), ['labels', 'annotations']);
  const filled = withFilled(document, dataFields(document));
  return metadata === document.metadata ? filled : { ...filled, metadata };
}

function withFilled(object: JsonObject, fields: readonly string[]): JsonObject {
  let filled = object;
  for (const field of fields) {
    const texts = object[field];
    if (!isJsonObject(texts) || !Object.values(texts).includes(null)) continue;
    filled = { ...filled, [field]: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text ?? ''])) };
  }
  return filled;
}

function textMap(
  value: JsonValue | undefined,
  path: FieldPath,
): { readonly texts: Readonly<Record<string, string>>; readonly problems: readonly FieldProblem[] } {
  const name = path.join('.');
  if (value === undefined || value === null) return { texts: {}, problems: [] };
  if (!isJsonObject(value)) {
    const message = `${name} must be a mapping, not ${typeWord(value)}`;
    return { texts: {}, problems: [fieldError('WrongType', path, message)] };
  }
  const texts: Record<string, string> = {};
  const problems: FieldProblem[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === 'string') texts[key] = member;
    else if (member === null || member === undefined) {
      texts[key] = '';
      const message = `${name}[${JSON.stringify(key)}] has no value; an API server reads it as an empty text`;
      problems.push(fieldWarning('WrongType', [...path, key], message, 'write ""'));
    } else {
      const message = `${name}[${JSON.stringify(key)}] must be text, not ${typeWord(member)}`;
      problems.push(withFix(fieldError('WrongType', [...path, key], message, 'quote it'), typeFix(member, 'string')));
    }
  }
  return { texts, problems };
}

/** Removes the fields of the API server; warns of those with a value. */
function withoutServerFields(document: JsonObject, problems: FieldProblem[]): JsonObject {
  const { status, ...rest } = document;
  if (status !== undefined && hasSubstance(status)) {
    const message = 'status is what a cluster reports; it is left out';
    problems.push({ ...fieldWarning('ServerField', ['status'], message, 'remove it'), atKey: true });
  }
  const metadata: Record<string, JsonValue | undefined> = { ...metadataOf(document) };
  for (const field of SERVER_METADATA) {
    if (!Object.hasOwn(metadata, field)) continue;
    if (hasSubstance(metadata[field])) {
      const message = `metadata.${field} is filled in by an API server; it is left out`;
      problems.push({ ...fieldWarning('ServerField', ['metadata', field], message, 'remove it'), atKey: true });
    }
    delete metadata[field];
  }
  for (const field of ['namespace', 'labels', 'annotations']) if (metadata[field] === null) delete metadata[field];
  return { ...rest, metadata };
}

function hasSubstance(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined || value === '') return false;
  return typeof value !== 'object' || Object.values(value).some(hasSubstance);
}
