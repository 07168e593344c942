import { type Shoot, shootOf } from '../../model/shoot.ts';
import type { Derived, Graph, Reader } from '../collections/types.ts';
import type { DomainCore } from '../domain.ts';
import { type Declared, declaredOf } from '../fleet/declared.ts';
import { type Contender, elect } from '../fleet/elect.ts';

/** A declared Shoot and why it cannot be judged. Partition empty, key as of its declaration. */
export interface BoundShoot extends Shoot {
  readonly namespace: string;
  readonly name: string;
  /** Another Shoot is bound to the cluster; the key of that one. */
  readonly elected?: string;
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
export function deriveBindings(graph: Graph, { declarations, inputs }: DomainCore) {
  const shoots = graph.derive<Declared<'Shoot'>, Shoot>({
    name: 'shoots',
    ...declaredOf(declarations, 'Shoot'),
    compute: ({ key, value: { namespace, name, value } }, _read, emit) =>
      emit('', key, shootOf({ namespace, name }, value)),
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
  return { shoots, contenders, bindings, byCluster };
}

function orderOf(read: Reader, { sources }: DomainCore['inputs'], source: string): number {
  return read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER;
}
