import { Buffer } from 'node:buffer';
import { readDocuments } from '../../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { type FieldProblem, fieldError } from '../../manifest/problem.ts';
import { type Finding, inOrder, readFile } from '../../manifest/read-file.ts';
import { type Diagnostic, diagnosticOf } from '../../model/diagnostic.ts';
import { engineKindOf } from '../../model/engine-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../model/json.ts';
import { parseApiVersion } from '../../model/object-key.ts';
import type { FileBytes } from './file-bytes.ts';
import type { ObjectChecks } from './object-checks.ts';

/** What was found in one file: plain data, as threads send it. */
export interface CheckedFile {
  /** In the order of the file. */
  readonly diagnostics: readonly Diagnostic[];
  readonly documents: readonly CheckedDocument[];
  /** It holds a kind without schema: it must be checked again if a definition of that kind is found elsewhere. */
  readonly waits: boolean;
  /** The CustomResourceDefinitions in it. */
  readonly definitions: readonly JsonObject[];
  /** It may have comments that suppress findings. */
  readonly hasSuppressions: boolean;
}

/** A document with a kind. */
export interface CheckedDocument {
  /** Where it begins. */
  readonly line: number;
  /** Empty for a resource that Kuma writes with a type. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: 'checked' | 'skipped' | 'noSchema';
}

/** What a text with a comment that suppresses findings contains. */
const SUPPRESSION = 'fleetrelay-ignore';
const { maxDocuments: MAX_DOCUMENTS } = defaultDecodeLimits;

/** Checks the documents of a file. Never throws. */
export function checkFile(name: string, content: FileBytes, checks: ObjectChecks): CheckedFile {
  const nothing = { documents: [], waits: false, definitions: [], hasSuppressions: false };
  if (!content.ok) {
    const reason = content.isTooLarge ? 'FileTooLarge' : 'FileUnreadable';
    const at = { path: name };
    return { diagnostics: [diagnosticOf({ severity: 'error', reason, message: content.reason, at })], ...nothing };
  }
  const file = readFile(name, content.bytes, defaultDecodeLimits);
  const findings: Finding[] = [...file.findings];
  const documents: CheckedDocument[] = [];
  const definitions: JsonObject[] = [];
  let index = 0;
  for (const { document, path, value, reading } of readDocuments(file)) {
    index += 1;
    if (index > MAX_DOCUMENTS) {
      const message = `the file holds more than ${MAX_DOCUMENTS} documents, items of lists among them`;
      findings.push(file.place(document, fieldError('TooManyDocuments', path, message)));
      break;
    }
    const isSkipped = isJsonObject(value) && checks.isSkipped(value);
    const isForSchema = !isSkipped && isJsonObject(value) && isObject(value, reading.content?.type, reading.identity);
    const state = isSkipped ? 'skipped' : isForSchema && !checks.hasSchema(value) ? 'noSchema' : 'checked';
    const found: readonly FieldProblem[] = isForSchema ? checks.check(value) : [];
    for (const problem of isSkipped ? [] : [...reading.problems, ...found]) {
      findings.push(file.place(document, { ...problem, path: [...path, ...problem.path] }));
    }
    if (!isJsonObject(value)) continue;
    const identity = identityOf(value);
    if (identity.kind !== '')
      documents.push({ line: file.locate(document, path, 'value').line ?? 1, ...identity, state });
    if (isDefinition(value)) definitions.push(value);
  }
  return {
    diagnostics: inOrder(findings),
    documents,
    waits: documents.some(({ state }) => state === 'noSchema'),
    definitions,
    hasSuppressions: bytesOf(content.bytes).includes(SUPPRESSION),
  };
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Whether a schema judges the document: it is an object for clusters whose identity could be read. */
function isObject(
  { apiVersion, kind }: JsonObject,
  content: string | undefined,
  identity: string | undefined,
): boolean {
  if (content !== undefined || identity === undefined) return content === 'object';
  const parsed = parseApiVersion(textOf(apiVersion));
  return parsed.ok && engineKindOf(parsed.value.group, textOf(kind)) === undefined;
}

function isDefinition({ apiVersion, kind }: JsonObject): boolean {
  return kind === 'CustomResourceDefinition' && apiVersion === 'apiextensions.k8s.io/v1';
}

/** What the document says of itself; empty texts where it does not. Kuma's flat form has a type, and the name beside it. */
function identityOf(value: JsonObject): Pick<CheckedDocument, 'apiVersion' | 'kind' | 'namespace' | 'name'> {
  const { apiVersion, kind, type, metadata, name } = value;
  const isFlat = kind === undefined && typeof type === 'string';
  const stated: JsonValue | undefined = isFlat ? name : objectOf(metadata).name;
  return {
    apiVersion: textOf(apiVersion),
    kind: textOf(isFlat ? type : kind),
    namespace: textOf(objectOf(metadata).namespace),
    name: textOf(stated),
  };
}
