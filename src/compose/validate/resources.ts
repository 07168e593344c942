import type { FieldProblem } from '../../manifest/problem.ts';
import { folderOf, isChartName } from '../../manifest/tool-files.ts';
import type { DecodedFile } from '../../model/desired.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { JsonValue } from '../../model/json.ts';
import type { ToolFolders } from '../../sources/tree/tool-folders.ts';

/** A file that kustomize reads as manifests, so that it is checked, and that is no desired state here. */
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
  const patched = reachedFrom(kustomizations, ({ isPatching }) => isPatching);
  const named = reachedFrom(kustomizations, ({ isNaming }) => isNaming);
  return (path) => {
    const isListed = listed.has(path);
    const folders = foldersOf(path);
    if (folders.some((folder) => charts.has(folder))) return undefined;
    if (!isListed && (others.has(path) || folders.some((folder) => others.has(folder)))) return undefined;
    const isIn = (parts: ReadonlySet<string>): boolean =>
      parts.has(path) || folders.some((folder) => parts.has(folder));
    return { isPatched: isIn(patched), isNamed: isIn(named) };
  };
}

type Known = NonNullable<DecodedFile['kustomization']>;

/** The files and folders that are resources of a kustomization that satisfies `isOne`, also by way of others. */
function reachedFrom(
  kustomizations: readonly (readonly [string, DecodedFile])[],
  isOne: (kustomization: Known) => boolean,
): ReadonlySet<string> {
  const byFolder = new Map(kustomizations.map(([path, { kustomization }]) => [folderOf(path), kustomization] as const));
  const reached = new Set<string>();
  const open = kustomizations.flatMap(([, { kustomization }]) =>
    kustomization !== undefined && isOne(kustomization) ? kustomization.resources : [],
  );
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (reached.has(part)) continue;
    reached.add(part);
    for (const resource of byFolder.get(part)?.resources ?? []) open.push(resource);
  }
  return reached;
}

function foldersOf(path: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = folderOf(path); folder !== ''; folder = folderOf(folder)) folders.push(folder);
  return [...folders, ''];
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
