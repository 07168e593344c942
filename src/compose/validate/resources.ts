import type { FieldProblem } from '../../manifest/problem.ts';
import { folderOf, isChartName } from '../../manifest/tool-files.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import type { FieldPath } from '../../model/text/field-path.ts';
import { selfAndAncestors } from '../../model/text/glob.ts';
import type { JsonValue } from '../../model/text/json.ts';
import type { ToolFolders } from '../../sources/tree/tool-folders.ts';

/** A file that kustomize reads as manifests. It is checked, and is no desired state. */
export interface KustomizeResource {
  /** A kustomization changes its fields, so that it can lack some. */
  readonly isPatched: boolean;
  /** A kustomization changes its name or namespace. */
  readonly isNamed: boolean;
}

/**
 * Returns a function that says whether a file that belongs to a chart or kustomization holds manifests. Undefined: it is a part of a
 * chart, a patch, or what a kustomization makes something of.
 */
export function kustomizeResources(tools: ToolFolders): (path: string) => KustomizeResource | undefined {
  const files = [...tools.files];
  const charts = new Set(files.flatMap(([path, { parts = [] }]) => (isChartName(path) ? parts : [])));
  const kustomizations = files.filter(([path, { parts }]) => !isChartName(path) && parts !== undefined);
  const listed = new Set(kustomizations.flatMap(([, { kustomization }]) => kustomization?.resources ?? []));
  const others = new Set(kustomizations.flatMap(([, { parts = [] }]) => parts.filter((part) => !listed.has(part))));
  const folders = new Set(kustomizations.map(([path]) => folderOf(path)));
  const patched = reachedFrom(kustomizations, (_, { isPatching }) => isPatching);
  const named = reachedFrom(kustomizations, (_, { isNaming }) => isNaming);
  return (path) => {
    const isListed = listed.has(path);
    const around = foldersOf(path);
    if (around.some((folder) => charts.has(folder))) return undefined;
    if (!isListed && (others.has(path) || around.some((folder) => others.has(folder)))) return undefined;
    // kustomize reads what the kustomization of a given folder lists.
    if (!isListed && around.some((folder) => listed.has(folder) && folders.has(folder))) return undefined;
    return { isPatched: liesIn(patched, path), isNamed: liesIn(named, path) };
  };
}

/** The files and folders that are resources of kustomizations whose path satisfies `isOne`, also by way of others. */
export function resourcesOf({ files }: ToolFolders, isOne: (path: string) => boolean): ReadonlySet<string> {
  return reachedFrom([...files], isOne);
}

/** Whether a file is one of the parts, or lies in one. */
export function liesIn(parts: ReadonlySet<string>, path: string): boolean {
  return parts.size > 0 && (parts.has(path) || foldersOf(path).some((folder) => parts.has(folder)));
}

type Known = NonNullable<DecodedFile['kustomization']>;

/** The files and folders that are resources of a kustomization that satisfies `isOne`, also by way of others. */
function reachedFrom(
  kustomizations: readonly (readonly [string, DecodedFile])[],
  isOne: (path: string, kustomization: Known) => boolean,
): ReadonlySet<string> {
  const byFolder = new Map(kustomizations.map(([path, { kustomization }]) => [folderOf(path), kustomization] as const));
  const reached = new Set<string>();
  const open = kustomizations.flatMap(([path, { kustomization }]) =>
    kustomization !== undefined && isOne(path, kustomization) ? kustomization.resources : [],
  );
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (reached.has(part)) continue;
    reached.add(part);
    for (const resource of byFolder.get(part)?.resources ?? []) open.push(resource);
  }
  return reached;
}

function foldersOf(path: string): readonly string[] {
  return selfAndAncestors(path).slice(1);
}

/** Fields that kustomize needs of a resource before any patch. */
const NEEDED: readonly (string | number | undefined)[] = ['apiVersion', 'kind', 'metadata'];
/** A variable that Flux replaces after kustomize. */
const VARIABLE = /\$\{[^}]*\}/;

/** Whether a problem can be gone in what kustomize makes of the resource: a patch gives the field, or a variable its value. */
export function isCompletedLater(
  { isPatched, isNamed }: KustomizeResource,
  value: JsonValue,
  { reason, path }: FieldProblem,
): boolean {
  const isName = path[0] === 'metadata' && (path[1] === 'name' || path[1] === 'namespace');
  if (isName && (isNamed || isPatched) && (reason === 'BadName' || reason === 'BadIdentity')) return true;
  if (isPatched && (reason === 'MissingField' || reason === 'WrongChoice')) return !NEEDED.includes(path[0]);
  const found = valueAt(value, path);
  return typeof found === 'string' && VARIABLE.test(found);
}

function valueAt(value: JsonValue, path: FieldPath): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Readonly<Record<string | number, JsonValue | undefined>>)[step];
  }
  return at;
}
