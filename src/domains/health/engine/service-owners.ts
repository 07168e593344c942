import type { Collection, Contribution, Graph, Index, Reader } from '../../../engine/collections/types.ts';
import type { DomainCore, EngineDiagnostic } from '../../../engine/domain.ts';
import { clusterGroup } from '../../../engine/fleet/clusters.ts';
import type { Declarations, Declared } from '../../../engine/fleet/declared.ts';
import type { SourceValue } from '../../../engine/inputs.ts';
import type { ClusterName } from '../../../model/fleet/ids.ts';
import type { SourceRights } from '../../../model/fleet/source-rights.ts';
import { type Dataplane, serviceField, servicesOf } from '../model/dataplane.ts';
import type { KnownDataplane, Uncounted } from './dataplanes.ts';
import { joined } from './joined.ts';
import { mayJoinService, notOfService } from './rights.ts';

/** A service of which a source declares endpoints, and may not. Partition empty, key `joined(mesh, service)`. */
export interface ServiceOwner {
  readonly mesh: string;
  readonly service: string;
  /** The source that has the service. */
  readonly owner: string;
  /** The sources whose endpoints count nowhere, in canonical order. */
  readonly refused: readonly string[];
}

/** What {@link deriveServiceOwners} reads. */
interface OwnerInputs {
  readonly declarations: Declarations;
  readonly sources: Collection<SourceValue>;
  readonly rights: Collection<SourceRights>;
  /** The data planes of clusters. */
  readonly live: readonly Collection<KnownDataplane | Uncounted>[];
}

/** The collections of {@link deriveServiceOwners}. */
export type ServiceOwners = ReturnType<typeof deriveServiceOwners>;

/**
 * Derives which source has a service: the first one with a data plane of it. Data planes of clusters count for the first source.
 * Only a service from which a source was refused has an entry, so a fleet of one source has none.
 */
export function deriveServiceOwners(graph: Graph, { declarations, sources, rights, live }: OwnerInputs) {
  const byService = graph.index('servicesOfSources', declarations, (entry) =>
    entry.partition === 'Dataplane' ? groupsOf(entry.value as Declared<'Dataplane'>) : [],
  );
  const declaring = graph.gather<number, string>({
    name: 'serviceSources',
    from: graph.counts('servicesOfSourcesCounts', byService),
    compute: ({ key }, _read, emit) => {
      const [mesh = '', service = '', source = ''] = key.split('\u0000');
      emit('', joined(mesh, service), source);
    },
  });
  const inClusters = live.map((dataplanes) => indexLive(graph, dataplanes));
  const owners = graph.derive<readonly Contribution<string>[], ServiceOwner>({
    name: 'serviceOwners',
    from: declaring,
    reads: [sources, rights, ...inClusters],
    // Any cluster can have a data plane of a service.
    seesAll: true,
    compute: ({ key, value }, read, emit) => {
      const [mesh = '', service = ''] = key.split('\u0000');
      const all = value.map((each) => each.value);
      const owner = ownerOf(all, read, { sources, rights, isLive: () => isLive(read, inClusters, key) });
      const refused = all.filter(
        (source) => source !== owner && !mayJoinService(read.get(rights, '', source), source, service, owner),
      );
      if (refused.length > 0) emit('', key, { mesh, service, owner, refused: refused.sort() });
    },
  });
  const entries = graph.index('refusedServices', owners, () => ['all']);
  return {
    owners,
    declaring,
    derived: [declaring, owners],
    /** The endpoints that count nowhere, one finding for each service and source. */
    diagnostics: (): readonly EngineDiagnostic[] =>
      entries
        .members('all')
        .flatMap(({ value }) => value.refused.flatMap((source) => findingOf(byService, value, source))),
  };
}

function groupsOf({ origin, value }: Declared<'Dataplane'>): readonly string[] {
  const { dataplane } = value;
  return servicesOf(dataplane).map((service) => joined(dataplane.mesh, service, origin.source));
}

