import type {
  Declaration,
  DeclarationValues,
  DecodedFile,
  DecodedSize,
  SourceDocument,
} from '../model/fleet/desired.ts';
import { sentenceOf } from '../model/fleet/diagnostic.ts';
import {
  declarationKey,
  type EngineKind,
  engineKindIds,
  engineKindOf,
  engineKindRow,
  engineKinds,
} from '../model/fleet/engine-kinds.ts';
import { quote } from '../model/fleet/ids.ts';
import { aboveRequest, isSmall, notCarried, type ObjectSize, sizeOf } from '../model/objects/object-size.ts';
import { objectDigest } from '../model/text/digest.ts';
import { displayPath, type FieldPath } from '../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/text/json.ts';
import { given } from '../model/values/given.ts';
import type { YamlDocument } from './compose-documents.ts';
import { findingsOf, foreignProblem, isForeign, namedFiles, toolFileOf } from './foreign-documents.ts';
import type { Decoders } from './kinds/decoders.ts';
import { readObject } from './kinds/object.ts';
import { type Decoded, type DocumentReading, isReadable } from './kinds/reading.ts';
import { type DecodeLimits, defaultDecodeLimits, MAX_FINDINGS } from './limits.ts';
import { didYouMean, type FieldProblem, fieldError, fieldWarning, typeWord } from './problem.ts';
import { type FileDocuments, type FileFinding, inOrder, isClean, readFile } from './read-file.ts';
import { createJudging, createScalarWarnings, withSafeFix } from './safe-fixes.ts';
import { encryptedProblem, isJsonSchema, noManifest, SOPS_VALUE } from './tool-files.ts';

/** How a file is decoded. */
export interface DecodeOptions {
  readonly decoders: Decoders;
  /** The default limits of sources unless set. */
  readonly limits?: DecodeLimits;
  /** Checks each object for clusters, as it is written, beyond what the decoder checks. An error makes the file unreadable. */
  readonly check?: (object: JsonObject) => readonly FieldProblem[];
  /** Looks for the fixes of warnings too, which costs further checks. */
  readonly fixes?: boolean;
}

/**
 * Decodes a manifest file (YAML with any number of documents, or JSON). Never throws. The diagnostics are in the order of
 * the file; one error makes the complete file unreadable.
 *
 * @param path relative to the root of the source, with `/`; `.json` is read as JSON
 * @param blob identifies the bytes (git's object id, or a digest); returned in the reading
 */
export function decodeFile(
  path: string,
  bytes: Uint8Array,
  blob: string,
  { decoders, limits = defaultDecodeLimits, check, fixes = false }: DecodeOptions,
): DecodedFile {
  const file = readFile(path, bytes, limits);
  const findings = [...findingsOf(file)];
  const { documents, read } = decodeDocuments(file, { decoders, limits, check, fixes, severity: 'warning' }, findings);
  const size = decodedSize(file, read);
  const diagnostics = inOrder(findings);
  const found = { blob, findings: diagnostics.map(sentenceOf) };
  const rest = { size, diagnostics, ...namedFiles(file) };
  if (!isClean(findings)) return { reading: { readable: false, ...found }, ...rest };
  // Without a name no object came from it, so nothing of the file was read before and is not read now.
  const foreign = diagnostics.find((finding) => isForeign(finding) && finding.reason !== 'GeneratedName');
  const notRead = foreign === undefined ? {} : { notRead: foreign.message };
  return { reading: { readable: true, ...found, documents, ...notRead }, ...rest };
}

/** What counts towards the limits of a revision. `documents`: the number of manifests that were read. */
export function decodedSize(file: FileDocuments, documents: number): DecodedSize {
  let nodes = 0;
  let expandedBytes = 0;
  for (const document of file.documents) {
    const { elements, members, bytes } = file.sizeOf(document);
    nodes += elements + members;
    expandedBytes += bytes;
  }
  return { documents, nodes, expandedBytes };
}

