import type { FindingReason } from '../model/fleet/diagnostic.ts';
import { engineKindIds, engineKindRow, engineKinds } from '../model/fleet/engine-kinds.ts';
import type { FieldPath } from '../model/text/field-path.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '../model/text/json.ts';
import { type FieldProblem, fieldError, fieldWarning } from './problem.ts';
import { chartProblems, kustomizationProblems } from './tool-schemas.ts';

/** What a file of another tool is, and which other files belong to it. */
export interface ToolFile {
  readonly problem: FieldProblem;
  /** What its own tool would say of it. */
  readonly schemaProblems: readonly FieldProblem[];
  /** Files and folders, relative to the root of the source; empty text is the root. */
  readonly parts: readonly string[];
  /** Of a kustomization. */
  readonly kustomization?: Kustomization;
}

/** What is known of the files that a kustomization names. */
export interface Kustomization {
  /** Files and folders with manifests, of its parts. */
  readonly resources: readonly string[];
  /** It changes fields of its resources, so that they can lack some. */
  readonly isPatching: boolean;
  /** It changes names or namespaces of its resources, so that they can have any. */
  readonly isNaming: boolean;
}

/**
 * Findings of documents for other tools. They are warnings, because a repository may hold such files beside its desired state; where
 * desired state is wanted of the file they are errors.
 */
export const FOREIGN_REASONS: readonly FindingReason[] = [
  'HelmChart',
  'Kustomization',
  'EncryptedFile',
  'NoManifest',
  'GeneratedName',
];

/** Whether Helm or kustomize know a folder by a file of this name. */
export function isToolFileName(path: string): boolean {
  return isChartName(path) || isKustomizationName(path);
}

export function isChartName(path: string): boolean {
  return nameOf(path) === 'Chart.yaml';
}

function isKustomizationName(path: string): boolean {
  return /^(?:kustomization\.ya?ml|Kustomization)$/.test(nameOf(path));
}

/** Recognises the file of a Helm chart or of kustomize by its name and its only document. Undefined: it is neither. */
export function toolFile(path: string, value: JsonValue): ToolFile | undefined {
  if (!isJsonObject(value)) return undefined;
  if (isChartName(path)) return chart(path, value);
  const isOfKustomize = textOf(value.apiVersion).startsWith('kustomize.config.k8s.io/');
  const isBare = value.apiVersion === undefined && (value.kind === undefined || value.kind === 'Kustomization');
  if (!isOfKustomize && !(isBare && isKustomizationName(path))) return undefined;
  const message = 'this is a kustomization; what it renders to is not read';
  const hint =
    'commit what `kubectl kustomize` prints instead, or list this file in .fleetrelayignore if its resources are complete';
  const problem = fieldWarning('Kustomization', [], message, hint);
  const schemaProblems = kustomizationProblems(value);
  if (!isKustomizationName(path)) return { problem, schemaProblems, parts: [] };
  const isPatching = PATCHING.some((field) => isFilled(value[field]));
  const resources = resolved(
    path,
    RESOURCES.flatMap((field) => textsOf(value[field])),
  );
  return {
    problem,
    schemaProblems,
    parts: kustomizationParts(path, value),
    kustomization: { resources, isPatching, isNaming: NAMING.some((field) => textOf(value[field]) !== '') },
  };
}

function chart(path: string, value: JsonObject): ToolFile | undefined {
  const { apiVersion, kind } = value;
  if ((apiVersion !== 'v1' && apiVersion !== 'v2') || kind !== undefined) return undefined;
  const folder = folderOf(path);
  const message = `the folder ${folder === '' ? 'of the source' : JSON.stringify(folder)} is a Helm chart; what it renders to is not read`;
  const hint = 'commit what `helm template` prints instead, and list the folder in .fleetrelayignore';
  return {
    problem: fieldWarning('HelmChart', [], message, hint),
    schemaProblems: chartProblems(value),
    parts: [folder],
  };
}

const RESOURCES = ['resources', 'bases', 'components'];
/** Fields that change resources. A component may have any of them, and changes the resources beside it. */
const PATCHING = [
  'patches',
  'patchesStrategicMerge',
  'patchesJson6902',
  'replacements',
  'transformers',
  'components',
  'vars',
  // They are added to selectors and templates, which are created if they are missing.
  'commonLabels',
  'labels',
];

/** Fields that change names. A Namespace is named after the field `namespace`. */
const NAMING = ['namespace', 'namePrefix', 'nameSuffix'];

