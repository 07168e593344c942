import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import { documentKey } from '../../../engine/fleet/sources.ts';
import type { Want } from '../../../engine/placement/wants.ts';
import type { Hold } from '../../../model/fleet/ledger.ts';
import type { Origin } from '../../../model/fleet/output.ts';
import { mirrorLabels } from '../../../model/objects/mirror-labels.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import { clustersOfService, joined } from '../../health/index.ts';
import { SERVICES } from './live-wants.ts';
import { type AddressUse, firstOfSources, type MeshSlices, partGroup, partOf, sliceKey } from './mesh-slices.ts';
import type { MirrorValue } from './mirrors.ts';
import { meshLabelValue, meshName } from './names.ts';
import { conditionsOf, endpointSlice, headlessService, serviceKey, type Translated } from './translate.ts';

/** One ServiceMirror and one mesh that it reads. Partition: the source that declares the mirror. */
export interface MeshFeed {
  readonly mirror: string;
  readonly origin: Origin;
  readonly identity: string;
  readonly mesh: string;
  /** Of the mirrored objects. */
  readonly namespace: string;
  readonly to: readonly string[];
}

/** Derives the meshes that are mirrored. */
export function deriveMeshFeeds(graph: Graph, mirrors: Collection<MirrorValue>): Derived<MeshFeed> {
  return graph.derive<MirrorValue, MeshFeed>({
    name: 'mirrorMeshFeeds',
    from: mirrors,
    compute: ({ key: mirror, value: { declared, to } }, _read, emit) => {
      const { origin, identity, value } = declared;
      if (value.from.type !== 'meshes' || to.length === 0) return;
      const { meshes, namespace } = value.from;
      for (const mesh of meshes) {
        const feed = { mirror, origin, identity, mesh, namespace, to };
        emit(origin.source, `${documentKey(origin.path, identity)}\u0000${mesh}`, feed);
      }
    },
  });
}

/** A service of a mesh that is mirrored, or one of its slices. Partition: the source that declares the mirror. */
export interface MeshExport extends MeshFeed {
  readonly service: string;
  /** Absent: the service itself. */
  readonly slice?: MeshSliceId;
}

interface MeshSliceId {
  /** The key of its part. */
  readonly part: string;
  readonly begin: number;
}

/** Derives the services and slices of the meshes that are mirrored. No address that comes, goes or changes wakes it. */
export function deriveMeshExports(
  graph: Graph,
  feeds: Collection<MeshFeed>,
  { partIndex }: MeshSlices,
): Derived<MeshExport> {
  return graph.derive<MeshFeed, MeshExport>({
    name: 'meshExports',
    from: feeds,
    reads: [partIndex],
    compute: ({ partition, key, value: feed }, read, emit) => {
      const parts = read.members(partIndex, partGroup.mesh(feed.mesh));
      for (const service of new Set(parts.map((part) => partOf(part.key).service))) {
        emit(partition, `${key}\u0000${service}`, { ...feed, service });
      }
      for (const { key: part, value } of parts) {
        for (const begin of value.slices) {
          const slice = { part, begin };
          emit(partition, `${key}\u0000${sliceKey(part, begin)}`, { ...feed, service: partOf(part).service, slice });
        }
      }
    },
  });
}

/** What tells whether a service can depend on clusters. */
type ServiceReads = Parameters<typeof clustersOfService>[2];

/** Derives the wants of services of meshes: of each a headless Service and its EndpointSlices. */
export function deriveMeshWants(
  graph: Graph,
  exports: Collection<MeshExport>,
  { partIndex, slices, ...services }: Pick<MeshSlices, 'partIndex' | 'slices'> & ServiceReads,
): Derived<Want> {
  return graph.derive<MeshExport, Want>({
    name: 'meshWants',
    from: exports,
    reads: [partIndex, slices, services.declaring, services.rights, services.clusterIndex],
    compute: ({ partition, key, value: exported }, read, emit) => {
      const { origin, identity, to, mesh, service, namespace, slice } = exported;
      const scope = clustersOfService(read, joined(mesh, service), services);
      const declared = { clusters: to, origin, identity, scope, scopeUnknown: false };
      const standsFor = { named: `service ${service} of mesh ${mesh}` };
      if (slice === undefined) {
        const parts = read.members(partIndex, partGroup.service(mesh, service));
        const ports = parts.map((part) => partOf(part.key).port);
        const declaredIn = parts.flatMap(({ value }) => value.origins);
        const derived = { domain: SERVICES, standsFor, declaredIn };
        emit(partition, key, { ...meshService(exported, ports), ...declared, derived });
        return;
      }
      const addresses = read.get(slices, '', sliceKey(slice.part, slice.begin))?.map(({ value }) => value);
      if (addresses === undefined) return;
      emit(partition, key, {
        ...meshSlice(exported, slice, addresses),
        ...declared,
        derived: {
          domain: SERVICES,
          standsFor: { named: `${titleOf(slice)} of ${standsFor.named}` },
          requires: { key: serviceKey(namespace, meshName(mesh, service)), standsFor },
          declaredIn: firstOfSources(addresses.flatMap((uses) => uses.map((use) => use.origin))),
          ...(addresses.some(isUnknown) ? { waits: REPORTS_AWAITED } : {}),
        },
      });
    },
  });
}

const REPORTS_AWAITED: Hold = {
  reason: 'HealthUnknown',
  message: 'a data plane of it has not reported its health since the server was started',
};

/** Whether the set may have the address, which goes by a report that is still waited for. */
function isUnknown(uses: readonly AddressUse[]): boolean {
  return !uses.some((use) => use.isReady) && uses.some((use) => use.isAwaited);
}

function meshService({ mesh, service, namespace }: MeshExport, ports: readonly number[]): Translated {
  const sorted = [...new Set(ports)].sort((a, b) => a - b);
  return headlessService({
    metadata: { name: meshName(mesh, service), namespace, labels: meshLabels(mesh, service) },
    ports: sorted.map(portOf),
  });
}

function meshSlice(
  { mesh, service, namespace }: MeshExport,
  { part, begin }: MeshSliceId,
  addresses: readonly (readonly AddressUse[])[],
): Translated {
  const { port, family } = partOf(part);
  const suffix = begin === 0 ? [] : [hexOf(begin)];
  return endpointSlice({
    name: meshName(mesh, service, String(port), family.toLowerCase(), ...suffix),
    namespace,
    service: meshName(mesh, service),
    labels: meshLabels(mesh, service),
    addressType: family,
    endpoints: addresses.flatMap((uses) => {
      const [first] = uses;
      if (first === undefined) return [];
      return [{ addresses: [first.address], conditions: conditionsOf(uses.some((use) => use.isReady)) }];
    }),
    ports: [portOf(port)],
  });
}

function portOf(port: number): JsonObject {
  return { name: `port-${port}`, port, protocol: 'TCP' };
}

function meshLabels(mesh: string, service: string): JsonObject {
  return { [mirrorLabels.backend]: meshLabelValue(mesh), [mirrorLabels.service]: meshLabelValue(service) };
}

function titleOf({ part, begin }: MeshSliceId): string {
  const { port, family } = partOf(part);
  return `the ${family} addresses at port ${port}${begin === 0 ? '' : ` from ${hexOf(begin)} on`}`;
}

/** A position without the zeros at its end. */
function hexOf(position: number): string {
  return position.toString(16).padStart(8, '0').replace(/0+$/, '');
}