/** `read`: the number of manifests, also of those that cannot be used. */
function decodeDocuments(
  file: FileDocuments,
  options: CheckOptions,
  findings: FileFinding[],
): { readonly documents: readonly SourceDocument[]; readonly read: number } {
  const documents: SourceDocument[] = [];
  let read = 0;
  for (const { index, identity, reading, size } of checkDocuments(file, options, findings)) {
    read += 1;
    if (identity === undefined || reading.content === undefined) continue;
    const { content } = reading;
    if (content.type !== 'object') documents.push({ identity, index, content });
    else if (size === undefined || notCarried(size) === undefined) {
      const digest = objectDigest(content.value);
      documents.push({ identity, index, content: { ...content, digest, ...given({ size }) } });
    }
  }
  return { documents, read };
}

/** How the manifests of a file are checked. */
interface CheckOptions extends Required<Pick<DecodeOptions, 'decoders' | 'limits' | 'fixes'>> {
  readonly check?: DecodeOptions['check'] | undefined;
  /** Nothing is reported of such a document. */
  readonly skips?: (document: JsonObject) => boolean;
  /** Whether a problem of a document is not reported. */
  readonly ignores?: ((document: JsonValue, problem: FieldProblem) => boolean) | undefined;
  /**
   * The severity of what no engine decides: an object that an API server does not take, since a cluster may have none, and what Helm
   * or kustomize refuses. An error unless set.
   */
  readonly severity?: FieldProblem['severity'];
}

/** Reads the manifests of a file one by one, up to the limit, and adds what is found of each. */
export function* checkDocuments(
  file: FileDocuments,
  { decoders, limits, check, fixes: wantsFixes, skips, ignores, severity = 'error' }: CheckOptions,
  findings: FileFinding[],
): Generator<ReadDocument & { readonly index: number; readonly isSkipped: boolean; readonly size?: ObjectSize }> {
  // Which of two equal keys is meant must be known before anything else is changed.
  const mustNotChange = findings.some(({ diagnostic }) => diagnostic.reason === 'DuplicateKey');
  const fixes = wantsFixes && !mustNotChange;
  const completeScalars = createScalarWarnings(findings, fixes);
  const judging = createJudging();
  let index = 0;
  for (const read of readDocuments(file, decoders)) {
    const { document, path, value, reading, toolProblems = [] } = read;
    if (index >= limits.maxDocuments) {
      const message = `the file holds more than ${limits.maxDocuments} documents, items of lists among them`;
      findings.push(file.place(document, fieldError('TooManyDocuments', path, message)));
      break;
    }
    const isSkipped = skips !== undefined && isJsonObject(value) && skips(value);
    const size = largeSize(reading, file.sizeOf(document));
    const tooLarge = size === undefined ? undefined : sizeProblem(reading, size, severity);
    // No other check judges an object that is too large.
    const checkIfFit = tooLarge === undefined ? check : undefined;
    const problems = isSkipped
      ? []
      : [
          ...problemsOf(reading, checkIfFit),
          ...(tooLarge === undefined ? [] : [tooLarge]),
          ...toolProblems.map((problem) => (severity === 'warning' ? { ...problem, severity } : problem)),
        ];
    const judge = judging(value, (changed) => problemsOf(readDocument(changed, decoders), checkIfFit));
    for (const found of problems) {
      if (ignores?.(value, found) === true) continue;
      const { fix: _, ...rest } = found;
      const problem = mustNotChange ? rest : found;
      if (findings.length >= MAX_FINDINGS && (problem.severity === 'warning' || !isClean(findings))) continue;
      const shown = fixes ? withSafeFix(problem, value, problems.length, judge) : problem;
      findings.push(file.place(document, { ...shown, path: [...path, ...shown.path] }));
    }
    if (!isSkipped) completeScalars?.(document, path, value, problems, judge);
    yield { ...read, index, isSkipped, ...given({ size }) };
    index += 1;
  }
}

