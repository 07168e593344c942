import type { Collection, Contribution, Graph, Index } from '../../../engine/collections/types.ts';
import type { Declarations } from '../../../engine/fleet/declared.ts';
import type { Origin } from '../../../model/fleet/output.ts';
import { sha256 } from '../../../model/text/digest.ts';
import { compareText } from '../../../model/text/json.ts';
import {
  isCounted,
  isReady,
  joined,
  type KnownDataplane,
  type ServiceOwner,
  withinRights,
} from '../../health/index.ts';
import { type SliceAddress, sliceAddressOf } from './slice-address.ts';

/** The addresses of a service at one port, of one family; `none`: no slice can have them. */
export interface PartId {
  readonly mesh: string;
  readonly service: string;
  readonly port: number;
  readonly family: SliceAddress['family'];
}

/** The declaration of an address by an inbound. Key: {@link partKey} and the address. Partition empty. */
export interface AddressUse {
  readonly address: string;
  /** 32 bits of its hash. */
  readonly position: number;
  readonly isReady: boolean;
  /** It is not ready because no report of health is known, and a report is still waited for. */
  readonly isAwaited: boolean;
  readonly origin: Origin;
}

/** Where an address belongs, and who declares it. Partition and key as in {@link AddressUse}. */
interface AddressPlace extends Pick<AddressUse, 'position'> {
  /** The first file of each source that declares it. */
  readonly origins: readonly Origin[];
}

/** A part of the addresses of a service. Partition empty, key {@link partKey}. */
interface MeshPart {
  /** The positions where its slices begin, in order; the first is 0. Empty: it has no slices. */
  readonly slices: readonly number[];
  /** The first file of each source that declares a part of it. */
  readonly origins: readonly Origin[];
}

/** An address of a slice and all its uses. */
type SliceEntry = readonly AddressUse[];

/** The limit of an API server. */
const MOST_ADDRESSES = 1000;

/** What {@link deriveMeshSlices} reads. */
interface MeshSliceInputs {
  readonly declarations: Declarations;
  readonly declared: Collection<KnownDataplane>;
  readonly awaited: Collection<true>;
  readonly owners: Collection<ServiceOwner>;
  /** Grouped by the mesh that a ServiceMirror reads. */
  readonly feedsByMesh: Index<unknown>;
}

/** The collections of {@link deriveMeshSlices}. */
export type MeshSlices = ReturnType<typeof deriveMeshSlices>;

/**
 * Derives the slices of the services of declared data planes, in meshes that are mirrored. A part is cut into slices by the
 * hashes of its addresses: a range with too many of them is halved. So one more address changes one slice, and no other.
 */
export function deriveMeshSlices(graph: Graph, inputs: MeshSliceInputs) {
  const addresses = deriveAddresses(graph, inputs);
  // Readiness is no part of these, so a report of health wakes no part.
  const places = graph.derive<readonly Contribution<AddressUse>[], AddressPlace>({
    name: 'meshPlaces',
    from: addresses,
    compute: ({ key, value }, _read, emit) => {
      const uses = usesOf(value);
      emit('', key, { position: uses[0]?.position ?? 0, origins: firstOfSources(uses.map(({ origin }) => origin)) });
    },
  });
  const byPart = graph.index('meshPlacesByPart', places, ({ key }) => [partOfAddress(key)]);
  const sizes = graph.counts('meshPartSizes', byPart);
  const parts = graph.derive<number, MeshPart>({
    name: 'meshParts',
    from: sizes,
    reads: [byPart],
    compute: ({ key }, read, emit) => {
      const members = read.members(byPart, key);
      const hasSlices = partOf(key).family !== 'none';
      const slices = hasSlices ? cut(members.map(({ value }) => value.position)) : [];
      emit('', key, { slices, origins: firstOfSources(members.flatMap(({ value }) => value.origins)) });
    },
  });
  const slices = graph.gather<readonly Contribution<AddressUse>[], SliceEntry>({
    name: 'meshSlices',
    from: addresses,
    reads: [parts],
    compute: ({ key, value }, read, emit) => {
      const part = partOfAddress(key);
      const uses = usesOf(value);
      const [{ position } = { position: 0 }] = uses;
      const begin = sliceAt(read.get(parts, '', part)?.slices ?? [], position);
      if (begin !== undefined) emit('', sliceKey(part, begin), uses);
    },
  });
  return {
    addresses,
    /** The addresses of a part; group {@link partKey}. */
    byPart,
    parts,
    /** Partition empty, key {@link sliceKey}; in the order of their addresses. */
    slices,
    /** Parts by mesh and by service: groups of {@link partGroup}. */
    partIndex: graph.index('meshPartIndex', parts, ({ key }) => {
      const { mesh, service } = partOf(key);
      return [partGroup.mesh(mesh), partGroup.service(mesh, service)];
    }),
    /** Addresses that no slice can have; group `all`. */
    leftOut: graph.index('meshAddressesLeftOut', addresses, ({ key }) =>
      partOf(partOfAddress(key)).family === 'none' ? ['all'] : [],
    ),
    derived: [addresses, places, parts, slices],
  };
}