function isFilled(value: JsonValue | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && Object.keys(value).length > 0;
}

const LISTS_OF_FILES = [
  ...RESOURCES,
  ...'crds configurations transformers generators validators patchesStrategicMerge'.split(' '),
];
const LISTS_OF_PATHS = ['patches', 'patchesJson6902', 'replacements'];

/** The files and folders in the tree that a kustomization names. */
function kustomizationParts(path: string, value: JsonObject): readonly string[] {
  const generators = ['configMapGenerator', 'secretGenerator'].flatMap((field) => objectsOf(value[field]));
  const inflators = [...objectsOf(value.helmCharts), ...objectsOf(value.helmChartInflationGenerator)];
  const names = [
    ...LISTS_OF_FILES.flatMap((field) => textsOf(value[field])),
    ...LISTS_OF_PATHS.flatMap((field) => objectsOf(value[field]).map((each) => textOf(each.path))),
    // `key=path` names the key of the file.
    ...generators.flatMap(({ files }) => textsOf(files).map((file) => file.slice(file.indexOf('=') + 1))),
    ...generators.flatMap(({ envs, env }) => [...textsOf(envs), textOf(env)]),
    ...inflators.flatMap(({ valuesFile, values, additionalValuesFiles }) => [
      textOf(valuesFile),
      textOf(values),
      ...textsOf(additionalValuesFiles),
    ]),
    ...(inflators.length > 0 ? [textOf(objectOf(value.helmGlobals).chartHome) || 'charts'] : []),
    textOf(objectOf(value.openapi).path),
  ];
  return resolved(path, names);
}

/** The files and folders in the tree that names in a kustomization stand for. */
function resolved(path: string, names: readonly string[]): readonly string[] {
  const folder = folderOf(path);
  const parts = names.map((name) => resolvePath(folder, name)).filter((part) => part !== undefined);
  // A kustomization cannot be a part of itself.
  return parts.filter((part) => part !== '' && part !== folder && !folder.startsWith(`${part}/`));
}

/** The path in the source that a name stands for; undefined: it leads out of the source, or is inline text. */
function resolvePath(folder: string, name: string): string | undefined {
  if (name === '' || name.includes('\n') || name.startsWith('/')) return undefined;
  const steps = folder === '' ? [] : folder.split('/');
  for (const step of name.split('/')) {
    if (step === '..' && steps.pop() === undefined) return undefined;
    if (step !== '..' && step !== '.' && step !== '') steps.push(step);
  }
  return steps.join('/');
}

/** Whether a document is a JSON Schema, such as editors and other validators read: it holds nothing for a cluster. */
export function isJsonSchema(value: JsonValue): boolean {
  if (!isJsonObject(value) || value.apiVersion !== undefined || value.kind !== undefined) return false;
  return /^https?:\/\/json-schema\.org\//.test(textOf(value.$schema));
}

/** The text by which SOPS writes a value. */
export const SOPS_VALUE = 'ENC[AES256_GCM,';

/** The problem of a document that SOPS has encrypted; undefined if it has not. `mayHoldValues`: the text has {@link SOPS_VALUE}. */
export function encryptedProblem(document: JsonObject, mayHoldValues: boolean): FieldProblem | undefined {
  // The operator that reads this kind decrypts it in the cluster.
  if (document.kind === 'SopsSecret') return undefined;
  const { sops } = document;
  const isSops = isJsonObject(sops) && ['mac', 'lastmodified', 'version'].some((field) => Object.hasOwn(sops, field));
  const path = isSops ? ['sops'] : mayHoldValues ? encryptedValue(document) : undefined;
  if (path === undefined) return undefined;
  const message = 'SOPS has encrypted this document, and it is not decrypted here';
  const hint =
    'commit a kind that a controller of the cluster decrypts (SealedSecret, ExternalSecret, SopsSecret), or list the file in .fleetrelayignore';
  return { ...fieldWarning('EncryptedFile', path, message, hint), atKey: true };
}

function encryptedValue(value: JsonValue | undefined): FieldPath | undefined {
  if (typeof value === 'string') return value.startsWith(SOPS_VALUE) && value.endsWith(']') ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const path = encryptedValue(member);
    if (path !== undefined) return [Array.isArray(value) ? Number(key) : key, ...path];
  }
  return undefined;
}