/** The size of the object for clusters; undefined if it is small, or the document has none. */
function largeSize({ content, object }: DocumentReading, ofDocument: ObjectSize): ObjectSize | undefined {
  // The object is a part of its document.
  if (isSmall(ofDocument)) return undefined;
  const value = content === undefined ? object : content.type === 'object' ? content.value : undefined;
  if (value === undefined) return undefined;
  const { bytes, elements, depth } = sizeOf(value);
  return isSmall({ bytes, elements, depth }) ? undefined : { bytes, elements, depth };
}

function sizeProblem(
  { content, object }: DocumentReading,
  size: ObjectSize,
  severity: FieldProblem['severity'],
): FieldProblem | undefined {
  const hint = 'make several objects of it';
  const uncarried = notCarried(size);
  if (uncarried !== undefined) return fieldError('ObjectNotCarried', [], `the object ${uncarried}`, hint);
  const value = content?.type === 'object' ? content.value : object;
  const refused = value && aboveRequest(value, size);
  if (refused === undefined) return undefined;
  return { ...fieldError('ObjectTooLarge', [], `the object ${refused}`, hint), severity };
}

function problemsOf({ problems, object }: DocumentReading, check: DecodeOptions['check']): readonly FieldProblem[] {
  if (check === undefined || object === undefined) return problems;
  const more = check(object);
  if (problems.length === 0) return more;
  if (more.length === 0) return problems;
  // One fault, one error: the check may know better what to write instead.
  const placeOf = ({ path }: FieldProblem): string => displayPath(path);
  const hints = new Map(more.map((problem) => [`${placeOf(problem)} ${problem.reason}`, problem.hint]));
  const known = new Set(problems.map((problem) => `${placeOf(problem)} ${problem.reason}`));
  const wrong = new Set(problems.filter(({ severity }) => severity === 'error').map(placeOf));
  const meant = more.flatMap((problem) => (problem.severity === 'error' ? (problem.meant ?? []).slice(0, 1) : []));
  const isElsewhere = ({ reason, path }: FieldProblem): boolean =>
    reason === 'MissingField' && path.length === 1 && meant.includes(path[0] ?? '');
  const own = problems.filter((problem) => !isElsewhere(problem));
  return [
    ...own.map((problem) => {
      const hint = hints.get(`${placeOf(problem)} ${problem.reason}`);
      return hint === undefined || problem.reason !== 'MissingField' ? problem : { ...problem, hint };
    }),
    ...more.filter((problem) => !wrong.has(placeOf(problem)) && !known.has(`${placeOf(problem)} ${problem.reason}`)),
  ];
}

/** One manifest of a file. */
interface ReadDocument {
  /** The YAML document that contains it. */
  readonly document: YamlDocument;
  /** From the root of the YAML document: empty, or an item of a list. */
  readonly path: FieldPath;
  readonly value: JsonValue;
  readonly reading: DocumentReading;
  /** See `SourceDocument.identity`; undefined if the document has no content. */
  readonly identity: string | undefined;
  /** What Helm or kustomize would say of their file. */
  readonly toolProblems?: readonly FieldProblem[];
}

