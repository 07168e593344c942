import type { Entity, EntityKind } from '../../engine/domain.ts';
import { type EntityScope, entityName } from '../../engine/explain/entities.ts';
import { clustersWith } from '../../engine/explain/object-name.ts';
import type { Engine } from '../../engine/graph.ts';
import type { ObjectName } from '../../model/fleet/explain-query.ts';
import { quote } from '../../model/fleet/ids.ts';

/** Longest list of names in a message. */
const LISTED = 20;

/** Says that several entities have a name. */
export function ambiguousEntity(
  { words: [word], parent = '' }: EntityKind,
  name: string,
  { by, among }: { readonly by: 'parent' | 'name' | 'cluster'; readonly among: readonly string[] },
): string {
  const object = `${word}/${name}`;
  if (by === 'parent') return `more than one ${parent} has ${object}: name one of ${listed(among)} with --${parent}`;
  if (by === 'name') return `${object} can be ${listed(among.map((each) => `${word}/${each}`))}: name its namespace`;
  const [first = ''] = among.filter((cluster) => cluster !== '');
  return `several clusters have ${object}: name one of ${listed(among)}, as in "${first} ${object}"`;
}

/** Says that no entity has a name, and what there is instead. */
export function unknownEntity(
  engine: Engine,
  { words: [word], parent: parentWord = '' }: EntityKind,
  name: ObjectName,
  {
    parent,
    cluster,
    elsewhere,
    meant,
  }: EntityScope & { readonly elsewhere: readonly Entity[]; readonly meant: string | undefined },
): string {
  const object = `${word}/${entityName(name)}`;
  const where = [
    parent === undefined ? '' : ` in ${parentWord} ${quote(parent)}`,
    cluster === undefined ? '' : ` in cluster ${quote(cluster)}`,
  ];
  const parents = [...new Set(elsewhere.flatMap((entity) => entity.parent ?? []))];
  const others = parents.length === 0 ? [] : [`there is one in ${parentWord} ${listed(parents)}`];
  const near = meant === undefined ? [] : [`did you mean ${word}/${meant}?`];
  const clusters = parent === undefined && cluster === undefined ? clustersWith(engine, name) : [];
  const objects =
    clusters.length === 0 ? [] : [`for the object of a cluster name the cluster, one of ${listed(clusters)}`];
  return [`there is no ${object}${where.join('')}`, ...others, ...near, ...objects].join('; ');
}

/** Joins names for a message, some of very many. */
export function listed(names: readonly string[]): string {
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : '';
  return `${names.slice(0, LISTED).join(', ')}${more}`;
}
