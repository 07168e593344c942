import { builtInKindScope, type KindScope } from '../objects/kinds.ts';
import type { ObjectRef } from '../objects/object-key.ts';
import type { WrittenPath } from '../text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, textOf, textsOf } from '../text/json.ts';
import { matchesAnyName } from '../text/name-glob.ts';
import type { DeclarationValues, DocumentContent } from './desired.ts';
import { type EngineKind, engineKindOf, engineKindRow } from './engine-kinds.ts';

/** What the RelayConfig grants to a source, as written: `sources[].allow`. In every list `*` stands for any characters. */
export interface SourceAllow {
  /** `Kind.group`, or `Kind` for an engine kind or a kind of the core group. */
  readonly kinds?: readonly string[];
  /** Namespaces of the objects that it ships to clusters. */
  readonly namespaces?: readonly string[];
  /** Keys of the labels of its KubernetesClusters. */
  readonly labelKeys?: readonly string[];
  /** Names of its KubernetesClusters. */
  readonly declares?: readonly string[];
  /** Meshes of its Dataplanes. */
  readonly meshes?: readonly string[];
  /** Services of its Dataplanes. One that is named without `*` may be one that another source has too. */
  readonly services?: readonly string[];
  /** Clusters that its declarations reach. */
  readonly targets?: readonly string[];
  /** Other sources whose files its Placements select. */
  readonly files?: readonly string[];
}

/** What a source may do. A list that is absent restricts nothing. A source without rights may do everything. */
export interface SourceRights extends Omit<SourceAllow, 'kinds' | 'files'> {
  /** `all` kinds; `usual`: all but those that say something of the whole fleet. */
  readonly kinds: 'all' | 'usual' | readonly string[];
  readonly files: readonly string[];
  /** The name of the first source; absent: this is the first one. */
  readonly first?: string;
}

/** Why a source may not say something. */
export interface RightsRefusal {
  readonly reason: 'NotAllowed';
  readonly message: string;
  /** What to write in the RelayConfig. */
  readonly hint?: string;
  /** The value that is refused; absent: the whole document. */
  readonly field?: WrittenPath;
}

/**
 * The rights of each source, in the order of the sources. An only source without `allow` has none, and so may do everything.
 * The first source may declare everything, and the others all but the kinds of the first source.
 */
export function rightsOfSources(
  sources: readonly { readonly name: string; readonly allow?: SourceAllow }[],
): ReadonlyMap<string, SourceRights> {
  const rights = sources.map(({ name, allow = {} }, order): readonly [string, SourceRights] => {
    const { kinds, files = [], ...lists } = allow;
    const first = { kinds: kinds ?? ('all' as const), files, ...lists };
    if (order === 0) return [name, first];
    const other = { labelKeys: [], meshes: [], ...first, kinds: kinds ?? ('usual' as const) };
    return [name, { ...other, first: sources[0]?.name ?? '' }];
  });
  return new Map(sources.length === 1 && sources[0]?.allow === undefined ? [] : rights);
}

/** The `allow` with which another source has the rights of this one, and selects its files. */
export function sameRightsAs({
  name,
  allow = {},
}: {
  readonly name: string;
  readonly allow?: SourceAllow;
}): SourceAllow {
  return {
    kinds: ['*'],
    labelKeys: ['*'],
    meshes: ['*'],
    ...allow,
    files: [...new Set([name, ...(allow.files ?? [])])],
  };
}

/** Whether a Placement of a source may select files of a source. */
export function selectsFilesOf(rights: SourceRights | undefined, own: string, other: string): boolean {
  return rights === undefined || own === other || rights.files.includes(other);
}

/**
 * Whether what a source declares may concern what another one has: a cluster that this one declares, or a service that it has. The
 * first source may, and one that selects the files of the other: these reach further.
 */
export function mayConcern(rights: SourceRights | undefined, own: string, other: string | undefined): boolean {
  if (rights?.first === undefined) return true;
  return other !== undefined && selectsFilesOf(rights, own, other);
}

/** Whether what a source declares may concern a cluster. */
export function reaches(rights: SourceRights | undefined, cluster: string): boolean {
  return rights?.targets === undefined || matchesAnyName(rights.targets, cluster);
}

/** Why a source may not reach a cluster. */
export function outOfReach(source: string, cluster: string): string {
  return `source ${source} may not reach cluster ${cluster} (allow.targets of the source in the RelayConfig)`;
}

/** Why a source may not have a document of this content; undefined: it may. `judges`: of the domains. */
export function refusalOf(
  rights: SourceRights | undefined,
  source: string,
  content: DocumentContent,
  judges: DeclarationJudges,
): RightsRefusal | undefined {
  if (rights === undefined) return undefined;
  if (content.type === 'declaration') return refusedDeclaration(rights, source, content, judges);
  return refusedObject(rights, source, content.ref);
}

/** Why a source may not ship an object; undefined: it may, as far as the document says it. */
export function refusedObject(
  rights: SourceRights | undefined,
  source: string,
  ref: ObjectRef,
): RightsRefusal | undefined {
  if (rights === undefined) return undefined;
  if (!allowsKind(rights, ref)) return notThisKind(source, ref);
  return refusedNamespace(rights, source, ref, builtInKindScope(ref.group, ref.kind));
}