/** Reads the manifests of a file one by one. */
export function* readDocuments(file: FileDocuments, decoders: Decoders): Generator<ReadDocument> {
  const ofTool = toolFileOf(file);
  const foreign = foreignProblem(file);
  const seen = new Map<string, number>();
  let text: string | undefined;
  let isMarked = false;
  for (const document of file.documents) {
    if (ofTool !== undefined) {
      const reading = { problems: [ofTool.problem] };
      const toolProblems = ofTool.schemaProblems;
      yield { document, path: [], value: document.value, reading, identity: undefined, toolProblems };
      return;
    }
    if (isJsonSchema(document.value)) continue;
    if (foreign !== undefined && document.value !== null) {
      yield { document, path: [], value: document.value, reading: { problems: [foreign] }, identity: undefined };
      return;
    }
    if (text !== document.text) {
      text = document.text;
      isMarked = text.includes(SOPS_VALUE);
    }
    for (const { path, value, problem } of flattenLists(document.value)) {
      const encrypted = isJsonObject(value) ? encryptedProblem(value, isMarked) : undefined;
      const error = isJsonObject(value) ? (encrypted ?? problem) : undefined;
      const isAlone = error !== undefined && (error === encrypted || error.severity === 'error');
      const reading = isAlone ? { problems: [error] } : withProblem(readDocument(value, decoders), error);
      const { content, identity } = reading;
      const isCounted = content !== undefined && identity !== undefined;
      yield { document, path, value, reading, identity: isCounted ? countedIdentity(identity, seen) : undefined };
    }
  }
}

/** The identity, with `#2`, `#3` and so on for a repetition in the same file. */
function countedIdentity(identity: string, seen: Map<string, number>): string {
  const count = (seen.get(identity) ?? 0) + 1;
  seen.set(identity, count);
  return count === 1 ? identity : `${identity}#${count}`;
}

function withProblem(reading: DocumentReading, problem: FieldProblem | undefined): DocumentReading {
  return problem === undefined ? reading : { ...reading, problems: [...reading.problems, problem] };
}

/** A document or an item of a list, with what is wrong with it as an item. */
interface Flattened extends Pick<ReadDocument, 'value' | 'path'> {
  readonly problem?: FieldProblem | undefined;
}

/**
 * A document, or the items of a list; nothing for an empty document. An item with neither apiVersion nor kind takes them from its
 * list (`ConfigMapList` has items of the kind ConfigMap), as for kubectl.
 */
function* flattenLists(value: JsonValue): Generator<Flattened> {
  if (value === null) return;
  const items = isListKind(value) ? value.items : undefined;
  if (!isListKind(value) || !Array.isArray(items)) {
    yield { value, path: [] };
    return;
  }
  const { apiVersion } = value;
  const kind = value.kind.slice(0, -LIST.length);
  for (const [index, item] of items.entries()) {
    const isUntyped = kind !== '' && isJsonObject(item) && (item.apiVersion ?? item.kind ?? null) === null;
    const typed = isUntyped ? { ...item, apiVersion, kind } : item;
    yield { value: typed, path: ['items', index], problem: itemProblem(typed, value.kind, kind) };
  }
}

/** @param itemKind the kind of the items of a typed list; empty for a `List` */
function itemProblem(item: JsonValue, listKind: string, itemKind: string): FieldProblem | undefined {
  if (!isJsonObject(item)) return undefined;
  if (isListKind(item) && Array.isArray(item.items)) {
    return fieldError('WrongValue', ['kind'], 'a list cannot be an item of a list', 'move its items to the outer list');
  }
  if (itemKind === '' || typeof item.kind !== 'string' || item.kind === itemKind) return undefined;
  const message = `kubectl checks each item of a ${listKind} as a ${itemKind}`;
  return fieldWarning('WrongValue', ['kind'], message, 'write the kind List for items of several kinds');
}

const LIST = 'List';

/** Whether the value is a list: of a kind that ends with `List`, and with items, which only `List` itself can lack. */
function isListKind(value: JsonValue | undefined): value is JsonObject & { readonly kind: string } {
  if (!isJsonObject(value) || typeof value.kind !== 'string' || !value.kind.endsWith(LIST)) return false;
  return (value.items ?? null) !== null || (value.apiVersion === 'v1' && value.kind === LIST);
}

/** The group of fleetrelay: a kind of it that is not an engine kind is a mistake, and no object for clusters. */
const OWN_GROUP = 'fleetrelay.dev';
const OWN_KINDS: readonly string[] = engineKindIds.filter((id) => engineKinds[id].group === OWN_GROUP).sort();