function indexLive(
  graph: Graph,
  dataplanes: Collection<KnownDataplane | Uncounted>,
): Index<KnownDataplane | Uncounted> {
  return graph.index(`${dataplanes.name}ByService`, dataplanes, ({ value }) =>
    'uncounted' in value ? [] : servicesOf(value.dataplane).map((service) => joined(value.dataplane.mesh, service)),
  );
}

function isLive(read: Reader, inClusters: readonly Index<unknown>[], service: string): boolean {
  return inClusters.some((index) => read.count(index, service) > 0);
}

/** The source that has a service of these sources. Clusters are asked only where it matters. */
function ownerOf(
  all: readonly string[],
  read: Reader,
  { sources, rights, isLive }: Pick<OwnerInputs, 'sources' | 'rights'> & { readonly isLive: () => boolean },
): string {
  const orderOf = (source: string): number => read.get(sources, '', source)?.order ?? Number.MAX_SAFE_INTEGER;
  const [earliest = ''] = all.toSorted((a, b) => orderOf(a) - orderOf(b) || (a < b ? -1 : 1));
  const first = read.get(rights, '', earliest)?.first;
  return first !== undefined && isLive() ? first : earliest;
}

/**
 * The clusters that what is made of a service can depend on: all of them, if a source has endpoints of it that another source, or a
 * data plane of a cluster, can take the service from.
 */
export function clustersOfService(
  read: Reader,
  service: string,
  { declaring, rights, clusterIndex }: Pick<ServiceOwners, 'declaring'> & Pick<DomainCore, 'rights' | 'clusterIndex'>,
): readonly ClusterName[] {
  const all = read.get(declaring, '', service) ?? [];
  if (!all.some(({ value: source }) => read.get(rights, '', source)?.first !== undefined)) return [];
  return read.members(clusterIndex, clusterGroup.all).map(({ key }) => key as ClusterName);
}

/** The data plane without what its source may not declare: such an inbound is ignored, and counts nowhere. */
export function withinRights(known: KnownDataplane, read: Reader, owners: Collection<ServiceOwner>): KnownDataplane {
  const { dataplane, from } = known;
  const source = from.type === 'declared' ? from.source : undefined;
  if (source === undefined) return known;
  const { mesh, gateway, inbounds } = dataplane;
  const refusals = servicesOf(dataplane).flatMap((service) => {
    const owner = read.get(owners, '', joined(mesh, service));
    return owner?.refused.includes(source) === true ? [owner] : [];
  });
  if (refusals.length === 0) return known;
  const refused = refusals.map(({ service }) => service);
  const doubts = refusals.map((each) => ({ reason: 'NotAllowed' as const, text: notOfService(source, each).message }));
  const changed: Dataplane = {
    ...dataplane,
    inbounds: inbounds.map((inbound) =>
      refused.includes(inbound.service) ? { ...inbound, state: 'Ignored' } : inbound,
    ),
    ...(gateway && refused.includes(gateway.service) ? { gateway: { ...gateway, service: '' } } : {}),
  };
  return { ...known, dataplane: changed, doubts: [...known.doubts, ...doubts] };
}

function findingOf(
  byService: Index<Declared>,
  { mesh, service, owner }: ServiceOwner,
  source: string,
): readonly EngineDiagnostic[] {
  const at = byService.members(joined(mesh, service, source)).map(({ key, value }) => {
    const { origin, identity, value: written } = value as Declared<'Dataplane'>;
    return { ...origin, identity, field: serviceField(key, written.dataplane, service) };
  });
  const { message, hint } = notOfService(source, { mesh, service, owner });
  return [{ severity: 'error', reason: 'NotAllowed', message, ...(hint && { hint }), at: at.slice(0, MOST_PLACES) }];
}

/** The largest number of data planes of a service that a finding names. */
const MOST_PLACES = 100;
