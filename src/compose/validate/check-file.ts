import { Buffer } from 'node:buffer';
import { decoders } from '../../domains/decoders.ts';
import { checkDocuments, decodedSize } from '../../manifest/decode-file.ts';
import { findingsOf } from '../../manifest/foreign-documents.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import type { FieldProblem } from '../../manifest/problem.ts';
import { type FileFinding, inOrder, readFile } from '../../manifest/read-file.ts';
import type { DecodedSize } from '../../model/fleet/desired.ts';
import { type Diagnostic, diagnosticOf, displayLocation, type FindingReason } from '../../model/fleet/diagnostic.ts';
import { sha256 } from '../../model/text/digest.ts';
import type { FieldPath } from '../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../model/text/json.ts';
import { likelyReferencesOf } from '../../validation/across-files/likely-references.ts';
import { isDefinition, withRulePlaces } from '../../validation/custom/custom-kinds.ts';
import { expressionsIn } from '../../validation/expressions.ts';
import type { FileBytes } from './file-bytes.ts';
import { collectFacts, type FileFacts, unreadFile } from './file-facts.ts';
import { isCompletedLater, type KustomizeResource } from './resources.ts';
import { createNamedSchemas } from './schemas/named-schemas.ts';
import type { ObjectChecks } from './schemas/object-checks.ts';

/** What was found in one file: plain data, as threads send it. */
export interface CheckedFile {
  /** In the order of the file. */
  readonly diagnostics: readonly Diagnostic[];
  readonly documents: readonly CheckedDocument[];
  /** What counts towards the limits of a revision. */
  readonly size: DecodedSize;
  /** The steps of the rules in CEL for its objects, if it has any. */
  readonly steps?: number;
  /** It must be checked again: if a definition of a kind without schema is found elsewhere, or for its expressions. */
  readonly waits: boolean;
  /** It has expressions that an API server compiles, which need the library for CEL. */
  readonly hasExpressions?: true;
  /** The paths and URLs of schemas that it names for documents without another schema. */
  readonly schemas: readonly string[];
  /** The CustomResourceDefinitions in it. */
  readonly definitions: readonly JsonObject[];
  /** For rules across files, if they were asked for. */
  readonly facts?: FileFacts;
  /** It may have comments that suppress findings. */
  readonly hasSuppressions: boolean;
  /** Of the bytes, if a finding has a fix. */
  readonly digest?: string;
}

/** A document with a kind, or with an apiVersion. */
export interface CheckedDocument {
  /** Where it begins. */
  readonly line: number;
  readonly column: number;
  /** Empty for a resource that Kuma writes with a type. */
  readonly apiVersion: string;
  /** Empty if it is missing. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: 'checked' | 'skipped' | 'noSchema';
  /** What it refers to, if that is collected: see `likelyReferencesOf`. */
  readonly references: readonly string[];
}

/** What a text with a comment that suppresses findings contains. */
const SUPPRESSION = 'fleetrelay-ignore';

const NONE: readonly string[] = [];

/** The result for a file that cannot be checked: one error, which says why. */
export function failedFile(name: string, reason: FindingReason, message: string): CheckedFile {
  const nothing = {
    documents: [],
    size: { documents: 0, nodes: 0, expandedBytes: 0 },
    waits: false,
    schemas: [],
    definitions: [],
    hasSuppressions: false,
    facts: unreadFile,
  };
  return { diagnostics: [diagnosticOf({ severity: 'error', reason, message, at: { path: name } })], ...nothing };
}

/** Checks the documents of a file. `resource`: a kustomization lists it. */
export function checkFile(
  name: string,
  content: FileBytes,
  checks: ObjectChecks,
  resource?: KustomizeResource,
): CheckedFile {
  if (!content.ok) return failedFile(name, content.isTooLarge ? 'FileTooLarge' : 'FileUnreadable', content.reason);
  const file = readFile(name, content.bytes, defaultDecodeLimits);
  const findings: FileFinding[] = [...findingsOf(file)];
  const documents: CheckedDocument[] = [];
  const definitions: JsonObject[] = [];
  const named = createNamedSchemas({ name, bytes: content.bytes, file, checks, findings });
  let previousLine = 0;
  let hasExpressions = false;
  let read = 0;
  const options = {
    decoders,
    limits: defaultDecodeLimits,
    fixes: checks.findsFixes,
    check: checks.check,
    skips: checks.isSkipped,
    ignores: resource && ((value: JsonValue, problem: FieldProblem) => isCompletedLater(resource, value, problem)),
  };
  // What kustomize makes of a resource is not known.
  const facts = checks.collectsFacts && resource === undefined ? collectFacts() : undefined;
  for (const manifest of checkDocuments(file, options, findings)) {
    const { document, path, value, reading, isSkipped } = manifest;
    read += 1;
    facts?.add(manifest);
    if (!isJsonObject(value)) continue;
    const identity = identityOf(value);
    const { object } = reading;
    const hasNoSchema = object !== undefined && statesKind(object) && !checks.hasSchema(object);
    const { line = 1, column = 1 } = file.locate(document, path, 'value');
    const isJudged = !hasNoSchema || (!isSkipped && named.judge({ document, path, value, line, previousLine }));
    const state = isSkipped ? 'skipped' : isJudged ? 'checked' : 'noSchema';
    previousLine = line;
    const references = checks.collectsReferences ? likelyReferencesOf(value) : NONE;
    if (identity.kind !== '' || identity.apiVersion !== '')
      documents.push({ line, column, ...identity, state, references });
    if (isDefinition(value)) {
      const placeOf = (field: FieldPath) => displayLocation(file.locate(document, [...path, ...field], 'value'));
      definitions.push(withRulePlaces(value, placeOf));
    }
    hasExpressions ||= !isSkipped && expressionsIn(value).length > 0;
    // Objects for clusters are checked above.
    if (object === undefined && !isSkipped) {
      for (const problem of checks.checkOfEngineKind?.(value) ?? []) {
        findings.push(file.place(document, { ...problem, path: [...path, ...problem.path] }));
      }
    }
  }
  const diagnostics = inOrder(findings);
  const steps = checks.takeSteps();
  return {
    diagnostics,
    documents,
    size: decodedSize(file, read),
    ...(steps === 0 ? {} : { steps }),
    waits: (hasExpressions && !checks.checksExpressions) || documents.some(({ state }) => state === 'noSchema'),
    ...(hasExpressions ? { hasExpressions } : {}),
    schemas: named.schemas,
    definitions,
    ...(facts === undefined ? {} : { facts: facts.end(diagnostics) }),
    hasSuppressions: asBuffer(content.bytes).includes(SUPPRESSION),
    ...(diagnostics.some(({ fix }) => fix !== undefined) ? { digest: sha256(content.bytes) } : {}),
  };
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function statesKind({ apiVersion, kind }: JsonObject): boolean {
  return textOf(apiVersion) !== '' && textOf(kind) !== '';
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