/** The kinds with Kuma's flat form. */
const UNIVERSAL_KINDS = engineKindIds.filter((id) => engineKindRow(id).universal !== undefined);

function readDocument(document: JsonValue, decoders: Decoders): DocumentReading {
  if (!isJsonObject(document)) {
    const message = `a manifest must be a mapping, not ${typeWord(document)}`;
    const hint = 'if the file is no manifest, list it in .fleetrelayignore';
    return { problems: [fieldError('NotAnObject', [], message, hint)] };
  }
  // The items of every other list were read one by one.
  if (isListKind(document)) return { problems: [itemsProblem(document.items)] };
  const { apiVersion, kind, type } = document;
  if (typeof type === 'string' && apiVersion === undefined && kind === undefined)
    return readUniversal(type, document, decoders);
  if (apiVersion === undefined && kind === undefined) return { problems: [noManifest(document)] };
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return readObject(document);
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  if (group === OWN_GROUP && kind === 'RelayConfig') {
    const message = "RelayConfig is the server's own file; a repository cannot hold it";
    const hint = 'give it to the server with --config; what a repository may set is in FleetPolicy';
    return { problems: [fieldError('ServerConfigInRepository', ['kind'], message, hint)] };
  }
  const id = engineKindOf(group, kind);
  if (id === undefined && group === OWN_GROUP) {
    const message = `the kind ${quote(kind)} of ${OWN_GROUP} is not known; known are ${OWN_KINDS.join(', ')}`;
    return { problems: [fieldError('UnknownKind', ['kind'], message, didYouMean(kind, OWN_KINDS))] };
  }
  if (id === undefined) return readObject(document);
  const { versions } = engineKindRow(id);
  if (versions.includes(apiVersion.slice(slash + 1))) return readDeclaration(id, document, decoders);
  const known = versions.map((version) => `${group}/${version}`).join(', ');
  const message = `the version ${quote(apiVersion)} of ${kind} is not known; known is ${known}`;
  return { problems: [fieldError('UnknownVersion', ['apiVersion'], message)] };
}

function itemsProblem(items: JsonValue | undefined): FieldProblem {
  if (items === undefined) return fieldError('MissingField', ['items'], 'items is missing');
  return fieldError('WrongType', ['items'], `items must be a list, not ${typeWord(items)}`);
}

/** Reads Kuma's flat form, which has a type and neither apiVersion nor kind. */
function readUniversal(type: string, document: JsonObject, decoders: Decoders): DocumentReading {
  const id = UNIVERSAL_KINDS.find((each) => engineKinds[each].kind === type);
  if (id !== undefined) return readDeclaration(id, document, decoders);
  const kinds = UNIVERSAL_KINDS.map((each): string => engineKinds[each].kind);
  const message = `the type ${quote(type)} is not known; of the resources that Kuma writes with a type, only ${kinds.join(', ')} is read`;
  const hint = didYouMean(type, kinds) ?? 'a manifest has apiVersion and kind';
  return { problems: [fieldError('UnknownKind', ['type'], message, hint)] };
}

function readDeclaration(id: EngineKind, document: JsonObject, decoders: Decoders): DocumentReading {
  const decoded: Decoded<DeclarationValues[EngineKind]> = decoders[id](document);
  const { problems, metadata, value } = decoded;
  if (metadata === undefined) return { problems };
  const { namespace = '', name, parent } = metadata;
  const { group, kind } = engineKinds[id];
  const identity = `${group}/${kind}/${namespace}/${name}${parent === undefined ? '' : `@${parent}`}`;
  if (value === undefined || !isReadable(problems)) return { identity, problems };
  const key = declarationKey(id, { ...metadata, namespace });
  // Each decoder makes the value of its kind.
  const content = { type: 'declaration', kind: id, key, namespace, name, value } as Declaration;
  return { identity, problems, content };
}
