import type { ObjectName } from '../../model/fleet/explain-query.ts';
import type { ViewFilter } from '../../model/fleet/view-filter.ts';
import { compareText } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import type { Entity, EntityKind } from '../domain.ts';
import type { Engine } from '../graph.ts';

/** Which of several entities of a name is meant. */
export type EntityScope = Pick<ViewFilter, 'mesh' | 'cluster'>;

/** The entity that a name means. */
type FoundEntity =
  | { readonly type: 'found'; readonly entity: Entity }
  /** `among`: their meshes, within one mesh their whole names, or of one name their clusters (empty: none), in canonical order. */
  | { readonly type: 'ambiguous'; readonly by: 'mesh' | 'name' | 'cluster'; readonly among: readonly string[] }
  /** `elsewhere`: entities of the name that the scope leaves out; `meant`: a name that is much like it. */
  | { readonly type: 'none'; readonly elsewhere: readonly Entity[]; readonly meant: string | undefined };

/** The kind of entities that the word of a query means; undefined: it means another kind. */
export function entityKindOf({ domains }: Engine, { kind, namespace }: ObjectName): EntityKind | undefined {
  const kinds = domains.flatMap(({ report: { shows } }) => shows?.entities ?? []);
  return kinds.find(
    ({ words, isNamespaced }) =>
      words.includes(kind.toLowerCase()) && (namespace === undefined || isNamespaced === true),
  );
}

/** The name of an entity as its kind has it. */
export function entityName({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Finds an entity by its name. */
export function findEntity(kind: EntityKind, name: string, { mesh, cluster }: EntityScope): FoundEntity {
  const all = kind.named(name);
  const inMesh = all.filter((entity) => mesh === undefined || entity.mesh === mesh);
  const found = inMesh.filter((entity) => cluster === undefined || entity.cluster === cluster);
  const [entity] = found;
  if (entity === undefined) {
    return { type: 'none', elsewhere: all, meant: all.length > 0 ? undefined : suggestion(name, kind.names()) };
  }
  if (found.length === 1) return { type: 'found', entity };
  const meshes = sorted(found.map((one) => one.mesh ?? ''));
  const names = sorted(found.map((one) => one.name));
  if (meshes.length === 1 && names.length > 1) return { type: 'ambiguous', by: 'name', among: names };
  // No cluster can be named for one that is declared.
  const declared = found.filter((one) => one.cluster === undefined);
  if (meshes.length === 1 && cluster === undefined && declared[0] !== undefined && declared.length === 1) {
    return { type: 'found', entity: declared[0] };
  }
  return meshes.length > 1
    ? { type: 'ambiguous', by: 'mesh', among: meshes }
    : { type: 'ambiguous', by: 'cluster', among: sorted(found.map((one) => one.cluster ?? '')) };
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort(compareText);
}
