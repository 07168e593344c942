import { quoteInFull } from '../../model/fleet/ids.ts';
import {
  metadataOf,
  type ObjectRef,
  objectKey,
  parseApiVersion,
  parseObjectRef,
} from '../../model/objects/object-key.ts';
import { mayBeSecret } from '../../model/objects/secret-values.ts';
import { WRITTEN_ANNOTATIONS } from '../../model/objects/server-fields.ts';
import { displayPath, type FieldPath } from '../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import {
  caseFix,
  type FieldProblem,
  fieldError,
  fieldWarning,
  typeFix,
  typeWord,
  withFix,
  withoutSecretType,
} from '../problem.ts';
import { checkOwnAnnotation } from './own-annotations.ts';
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

/** Annotations of objects that a tool creates anew for each of its runs. */
const HOOKS = ['argocd.argoproj.io/hook', 'helm.sh/hook'];

/** Decodes an object for clusters. Checks identity, labels, annotations and the data of ConfigMaps and Secrets, nothing else. */
export function readObject(document: JsonObject): DocumentReading {
  const problems: FieldProblem[] = [];
  const ref = readIdentity(document, problems);
  const found = [...checkMetadata(document), ...checkData(document)];
  problems.push(...(mayBeSecret(document) ? found.map(withoutSecretType) : found));
  const value = withEmptyTexts(withoutServerFields(document, problems));
  if (ref === undefined) return { object: withIdentity(document), problems };
  const identity = objectKey(ref);
  if (!isReadable(problems)) return { identity, object: document, problems };
  return { identity, object: document, problems, content: { type: 'object', ref, value } };
}

/** Returns the identity of the object; undefined if a part of it is missing or wrong. Adds the problem of each such part. */
function readIdentity(document: JsonObject, problems: FieldProblem[]): ObjectRef | undefined {
  const { apiVersion, kind, metadata } = document;
  const before = problems.length;
  const misspelt = (name: string, mapping: JsonObject, above: FieldPath = []): boolean => {
    const key = misspeltKey(mapping, name);
    if (key === undefined) return false;
    const path = [...above, key];
    const message = `${displayPath(path)} is not a field that is known here`;
    const problem = { ...fieldError('UnknownField', path, message, `did you mean ${name}?`), atKey: true };
    problems.push(withFix(problem, caseFix(key, [name]) === undefined ? undefined : { key: name }));
    return true;
  };
  let group = '';
  if (!misspelt('apiVersion', document)) group = readGroup(apiVersion, problems);
  if (!misspelt('kind', document)) readPart('kind', ['kind'], kind, problems, NO_MANIFEST);
  if (!misspelt('metadata', document)) {
    const isManifest = apiVersion !== undefined && kind !== undefined;
    if (!isJsonObject(metadata)) {
      // Without two of the three it may be another file.
      if (isManifest || metadata !== undefined)
        problems.push(wrongType(['metadata'], metadata, undefined, 'a mapping'));
    } else {
      const { name, namespace, generateName } = metadata;
      if (name === undefined && generateName !== undefined) {
        const message = 'metadata.generateName gives the object another name at each apply';
        // Argo CD and Helm create a new object for each run of a hook.
        const isHook = HOOKS.some((hook) => typeof objectOf(metadata.annotations)[hook] === 'string');
        const make = isHook ? fieldWarning : fieldError;
        problems.push(make('GeneratedName', ['metadata', 'generateName'], message, 'give it a fixed metadata.name'));
      } else if (!misspelt('name', metadata, ['metadata'])) readPart('name', ['metadata', 'name'], name, problems);
      if ((namespace ?? null) !== null) readPart('namespace', ['metadata', 'namespace'], namespace, problems);
    }
  }
  if (problems.length > before) return undefined;
  const { name, namespace } = metadataOf(document);
  return { group, kind: textOf(kind), namespace: textOf(namespace), name: textOf(name) };
}

/** Returns the group of an API version; empty if that is wrong, with its problem. */
function readGroup(apiVersion: JsonValue | undefined, problems: FieldProblem[]): string {
  if (typeof apiVersion !== 'string') {
    const hint = (apiVersion ?? null) === null ? NO_MANIFEST : 'write v1, or a group and a version such as apps/v1';
    problems.push(wrongType(['apiVersion'], apiVersion, hint));
    return '';
  }
  const version = parseApiVersion(apiVersion);
  if (version.ok) return version.value.group;
  const meant = apiVersion.trim().toLowerCase();
  const fix = parseApiVersion(meant).ok ? { value: meant } : undefined;
  const hint = fix === undefined ? undefined : `did you mean ${meant}?`;
  problems.push(withFix(fieldError('BadIdentity', ['apiVersion'], version.problem, hint), fix));
  return '';
}

