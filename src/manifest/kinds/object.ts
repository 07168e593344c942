import { objectDigest } from '../../model/digest.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { objectKey, parseApiVersion, refOfObject } from '../../model/object-key.ts';
import { checkLabels, labelKeyProblem } from '../labels.ts';
import { type FieldProblem, fieldError, fieldWarning } from '../problem.ts';
import { typeWord } from '../schema-problems.ts';
import { type DocumentReading, isReadable } from './reading.ts';

/** What only an API server writes; sending it back would be refused or fight the server. */
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

/** Reads any object that is shipped to clusters: identity, labels, annotations; never the rest. */
export function readObject(document: JsonObject): DocumentReading {
  const identityProblem = findIdentityProblem(document);
  if (identityProblem !== undefined) return { problems: [identityProblem] };
  const problems: FieldProblem[] = [...checkMetadata(document), ...checkData(document)];
  const value = withoutServerFields(document, problems);
  const ref = refOfObject(value);
  if (!ref.ok) return { problems: [...problems, fieldError('BadIdentity', ['metadata'], ref.problem)] };
  const identity = objectKey(ref.value);
  if (!isReadable(problems)) return { identity, problems };
  return { identity, problems, content: { type: 'object', ref: ref.value, value, digest: objectDigest(value) } };
}

/** The first thing that keeps the object from having an identity, at the field that it is about. */
function findIdentityProblem(document: JsonObject): FieldProblem | undefined {
  const { apiVersion, kind, metadata } = document;
  if (typeof apiVersion !== 'string') return missing(['apiVersion'], apiVersion, NO_MANIFEST);
  const version = parseApiVersion(apiVersion);
  if (!version.ok) return fieldError('BadIdentity', ['apiVersion'], version.problem);
  if (typeof kind !== 'string') return missing(['kind'], kind, NO_MANIFEST);
  if (!isJsonObject(metadata)) return missing(['metadata'], metadata, undefined, 'a mapping');
  const { name, namespace, generateName } = metadata;
  if (name === undefined && generateName !== undefined) {
    const message = 'metadata.generateName gives the object another name at each apply';
    return fieldError('GeneratedName', ['metadata', 'generateName'], message, 'give it a fixed metadata.name');
  }
  if (typeof name !== 'string') return missing(['metadata', 'name'], name);
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string') {
    return missing(['metadata', 'namespace'], namespace);
  }
  const ref = refOfObject({ apiVersion, kind, metadata: { name, namespace: namespace ?? undefined } });
  return ref.ok ? undefined : fieldError('BadIdentity', fieldOf(ref.problem), ref.problem);
}

const NO_MANIFEST = 'if the file is no manifest, list it in .fleetrelayignore';

function missing(path: FieldPath, value: JsonValue | undefined, hint?: string, wanted = 'text'): FieldProblem {
  const name = path.join('.');
  return value === undefined || value === null
    ? fieldError('MissingField', path, `${name} is missing`, hint)
    : fieldError(
        'WrongType',
        path,
        `${name} must be ${wanted}, not ${typeWord(value)}`,
        wanted === 'text' ? 'quote it' : hint,
      );
}

function fieldOf(problem: string): FieldPath {
  if (problem.startsWith('kind')) return ['kind'];
  if (problem.startsWith('namespace')) return ['metadata', 'namespace'];
  return problem.startsWith('API group') ? ['apiVersion'] : ['metadata', 'name'];
}

function checkMetadata(document: JsonObject): FieldProblem[] {
  const metadata = document.metadata;
  if (!isJsonObject(metadata)) return [];
  const labels = textMap(metadata.labels, ['metadata', 'labels']);
  const annotations = textMap(metadata.annotations, ['metadata', 'annotations']);
  const badKeys = Object.keys(annotations.texts).flatMap((key) => {
    const bad = labelKeyProblem(key);
    const path = ['metadata', 'annotations', key];
    return bad === undefined ? [] : [{ ...fieldError('BadAnnotation', path, bad), atKey: true }];
  });
  return [
    ...labels.problems,
    ...checkLabels(labels.texts, ['metadata', 'labels']),
    ...annotations.problems,
    ...badKeys,
  ];
}

/** The data of ConfigMaps and Secrets must be text, and unquoted numbers there are a common slip. Values are never named. */
function checkData(document: JsonObject): FieldProblem[] {
  if (document.apiVersion !== 'v1') return [];
  const fields =
    document.kind === 'ConfigMap' ? ['data', 'binaryData'] : document.kind === 'Secret' ? ['data', 'stringData'] : [];
  return fields.flatMap((field) => textMap(document[field], [field]).problems);
}

function textMap(
  value: JsonValue | undefined,
  path: FieldPath,
): { readonly texts: Readonly<Record<string, string>>; readonly problems: readonly FieldProblem[] } {
  const name = path.join('.');
  if (value === undefined || value === null) return { texts: {}, problems: [] };
  if (!isJsonObject(value)) {
    return {
      texts: {},
      problems: [fieldError('WrongType', path, `${name} must be a mapping, not ${typeWord(value)}`)],
    };
  }
  const texts: Record<string, string> = {};
  const problems: FieldProblem[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (typeof member === 'string') texts[key] = member;
    else {
      const message = `${name}[${JSON.stringify(key)}] must be text, not ${typeWord(member)}`;
      problems.push(fieldError('WrongType', [...path, key], message, 'quote it'));
    }
  }
  return { texts, problems };
}

/** Leaves out what an API server fills in; says so where something of substance was written there. */
function withoutServerFields(document: JsonObject, problems: FieldProblem[]): JsonObject {
  const { status, ...rest } = document;
  if (status !== undefined && hasSubstance(status)) {
    const message = 'status is what a cluster reports; it is left out';
    problems.push({ ...fieldWarning('ServerField', ['status'], message, 'remove it'), atKey: true });
  }
  const metadata: Record<string, JsonValue | undefined> = {
    ...(isJsonObject(rest.metadata) ? rest.metadata : {}),
  };
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
  if (value === null || value === undefined) return false;
  return typeof value !== 'object' || Object.values(value).some(hasSubstance);
}
