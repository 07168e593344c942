import { type EngineKind, engineKindIds, engineKindRow, engineKinds } from '../../model/fleet/engine-kinds.ts';
import { isNameOf, namedAmong, type ObjectName } from '../../model/fleet/explain-query.ts';
import { isKindWord } from '../../model/objects/kinds.ts';
import { displayKey, isStatusKey, type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import type { Engine } from '../graph.ts';

/** The object that a name means in one cluster. */
export type FoundObject =
  | { readonly type: 'found'; readonly key: ObjectKey }
  | { readonly type: 'ambiguous'; readonly names: readonly string[] }
  | { readonly type: 'none'; readonly elsewhere: readonly string[] };

/** Finds an object among the outputs of a cluster. */
export function findObject(engine: Engine, cluster: string, name: ObjectName): FoundObject {
  const keys = keysIn(engine, cluster, name);
  const [key] = keys;
  if (key !== undefined && keys.length === 1) return { type: 'found', key };
  if (keys.length > 1) return { type: 'ambiguous', names: keys.map(displayKey) };
  return { type: 'none', elsewhere: clustersWith(engine, name) };
}

/** The clusters with such an object among their outputs, in canonical order. */
export function clustersWith(engine: Engine, name: ObjectName): readonly string[] {
  return [...engine.outputs.partitions()]
    .filter((cluster) => keysIn(engine, cluster, name).length > 0)
    .sort(compareText);
}

function keysIn(engine: Engine, cluster: string, name: ObjectName): readonly ObjectKey[] {
  const keys = [...engine.outputs.entries(cluster)]
    .map(({ key }) => key as ObjectKey)
    .filter((key) => isNameOf(name, objectRefOf(key)));
  // The name of an object that only has a status from here means that status.
  const objects = keys.filter((key) => !isStatusKey(key));
  return namedAmong(objects.length > 0 ? objects : keys, displayKey, name).toSorted(compareText);
}

/** A declaration of an engine kind, or an object of such a kind that has only a status. */
export interface DeclarationName {
  readonly kind: EngineKind;
  /** Of its declaration. */
  readonly key: string;
  /** `KIND/NAMESPACE/NAME` or `KIND/NAME`. */
  readonly display: string;
}

/** The declaration that a name means. */
export type FoundDeclaration =
  | ({ readonly type: 'found' } & DeclarationName)
  | { readonly type: 'ambiguous'; readonly names: readonly string[] }
  /** `kinds`: the engine kinds that the word means. */
  | { readonly type: 'none'; readonly kinds: readonly EngineKind[]; readonly known: readonly string[] };

/** Finds a declaration of an engine kind. */
export function findDeclaration(engine: Engine, name: ObjectName): FoundDeclaration {
  const kinds = engineKindIds.filter((kind) => isKindWord(name.kind, engineKinds[kind]));
  const all = kinds.flatMap((kind) => namesOf(engine, kind));
  const matching = all.filter(({ kind, ...object }) => isNameOf(name, { ...object, ...engineKinds[kind] }));
  const named = namedAmong(matching, ({ display }) => display, name);
  const [only] = named;
  if (only !== undefined && named.length === 1) {
    return { type: 'found', kind: only.kind, key: only.key, display: only.display };
  }
  const names = (named.length > 1 ? named : all).map(({ display }) => display).sort(compareText);
  return named.length > 1 ? { type: 'ambiguous', names } : { type: 'none', kinds, known: names };
}

function namesOf(engine: Engine, kind: EngineKind) {
  const keys = new Set([
    ...[...engine.declarations.entries(kind)].map(({ key }) => key),
    ...[...engine.statuses.entries(kind)].map(({ key }) => key),
  ]);
  return [...keys].flatMap((key) => {
    const subject = engine.declarations.get(kind, key) ?? engine.statuses.get(kind, key);
    if (subject === undefined) return [];
    const { namespace } = subject;
    // In the universal form, what contains an object is part of its name.
    const isInParent = engineKindRow(kind).universal !== undefined && key.includes('@');
    const name = `${subject.name}${isInParent ? key.slice(key.indexOf('@')) : ''}`;
    const display = [kind, ...(namespace === '' ? [] : [namespace]), name].join('/');
    return [{ kind, key, display, namespace, name }];
  });
}