/** Files of other tools, by fields that they always have. */
const KNOWN_FILES: readonly (readonly [name: string, isOne: (document: JsonObject) => boolean])[] = [
  // The key `on` without quotes is read as true.
  ['a GitHub workflow', ({ jobs, on, true: unquoted }) => isJsonObject(jobs) && (on ?? unquoted) !== undefined],
  ['a Docker Compose file', ({ services }) => isJsonObject(services)],
  ['an OpenAPI document', ({ openapi, swagger }) => openapi !== undefined || swagger !== undefined],
  ['a configuration of pre-commit', ({ repos }) => Array.isArray(repos)],
  ['a configuration of Skaffold', isSkaffold],
];

/** The problem of a mapping that has neither apiVersion nor kind, beside manifests in its file. */
export function noManifest(document: JsonObject): FieldProblem {
  const hint = 'move it to a file of its own, or list the file in .fleetrelayignore';
  return fieldError('NoManifest', [], `this is no manifest: ${whatItIs(document)}`, hint);
}

/**
 * The problem of a file whose documents are not for clusters: each is a list, or a mapping with neither apiVersion nor kind.
 * Undefined: one of them may be a manifest, or there is none.
 */
export function noManifestFile(values: readonly JsonValue[]): FieldProblem | undefined {
  const filled = values.filter((value) => value !== null);
  const first = filled.find((value) => isJsonObject(value)) ?? filled[0];
  if (first === undefined || !filled.every(isOfOtherTool)) return undefined;
  return notAManifest(isJsonObject(first) ? whatItIs(first) : NEITHER);
}

const NEITHER = 'it has neither apiVersion nor kind';

function whatItIs(document: JsonObject): string {
  const known = KNOWN_FILES.find(([, isOne]) => isOne(document))?.[0];
  return known === undefined ? NEITHER : `it looks like ${known}`;
}

function isOfOtherTool(value: JsonValue): boolean {
  if (Array.isArray(value)) return !value.some(isManifestLike);
  if (!isJsonObject(value)) return false;
  if (isSkaffold(value)) return true;
  // Both names in other letters are a mistake of a manifest.
  const names = new Set(Object.keys(value).map((name) => name.toLowerCase()));
  if (names.has('apiversion') && names.has('kind')) return false;
  // A number is the version of a format, as in a data source of Grafana.
  const isVersioned = value.apiVersion !== undefined && typeof value.apiVersion !== 'number';
  return !isVersioned && value.kind === undefined && !isFlatForm(value);
}

/** Whether an item of a list looks like a manifest: then the list is meant to be several of them. */
function isManifestLike(item: JsonValue): boolean {
  return isJsonObject(item) && item.apiVersion !== undefined && item.kind !== undefined;
}

/** Files of other tools whose text need not be YAML or JSON: templates, and JSON with comments. */
const FILES_OF_OTHER_SYNTAX: readonly (readonly [what: string, path: RegExp])[] = [
  ['a helmfile', /(?:^|\/)helmfile(?:\.ya?ml|\.d\/[^/]+\.ya?ml)$/],
  ['a configuration of TypeScript', /(?:^|\/)[jt]sconfig(?:\.[^/]+)?\.json$/],
];

/** The problem of a file that is known by its name alone; undefined: it is not. */
export function namedOfOtherTool(path: string): FieldProblem | undefined {
  const what = FILES_OF_OTHER_SYNTAX.find(([, name]) => name.test(path))?.[0];
  return what === undefined ? undefined : notAManifest(`it looks like ${what}`);
}

function notAManifest(what: string): FieldProblem {
  return fieldWarning(
    'NoManifest',
    [],
    `the file is not read: ${what}`,
    'list it in .fleetrelayignore to be told no more',
  );
}

/** The types of Kuma's flat form that are read. */
const FLAT_TYPES: readonly string[] = engineKindIds
  .filter((id) => engineKindRow(id).universal !== undefined)
  .map((id) => engineKinds[id].kind);

/** Whether a document looks like a resource of Kuma in its flat form. */
function isFlatForm({ type, mesh, name }: JsonObject): boolean {
  if (typeof type !== 'string') return false;
  return FLAT_TYPES.includes(type) || (mesh ?? name) !== undefined;
}

/** It has apiVersion and kind, and no group that an API server could have. */
function isSkaffold({ apiVersion, kind }: JsonObject): boolean {
  return kind === 'Config' && textOf(apiVersion).startsWith('skaffold/');
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The folder of a file; empty for the root of the source. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