/** Checks one part of an identity by itself. */
function readPart(
  part: 'kind' | 'namespace' | 'name',
  path: FieldPath,
  value: JsonValue | undefined,
  problems: FieldProblem[],
  hint?: string,
): void {
  if (typeof value !== 'string') {
    problems.push(wrongType(path, value, hint));
    return;
  }
  const ref = parseObjectRef({ group: '', kind: 'Kind', namespace: '', name: 'name', [part]: value });
  if (!ref.ok) problems.push(fieldError('BadIdentity', path, ref.problem));
}

/** The document with apiVersion and kind under their own names, where these are misspelt. */
function withIdentity(document: JsonObject): JsonObject {
  let corrected = document;
  for (const name of ['apiVersion', 'kind']) {
    const key = misspeltKey(document, name);
    if (key !== undefined) corrected = { ...corrected, [name]: document[key] };
  }
  return corrected;
}

/** The key that is near the name of a field that is missing. */
function misspeltKey(mapping: JsonObject, name: string): string | undefined {
  if (Object.hasOwn(mapping, name)) return undefined;
  return Object.keys(mapping).find((each) => !KNOWN_FIELDS.has(each) && suggestion(each, [name]) !== undefined);
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

function wrongType(path: FieldPath, value: JsonValue | undefined, hint?: string, wanted = 'text'): FieldProblem {
  const name = path.join('.');
  if (value === undefined || value === null) return fieldError('MissingField', path, `${name} is missing`, hint);
  const message = `${name} must be ${wanted}, not ${typeWord(value)}`;
  const isOtherWord = hint === undefined || hint === NO_MANIFEST;
  return fieldError('WrongType', path, message, isOtherWord && wanted === 'text' ? quoteHint(value) : hint);
}

/** What to do with a value that is not text; lists and mappings cannot be quoted. */
function quoteHint(value: JsonValue): string | undefined {
  return typeof value === 'object' ? undefined : 'quote it';
}

function checkMetadata(document: JsonObject): readonly FieldProblem[] {
  const { labels, annotations } = metadataOf(document);
  const checked = textMap(labels, ['metadata', 'labels']);
  const notes = textMap(annotations, ['metadata', 'annotations']);
  const odd = Object.entries(notes.texts).flatMap(([key, text]) => {
    // The case of the prefix does not matter in annotations.
    const bad = labelKeyProblem(key.toLowerCase());
    const path = ['metadata', 'annotations', key];
    return bad === undefined
      ? checkOwnAnnotation(key, text)
      : [{ ...fieldError('BadAnnotation', path, `metadata.annotations: ${bad}`), atKey: true }];
  });
  return [...checked.problems, ...checkLabels(checked.texts, ['metadata', 'labels']), ...notes.problems, ...odd];
}

/** The data of ConfigMaps and Secrets must be text; unquoted numbers are a common mistake. */
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
    const hint = typeof value === 'string' ? 'give the text a key' : undefined;
    return { texts: {}, problems: [fieldError('WrongType', path, message, hint)] };
  }
  const texts: Record<string, string> = {};
  const problems: FieldProblem[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === 'string') texts[key] = member;
    else if (member === null || member === undefined) {
      texts[key] = '';
      const message = `${name}[${quoteInFull(key)}] has no value; an API server reads it as an empty text`;
      const hint = key.includes(':') ? 'write a space after the colon, or "" as the value' : 'write ""';
      problems.push(fieldWarning('WrongType', [...path, key], message, hint));
    } else {
      const message = `${name}[${quoteInFull(key)}] must be text, not ${typeWord(member)}`;
      const hint = typeof member === 'object' ? 'write it as text, for example below "|"' : 'quote it';
      problems.push(withFix(fieldError('WrongType', [...path, key], message, hint), typeFix(member, 'string')));
    }
  }
  return { texts, problems };
}

/** Removes what a cluster sets itself; warns of what has a value. */
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
  const { annotations } = metadata;
  if (!isJsonObject(annotations)) return { ...rest, metadata };
  const kept = withoutWrittenAnnotations(annotations, problems);
  // An empty map would be a field of its own.
  if (kept !== annotations && Object.keys(kept).length === 0) delete metadata.annotations;
  else metadata.annotations = kept;
  return { ...rest, metadata };
}

/** Removes the annotations that controllers and kubectl write, with a warning for each. */
function withoutWrittenAnnotations(annotations: JsonObject, problems: FieldProblem[]): JsonObject {
  const written = Object.keys(annotations).filter((name) => WRITTEN_ANNOTATIONS.has(name));
  if (written.length === 0) return annotations;
  for (const name of written) {
    const message = `the annotation ${name} is written in each cluster by a controller or kubectl; it is left out`;
    problems.push({
      ...fieldWarning('ServerField', ['metadata', 'annotations', name], message, 'remove it'),
      atKey: true,
    });
  }
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !WRITTEN_ANNOTATIONS.has(name)));
}

function hasSubstance(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined || value === '') return false;
  return typeof value !== 'object' || Object.values(value).some(hasSubstance);
}
