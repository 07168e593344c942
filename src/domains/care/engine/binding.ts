import type { Derived, Graph, Reader } from '../../../engine/collections/types.ts';
import type { DomainCore, EngineDiagnostic } from '../../../engine/domain.ts';
import { type Declared, declaredOf } from '../../../engine/fleet/declared.ts';
import { type Contender, elect } from '../../../engine/fleet/elect.ts';
import { mayConcern, outOfReach, reaches } from '../../../model/fleet/source-rights.ts';
import { annotationOf } from '../../../model/objects/object-key.ts';
import type { WrittenPath } from '../../../model/text/field-path.ts';
import { type JsonObject, objectOf, textOf } from '../../../model/text/json.ts';
import { CLUSTER_ANNOTATION, type Shoot, shootOf } from '../model/shoot.ts';

/** A declared Shoot and why it cannot be judged. Partition empty, key its declaration's. */
export interface BoundShoot extends Shoot {
  readonly namespace: string;
  readonly name: string;
  /** Another Shoot is bound to the cluster; the key of that one. */
  readonly elected?: string;
  /** Its source may not have it of this cluster: it is not cared for, as one that is ignored. */
  readonly barred?: BarredCluster;
}

/** A cluster, and why a source may not have a Shoot of it. */
interface BarredCluster {
  readonly cluster: string;
  readonly message: string;
}

/** The clusters that a Shoot is judged by. */
export function clustersOf({ cluster, seed }: Pick<BoundShoot, 'cluster' | 'seed'>): readonly string[] {
  return seed === undefined || seed === cluster ? [cluster] : [cluster, seed];
}

/** Whether fleetrelay cares for the Shoot: no annotation switches that off, and no Gardener does it. */
export function isCaredFor({ isIgnored, isOfGardener }: Pick<Shoot, 'isIgnored' | 'isOfGardener'>): boolean {
  return !isIgnored && !isOfGardener;
}

/** The partition of the collection `shoots` that repeats the few Shoots with automatic rotation of credentials. */
export const ROTATING = 'rotating';

/** Derives which clusters each Shoot is bound to, from desired state alone. */
export function deriveBindings(graph: Graph, { declarations, inputs, rights }: DomainCore) {
  const shoots = graph.derive<Declared<'Shoot'>, Shoot & Pick<BoundShoot, 'barred'>>({
    name: 'shoots',
    ...declaredOf(declarations, 'Shoot'),
    reads: [rights, declarations],
    compute: ({ key, value: { namespace, name, value, origin } }, read, emit) => {
      const shoot = shootOf({ namespace, name }, value);
      const own = read.get(rights, '', origin.source);
      const isOwn = (cluster: string): boolean =>
        own?.first === undefined ||
        mayConcern(own, origin.source, read.get(declarations, 'KubernetesCluster', cluster)?.origin.source);
      const barred = clustersOf(shoot).flatMap((cluster): readonly BarredCluster[] => {
        if (!reaches(own, cluster)) return [{ cluster, message: outOfReach(origin.source, cluster) }];
        return isOwn(cluster) ? [] : [{ cluster, message: notOwnCluster(origin.source, cluster) }];
      })[0];
      const judged = barred === undefined ? shoot : { ...shoot, isIgnored: true, barred };
      emit('', key, judged);
      if (judged.credentialsRotation !== undefined) emit(ROTATING, key, judged);
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
  const barred = graph.index('shootsOfBarredClusters', bindings, ({ value }) =>
    value.barred === undefined ? [] : ['all'],
  );
  const diagnostics = (): readonly EngineDiagnostic[] =>
    barred.members('all').flatMap(({ key, value }) => {
      const declared = declarations.get('Shoot', key);
      if (declared === undefined || value.barred === undefined) return [];
      const { origin, identity, value: written } = declared;
      const { cluster, message } = value.barred;
      const at = { ...origin, identity, field: placeOf(written, cluster) };
      return [
        {
          severity: 'error',
          reason: 'NotAllowed',
          message: `Shoot ${key} names cluster ${cluster}: ${message}`,
          at: [at],
        },
      ];
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

/** Why a source may not declare a Shoot of a cluster. */
function notOwnCluster(source: string, cluster: string): string {
  return `source ${source} may have Shoots only of clusters that it declares itself, and it does not declare cluster ${cluster}`;
}
