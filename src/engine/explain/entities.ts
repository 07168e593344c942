import type { ObjectName } from '../../model/fleet/explain-query.ts';
import { compareText } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import type { Entity, EntityKind } from '../domain.ts';
import type { Engine } from '../graph.ts';

/** Which of several entities of a name is meant. */
export type EntityScope = Pick<Entity, 'parent' | 'cluster'>;

/** The entity that a name means. */
type FoundEntity =
  | { readonly type: 'found'; readonly entity: Entity }
  /** `among`: their parents, in one parent their whole names, or of one name their clusters (empty: none), in canonical order. */
  | { readonly type: 'ambiguous'; readonly by: 'parent' | 'name' | 'cluster'; readonly among: readonly string[] }
  /** `elsewhere`: entities of the name that the scope leaves out; `meant`: a name that is much like it. */
  | { readonly type: 'none'; readonly elsewhere: readonly Entity[]; readonly meant: string | undefined };

/** The kind of entities that the word of a query means; undefined: it means another kind. */
export function entityKindOf(engine: Engine, { kind, namespace }: ObjectName): EntityKind | undefined {
  return kindsOf(engine).find(
    ({ words, isNamespaced }) =>
      words.includes(kind.toLowerCase()) && (namespace === undefined || isNamespaced === true),
  );
}

/** The words for what contains entities, each once. */
export function parentWords(engine: Engine): readonly string[] {
  return [...new Set(kindsOf(engine).flatMap(({ parent }) => parent ?? []))];
}

function kindsOf({ domains }: Engine): readonly EntityKind[] {
  return domains.flatMap(({ report: { shows } }) => shows?.entities ?? []);
}

/** The name of an entity as its kind has it. */
export function entityName({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Finds an entity by its name. */
export function findEntity(kind: EntityKind, name: string, { parent, cluster }: EntityScope): FoundEntity {
  const all = kind.named(name);
  const inParent = all.filter((entity) => parent === undefined || entity.parent === parent);
  const found = inParent.filter((entity) => cluster === undefined || entity.cluster === cluster);
  const [entity] = found;
  if (entity === undefined) {
    return { type: 'none', elsewhere: all, meant: all.length > 0 ? undefined : suggestion(name, kind.names()) };
  }
  if (found.length === 1) return { type: 'found', entity };
  const parents = sorted(found.map((one) => one.parent ?? ''));
  const names = sorted(found.map((one) => one.name));
  if (parents.length === 1 && names.length > 1) return { type: 'ambiguous', by: 'name', among: names };
  // No cluster can be named for one that is declared.
  const declared = found.filter((one) => one.cluster === undefined);
  if (parents.length === 1 && cluster === undefined && declared[0] !== undefined && declared.length === 1) {
    return { type: 'found', entity: declared[0] };
  }
  return parents.length > 1
    ? { type: 'ambiguous', by: 'parent', among: parents }
    : { type: 'ambiguous', by: 'cluster', among: sorted(found.map((one) => one.cluster ?? '')) };
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort(compareText);
}
