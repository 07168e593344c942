import type { WrittenPath } from '../../model/field-path.ts';
import { type JsonObject, objectOf, textOf } from '../../model/json.ts';
import { annotationOf } from '../../model/object-key.ts';
import { CLUSTER_ANNOTATION, type Shoot, shootOf } from '../../model/shoot.ts';
import { reaches } from '../../model/source-rights.ts';
import type { Derived, Graph, Reader } from '../collections/types.ts';
import type { DomainCore, EngineDiagnostic } from '../domain.ts';
import { type Declared, declaredOf } from '../fleet/declared.ts';
import { type Contender, elect } from '../fleet/elect.ts';
import { notReached } from '../status/not-reached.ts';

/** A declared Shoot and why it cannot be judged. Partition empty, key as of its declaration. */
export interface BoundShoot extends Shoot {
  readonly namespace: string;
  readonly name: string;
  /** Another Shoot is bound to the cluster; the key of that one. */
  readonly elected?: string;
  /** Its source may not reach this cluster of it: it is not cared for, as one that is ignored. */
  readonly outOfReach?: string;
}

/** The clusters that a Shoot is judged by. */
export function clustersOf({ cluster, seed }: Pick<BoundShoot, 'cluster' | 'seed'>): readonly string[] {
  return seed === undefined || seed === cluster ? [cluster] : [cluster, seed];
}

/** Whether fleetrelay cares for the Shoot: no annotation switches that off, and no Gardener does it. */
export function isCaredFor({ isIgnored, isOfGardener }: Pick<Shoot, 'isIgnored' | 'isOfGardener'>): boolean {
  return !isIgnored && !isOfGardener;
}

/** Derives which clusters each Shoot is bound to, from desired state alone. */
export function deriveBindings(graph: Graph, { declarations, inputs, rights }: DomainCore) {
  const shoots = graph.derive<Declared<'Shoot'>, Shoot & Pick<BoundShoot, 'outOfReach'>>({
    name: 'shoots',
    ...declaredOf(declarations, 'Shoot'),
    reads: [rights],
    compute: ({ key, value: { namespace, name, value, origin } }, read, emit) => {
      const shoot = shootOf({ namespace, name }, value);
      const own = read.get(rights, '', origin.source);
      const outOfReach = clustersOf(shoot).find((cluster) => !reaches(own, cluster));
      emit('', key, outOfReach === undefined ? shoot : { ...shoot, isIgnored: true, outOfReach });
    },
  });
  const contenders = graph.gather<Declared<'Shoot'>, Contender<string>>({
    name: 'shootContenders',
    ...declaredOf(declarations, 'Shoot'),
    reads: [shoots],
    compute: ({ key, value: { origin, identity } }, read, emit) => {
      const shoot = read.get(shoots, '', key);
      if (shoot !== undefined && isCaredFor(shoot)) emit('', shoot.cluster, { origin, identity, value: key });
    },
  });
  const bindings: Derived<BoundShoot> = graph.derive<Declared<'Shoot'>, BoundShoot>({
    name: 'boundShoots',
    ...declaredOf(declarations, 'Shoot'),
    reads: [shoots, contenders, inputs.sources],
    compute: ({ key, value: { namespace, name } }, read, emit) => {
      const shoot = read.get(shoots, '', key);
      if (shoot === undefined) return;
      const candidates = (read.get(contenders, '', shoot.cluster) ?? []).map(({ value }) => value);
      const election = elect(
        candidates,
        undefined,
        (source) => orderOf(read, inputs, source),
        () => true,
      );
      const winner = election.type === 'won' ? election.winner.value : key;
      emit('', key, { ...shoot, namespace, name, ...(winner === key || shoot.isIgnored ? {} : { elected: winner }) });
    },
  });
  const byCluster = graph.index('shootsByCluster', bindings, ({ value }) => clustersOf(value));
  const outOfReach = graph.index('shootsOutOfReach', bindings, ({ value }) =>
    value.outOfReach === undefined ? [] : ['all'],
  );
  const diagnostics = (): readonly EngineDiagnostic[] =>
    outOfReach.members('all').flatMap(({ key, value: { outOfReach: cluster = '' } }) => {
      const declared = declarations.get('Shoot', key);
      if (declared === undefined) return [];
      const { origin, identity, value: written } = declared;
      const at = { ...origin, identity, field: placeOf(written, cluster) };
      return [notReached(`Shoot ${key}`, declared, cluster, [at])];
    });
  return { shoots, contenders, bindings, byCluster, diagnostics };
}

/** Where a Shoot names a cluster that it is bound to. */
function placeOf(value: JsonObject, cluster: string): WrittenPath {
  if (annotationOf(value, CLUSTER_ANNOTATION) === cluster) return ['metadata', 'annotations', CLUSTER_ANNOTATION];
  return textOf(objectOf(value.spec).seedName) === cluster ? ['spec', 'seedName'] : ['metadata', 'name'];
}

function orderOf(read: Reader, { sources }: DomainCore['inputs'], source: string): number {
  return read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER;
}