function deriveAddresses(graph: Graph, { declarations, declared, awaited, owners, feedsByMesh }: MeshSliceInputs) {
  return graph.gather<KnownDataplane, AddressUse>({
    name: 'meshAddresses',
    from: declared,
    reads: [feedsByMesh, declarations, awaited, owners],
    compute: ({ key, value }, read, emit) => {
      const { mesh } = value.dataplane;
      if (value.from.type !== 'declared' || read.count(feedsByMesh, mesh) === 0) return;
      const origin = read.get(declarations, 'Dataplane', value.from.key)?.origin;
      if (origin === undefined) return;
      const isWaiting = read.get(awaited, '', key) === true;
      const known = withinRights(value, read, owners);
      const { inbounds } = known.dataplane;
      for (const [at, inbound] of inbounds.entries()) {
        const { service, port } = inbound;
        if (!isCounted(inbound) || service === '') continue;
        const { family, address } = sliceAddressOf(inbound.address);
        emit('', `${partKey({ mesh, service, port, family })}\u0000${joined(address)}`, {
          address,
          position: Number.parseInt(sha256(address).slice(0, 8), 16),
          isReady: isReady(known, at),
          isAwaited: isWaiting && known.causes[at]?.every(({ type }) => type === 'unreported') === true,
          origin,
        });
      }
    },
  });
}

function usesOf(contributions: readonly Contribution<AddressUse>[]): readonly AddressUse[] {
  return contributions.map(({ value }) => value);
}

/** Where the slices of addresses with these positions begin; each has at most {@link MOST_ADDRESSES}. */
function cut(positions: readonly number[], begin = 0, width = 2 ** 32): readonly number[] {
  if (positions.length <= MOST_ADDRESSES || width === 1) return [begin];
  const middle = begin + width / 2;
  const [lower, upper] = [positions.filter((one) => one < middle), positions.filter((one) => one >= middle)];
  return [...cut(lower, begin, width / 2), ...cut(upper, middle, width / 2)];
}

/** The slice of a position; undefined: there is none. */
export function sliceAt(begins: readonly number[], position: number): number | undefined {
  return begins.findLast((begin) => begin <= position);
}

/** The first file of each source. */
export function firstOfSources(origins: readonly Origin[]): readonly Origin[] {
  const first = new Map<string, Origin>();
  for (const origin of origins) {
    const known = first.get(origin.source);
    if (known === undefined || compareText(origin.path, known.path) < 0) first.set(origin.source, origin);
  }
  return [...first.values()].sort((a, b) => compareText(a.source, b.source));
}

/** The key of a part. */
export function partKey({ mesh, service, port, family }: PartId): string {
  return joined(mesh, service, String(port), family);
}

/** The part with this key. */
export function partOf(key: string): PartId {
  const [mesh = '', service = '', port = '', family = ''] = key.split('\u0000');
  return { mesh, service, port: Number(port), family: family as PartId['family'] };
}

function partOfAddress(key: string): string {
  return key.slice(0, key.lastIndexOf('\u0000'));
}

/** The key of a slice of the part with this key. */
export function sliceKey(part: string, begin: number): string {
  return `${part}\u0000${begin}`;
}

/** Names of the groups of parts. */
export const partGroup = {
  mesh: (mesh: string) => joined(mesh),
  service: (mesh: string, service: string) => joined(mesh, service),
} as const;