function refusedDeclaration(
  rights: SourceRights,
  source: string,
  content: Extract<DocumentContent, { readonly type: 'declaration' }>,
  judges: DeclarationJudges,
): RightsRefusal | undefined {
  const { group, kind } = engineKindRow(content.kind);
  // Only the flat form has a mesh in its key, and names its kind so.
  const field = content.key.includes('@') ? 'type' : 'kind';
  if (!allowsKind(rights, { group, kind })) return notThisKind(source, { group, kind }, field);
  const judge = { KubernetesCluster: refusedCluster, ...judges }[content.kind] as Judge<EngineKind> | undefined;
  return judge?.(rights, source, content.value, content.key);
}

/** Why a source may not have this declaration of a kind that it may have; `key`: see `declarationKey`. */
type Judge<Kind extends EngineKind> = (
  rights: SourceRights,
  source: string,
  value: DeclarationValues[Kind],
  key: string,
) => RightsRefusal | undefined;

/** What the declarations of kinds must be within, by kind. */
export type DeclarationJudges = { readonly [Kind in EngineKind]?: Judge<Kind> };

function refusedCluster(
  rights: SourceRights,
  source: string,
  { name, labels }: DeclarationValues['KubernetesCluster'],
): RightsRefusal | undefined {
  if (rights.declares !== undefined && !matchesAnyName(rights.declares, name)) {
    return notAllowed(source, `declare a cluster of this name: ${name}`, 'declares', ['metadata', 'name']);
  }
  const { labelKeys } = rights;
  const label = labelKeys && Object.keys(labels).find((key) => !matchesAnyName(labelKeys, key));
  return label === undefined
    ? undefined
    : notAllowed(source, `set the label ${label} of a KubernetesCluster`, 'labelKeys', ['metadata', 'labels', label]);
}

/**
 * Why an object of this kind may not lie in this namespace; undefined: it may. With `namespaces`, the name of a Namespace
 * counts, and other objects without a namespace need their kind in `kinds`.
 *
 * @param scope undefined: it is unknown whether the kind is namespaced
 */
export function refusedNamespace(
  rights: SourceRights | undefined,
  source: string,
  { group, kind, namespace, name }: ObjectRef,
  scope: KindScope | undefined,
): RightsRefusal | undefined {
  if (rights?.namespaces === undefined) return undefined;
  if (group === '' && kind === 'Namespace') {
    if (matchesAnyName(rights.namespaces, name)) return undefined;
    return notAllowed(source, `ship the Namespace ${name}`, 'namespaces', ['metadata', 'name']);
  }
  if (scope === 'Cluster' || (scope === undefined && namespace === '')) {
    if (typeof rights.kinds === 'object') return undefined;
    return notAllowed(source, `ship a ${kind}, which has no namespace`, 'kinds', ['kind']);
  }
  const actual = namespace === '' ? 'default' : namespace;
  if (matchesAnyName(rights.namespaces, actual)) return undefined;
  const field = namespace === '' ? ['metadata', 'name'] : ['metadata', 'namespace'];
  return notAllowed(source, `ship objects in the namespace ${actual}`, 'namespaces', field);
}

type KindRef = Pick<ObjectRef, 'group' | 'kind'>;

/** Whether a source may have documents of a kind. */
export function allowsKind({ kinds, declares }: SourceRights, ref: KindRef): boolean {
  if (kinds === 'all') return true;
  if (kinds !== 'usual') return namesKind(kinds, ref);
  const id = engineKindOf(ref.group, ref.kind);
  if (id === undefined || engineKindRow(id).sources === 'each') return true;
  // Who may declare clusters by name may have documents that do.
  return engineKindRow(id).within === 'clusterNames' && declares !== undefined;
}

function namesKind(kinds: readonly string[], ref: KindRef): boolean {
  const { group, kind } = ref;
  const isShort = engineKindOf(group, kind) !== undefined;
  return matchesAnyName(kinds, group === '' ? kind : `${kind}.${group}`) || (isShort && matchesAnyName(kinds, kind));
}

function notThisKind(source: string, { group, kind }: KindRef, field = 'kind'): RightsRefusal {
  const isOwn = group === '' || engineKindOf(group, kind) !== undefined;
  return notAllowed(source, `have documents of the kind ${isOwn ? kind : `${kind}.${group}`}`, 'kinds', [field]);
}

/** The refusal of something that the list `allow.LIST` of a source does not have; `what`: as after "may not". */
export function notAllowed(source: string, what: string, list: keyof SourceAllow, field: WrittenPath): RightsRefusal {
  const message = `source ${source} may not ${what} (allow.${list} of the source in the RelayConfig)`;
  return { reason: 'NotAllowed', message, field };
}

/** The JSON of rights in the record of an admission. */
export function rightsJson(rights: SourceRights): JsonObject {
  return { ...rights } as unknown as JsonObject;
}

/** Rights of the record of an admission; undefined: the record has none. What cannot be read grants nothing. */
export function parseRights(value: JsonValue | undefined): SourceRights | undefined {
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) return { kinds: [], files: [] };
  const { kinds } = value;
  const lists = (['namespaces', 'labelKeys', 'declares', 'meshes', 'services', 'targets'] as const).flatMap((name) =>
    value[name] === undefined ? [] : [[name, textsOf(value[name])] as const],
  );
  return {
    kinds: kinds === 'all' || kinds === 'usual' ? kinds : textsOf(kinds),
    files: textsOf(value.files),
    ...(value.first === undefined ? {} : { first: textOf(value.first) }),
    ...Object.fromEntries(lists),
  };
}
