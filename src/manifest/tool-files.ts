import type { FieldPath } from '../model/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf, textOf, textsOf } from '../model/json.ts';
import { type FieldProblem, fieldError } from './problem.ts';

/** What a file of another tool is, and which other files belong to it. */
export interface ToolFile {
  readonly problem: FieldProblem;
  /** Files and folders, relative to the root of the source; empty text is the root. */
  readonly parts: readonly string[];
}

/** Whether the name is that of a file by which Helm or kustomize know a folder. */
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
  const problem = fieldError('Kustomization', [], message, hint);
  return { problem, parts: isKustomizationName(path) ? kustomizationParts(path, value) : [] };
}

function chart(path: string, { apiVersion, name, version, kind }: JsonObject): ToolFile | undefined {
  const isChart = (apiVersion === 'v1' || apiVersion === 'v2') && kind === undefined;
  if (!isChart || typeof name !== 'string' || (typeof version !== 'string' && typeof version !== 'number')) {
    return undefined;
  }
  const folder = folderOf(path);
  const message = `the folder ${folder === '' ? 'of the source' : JSON.stringify(folder)} is a Helm chart; what it renders to is not read`;
  const hint = 'commit what `helm template` prints instead, and list the folder in .fleetrelayignore';
  return { problem: fieldError('HelmChart', [], message, hint), parts: [folder] };
}

const LISTS_OF_FILES = [
  ...['resources', 'bases', 'components', 'crds', 'configurations', 'transformers', 'generators', 'validators'],
  'patchesStrategicMerge',
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
  return { ...fieldError('EncryptedFile', path, message, hint), atKey: true };
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
];

/** The problem of a mapping that has neither apiVersion nor kind. */
export function noManifest(document: JsonObject): FieldProblem {
  const known = KNOWN_FILES.find(([, isOne]) => isOne(document))?.[0];
  const what = known === undefined ? 'it has neither apiVersion nor kind' : `it looks like ${known}`;
  return fieldError('NoManifest', [], `this is no manifest: ${what}`, 'list the file in .fleetrelayignore');
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The folder of a file; empty for the root of the source. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
