import type { DomainViews } from '../../../cli/domain-cli.ts';
import { asView, listedKind } from '../../../cli/lists/listed-kind.ts';
import { isPlacedName } from '../../../cli/lists/object-names.ts';
import type { Column } from '../../../cli/output.ts';
import { orDash } from '../../../cli/views.ts';
import { type JsonObject, type JsonValue, objectOf, textOf, textsOf } from '../../../model/text/json.ts';

const DATAPLANE_COLUMNS: readonly Column<JsonObject>[] = [
  { title: 'MESH', text: ({ mesh }) => textOf(mesh) },
  { title: 'DATA PLANE', text: ({ name }) => textOf(name) },
  { title: 'CLUSTER', text: ({ cluster }) => orDash(cluster) },
  {
    title: 'STATUS',
    text: ({ status, stale }) => `${textOf(status)}${stale === true ? ' (stale)' : ''}`,
    isState: true,
  },
  { title: 'CONNECTION', text: ({ connection }) => textOf(objectOf(connection).state), isState: true },
  { title: 'SINCE', text: ({ connection }) => orDash(objectOf(connection).since) },
  {
    title: 'EXPLAINED BY',
    text: ({ mesh, name }) => `fleetrelay explain dataplane/${textOf(name)} --mesh ${textOf(mesh)}`,
    isWide: true,
  },
  { title: 'NOTES', text: ({ notes }) => textsOf(notes).join('; ') },
];

/** Kuma's words for the status of a service, as people read them. */
const STATUSES: Readonly<Record<string, string>> = {
  online: 'Online',
  offline: 'Offline',
  partially_degraded: 'Partially degraded',
};

const SERVICE_COLUMNS: readonly Column<JsonObject>[] = [
  { title: 'MESH', text: ({ mesh }) => textOf(mesh) },
  { title: 'SERVICE', text: ({ name }) => textOf(name) },
  { title: 'STATUS', text: ({ status }) => STATUSES[textOf(status)] ?? textOf(status), isState: true },
  { title: 'TYPE', text: ({ serviceType }) => textOf(serviceType), isWide: true },
  { title: 'DATA PLANES', text: ({ dataplanes }) => ratio(dataplanes, 'online') },
  { title: 'ENDPOINTS', text: ({ endpoints }) => ratio(endpoints, 'ready') },
  { title: 'ZONES', text: ({ zones }) => textsOf(zones).join(', ') },
];

/** `2/3`: how many of all. */
function ratio(counts: JsonValue | undefined, part: string): string {
  const { [part]: some, total } = objectOf(counts);
  return `${String(some)}/${String(total)}`;
}

const ENDPOINT_COLUMNS: readonly Column<JsonObject>[] = [
  { title: 'MESH', text: ({ mesh }) => textOf(mesh) },
  { title: 'SERVICE', text: ({ service }) => textOf(service) },
  { title: 'ADDRESS', text: ({ address }) => textOf(address) },
  { title: 'PORT', text: ({ port }) => String(port) },
  { title: 'WEIGHT', text: ({ weight }) => String(weight), isWide: true },
  { title: 'ZONE', text: ({ zone }) => orDash(zone) },
];

/** The filters that the server obeys in these views. */
const asked = ['mesh', 'cluster', 'tag'];

const DATAPLANES = listedKind<JsonObject>({
  name: 'dataplanes',
  words: ['dataplane'],
  one: 'data plane',
  many: 'data planes',
  what: 'data planes of meshes, and why one is not online',
  naming: 'NAME or MESH/NAME',
  asked,
  columns: DATAPLANE_COLUMNS,
  ask: (api, filter) => api.view('dataplanes', asView(filter)),
  nameOf: ({ mesh, name }) => `${textOf(mesh)}/${textOf(name)}`,
  idOf: ({ mesh, name, cluster }) => [mesh, name, cluster].map(textOf).join(' '),
  isNamed: ({ mesh, name }, word) => isPlacedName(mesh, name, word),
});

const SERVICES = listedKind<JsonObject>({
  name: 'services',
  words: ['service'],
  one: 'service of a mesh',
  what: 'services of meshes; Services of clusters are outputs',
  naming: 'NAME or MESH/NAME',
  asked,
  columns: SERVICE_COLUMNS,
  ask: (api, filter) => api.view('services', asView(filter)),
  nameOf: ({ mesh, name }) => `${textOf(mesh)}/${textOf(name)}`,
  isNamed: ({ mesh, name }, word) => isPlacedName(mesh, name, word),
});

const ENDPOINTS = listedKind<JsonObject>({
  name: 'endpoints',
  words: ['endpoint'],
  one: 'service of a mesh',
  what: 'load-balancing sets of meshes: what may receive traffic now',
  naming: 'SERVICE or MESH/SERVICE',
  asked,
  columns: ENDPOINT_COLUMNS,
  ask: (api, filter) => api.view('endpoints', asView(filter)),
  nameOf: ({ mesh, service }) => `${textOf(mesh)}/${textOf(service)}`,
  fullNameOf: ({ mesh, service, address, port }) =>
    `endpoint/${textOf(mesh)}/${textOf(service)}/${textOf(address)}:${String(port)}`,
  idOf: ({ mesh, service, address, port }) => [mesh, service, address, port].map(String).join(' '),
  isNamed: ({ mesh, service }, word) => isPlacedName(mesh, service, word),
});

/** Data planes, and the services of their meshes. */
export const healthViews: DomainViews = {
  lists: [DATAPLANES, SERVICES, ENDPOINTS],
  after: 'diagnostics',
  examples: [
    ['fleetrelay get dataplanes --tag kuma.io/service=web', 'the proxies of a service, and why one is not online'],
    ['fleetrelay get endpoints --mesh default', 'the load-balancing sets: what may receive traffic now'],
  ],
  filters: {
    mesh: { value: '<name>', what: 'only what belongs to this mesh; repeated: to one of them' },
    tag: {
      value: '<key=value>',
      what: 'only what an inbound with this tag serves; a key alone stands for any value; repeated: one inbound has them all',
    },
  },
  explain: {
    parent: { name: 'mesh', what: 'the mesh of the service or data plane, if several have one of this name' },
    what: 'service/NAME without a cluster is a service of a mesh, and dataplane/NAME a data plane: their status, and what each inbound has it from.',
    examples: [
      ['fleetrelay explain service/postgres', 'the service of a mesh, and why a data plane of it is not online'],
      ['fleetrelay explain dataplane/db-07 --mesh default', 'a data plane, declared or of a cluster'],
      ['fleetrelay explain east dataplane/web-0.shop', 'the one of the cluster "east", if several have one'],
    ],
    statuses: STATUSES,
  },
};
