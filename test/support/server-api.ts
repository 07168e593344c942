import { Readable } from 'node:stream';
import type { Act } from '../../src/api/answer.ts';
import type { ApiAct, ApiQuestion, DomainApi, Texts } from '../../src/api/domain-api.ts';
import type { DeltaView } from '../../src/api/history-api.ts';
import type {
  ClusterView,
  DeclarationExplanation,
  EntityExplanation,
  FleetView,
  SuspensionView,
} from '../../src/api/server-api.ts';
import { SHOOT_ACTS } from '../../src/domains/care/runtime/operate-shoot.ts';
import { RENEW_DATAPLANE_TOKEN } from '../../src/domains/health/compose/server.ts';
import { diagnosticOf } from '../../src/model/fleet/diagnostic.ts';
import { durableAlready } from '../../src/model/fleet/receipt.ts';
import { isWanted } from '../../src/model/fleet/view-filter.ts';
import type { PeopleApi } from '../../src/server/people-api.ts';
import { EMPTY_PLAN } from './cli.ts';

const COUNTS = { targeted: 3, applied: 2, failed: 0, held: 1, pending: 0, unreachable: 0 };

/** A cluster as the API shows it. */
export function clusterView(name: string, over: Partial<ClusterView> = {}): ClusterView {
  return {
    name,
    labels: { region: 'eu' },
    id: `${name}-id`,
    released: false,
    connected: true,
    connectionSince: '2026-01-02T03:04:05Z',
    warm: true,
    inSync: true,
    position: { epoch: 1, sequence: 7 },
    counts: COUNTS,
    kept: 0,
    drifted: 0,
    paused: 0,
    message: '',
    agentVersion: '0.0.0',
    kubernetesVersion: 'v1.36.3',
    problem: '',
    suspended: null,
    conditions: [],
    ...over,
  };
}

/** The digest that the fake's one held removal set has. */
export const HELD_DIGEST = 'a'.repeat(64);

/** A fleet of two clusters, one of them away, with one held removal. */
export function fleetView(over: Partial<FleetView> = {}): FleetView {
  return {
    fleet: 'shop',
    version: '0.0.0',
    ready: true,
    summary: 'applied by 1 of 2 clusters; waiting for west: disconnected since 10:42:07Z',
    sources: [
      {
        name: 'main',
        address: 'git https://example.com/fleet.git (main)',
        state: 'synced',
        revision: '1111111111111111111111111111111111111111',
        reason: 'Synced',
        refusedRevision: null,
        partial: false,
        suspended: null,
        message: '',
      },
    ],
    clusters: [
      clusterView('east'),
      clusterView('west', { connected: false, inSync: false, message: 'disconnected since 10:42:07Z' }),
    ],
    statusBranch: { state: 'synced', message: '', commit: 'c0ffee' },
    safeMode: null,
    heldRemovals: [
      {
        digest: HELD_DIGEST,
        reason: 'RemovalGuard',
        message: '12 removals from east, 10 are allowed',
        removals: [{ cluster: 'east', object: 'ConfigMap/web/settings' }],
      },
    ],
    diagnostics: [
      diagnosticOf({
        severity: 'error',
        reason: 'YamlSyntax',
        message: 'bad indentation',
        at: { path: 'clusters/east/web.yaml', line: 3, column: 5 },
      }),
    ],
    ...over,
  };
}

function plannedRef(source: string) {
  const plan = { ...EMPTY_PLAN, source };
  return { json: JSON.stringify(plan), markdown: '', summary: 'no change', hasChanges: false };
}
export const driftRow = {
  ...{
    time: '2026-01-31T10:45:00Z',
    cluster: 'west',
    object: 'Deployment.apps/web/frontend',
    drift: 'changed' as const,
  },
  ...{ fields: ['spec.replicas'], managers: ['kubectl-scale'], outcome: 'putBack' as const, count: 2 },
};
const sentDeltas: readonly DeltaView[] = [
  {
    ...{ epoch: 1_764_000_000_000, sequence: 7, at: '2026-01-31T10:42:07Z' },
    revisions: [{ source: 'main', revision: '4ac1f0de0d5e9fd4', isNew: true }],
    reasons: ['revision'],
    answer: { state: 'accepted', at: '2026-01-31T10:42:08Z', message: '' },
    counts: { create: 0, change: 1, remove: 0, touch: 0 },
    keeps: 0,
    objects: [
      {
        ...{ object: 'Deployment.apps/web/frontend', change: 'change', reason: 'revision' },
        from: { source: 'main', path: 'clusters/east/web.yaml' },
        ...{ state: 'failed', stateAt: '2026-01-31T10:42:09Z', message: 'Invalid: spec.replicas must not be negative' },
      },
    ],
    ...{ unlisted: 0, rest: 0, unrecorded: false },
  },
  {
    ...{ epoch: 1_764_000_000_000, sequence: 6, at: '2026-01-31T10:40:00Z' },
    revisions: [{ source: 'main', revision: '1111111aaaa', isNew: true }],
    reasons: ['firstContact'],
    answer: { state: 'accepted', at: '2026-01-31T10:40:01Z', message: '' },
    counts: { create: 12, change: 0, remove: 0, touch: 0 },
    keeps: 0,
    objects: [
      {
        ...{ object: 'ConfigMap/web/settings', change: 'create', reason: 'firstContact' },
        from: { source: 'main', path: 'clusters/east/web.yaml' },
        ...{ state: 'applied', stateAt: '2026-01-31T10:40:02Z', message: '' },
      },
    ],
    ...{ unlisted: 11, rest: 0, unrecorded: false },
  },
];

/** An API over a fixed fleet that remembers what it was told to do. */
export function fakeApi(fleet: FleetView = fleetView()): PeopleApi & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    status: () => fleet,
    clusters: () => fleet.clusters,
    outputs: (cluster) =>
      cluster !== undefined && !fleet.clusters.some(({ name }) => name === cluster)
        ? undefined
        : [
            {
              cluster: cluster ?? 'east',
              object: 'Deployment.apps/web/frontend',
              state: 'applied',
              digest: 'b'.repeat(64),
              health: { state: 'inProgress', message: '1 of 2 replicas are updated' },
              origins: [{ source: 'main', path: 'clusters/east/web.yaml' }],
              reason: '',
              message: '',
            },
          ],
    view: (name, { cluster }) =>
      name === 'drift'
        ? { ok: true, value: isWanted(cluster, 'west') ? [driftRow] : [] }
        : name === 'mirrored-services'
          ? { ok: true, value: [{ service: 'Service/web/shop', from: 'east', to: 'west', mirror: 'shared' }] }
          : { ok: false, kind: 'notFound', message: `there is no view "${name}"; there are mirrored-services` },
    desired: (cluster) =>
      fleet.clusters.some(({ name }) => name === cluster)
        ? [
            {
              key: 'apps/Deployment/web/frontend',
              value: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'frontend', namespace: 'web' } },
              origins: [{ source: 'main', path: 'clusters/east/web.yaml' }],
              scope: [],
              message: '',
            },
          ]
        : undefined,
    sources: () => fleet.sources,
    elsewhere: () => undefined,
    removals: () => fleet.heldRemovals,
    diagnostics: () => fleet.diagnostics,
    explain: async ({ cluster = '', object, part, parent: mesh = 'default' }) => {
      if (object === 'service/postgres') return { ok: true, value: explainedService(mesh) };
      if (object === 'Placement/shop') return { ok: true, value: explainedPlacement(part) };
      return object === 'ConfigMap/web/settings'
        ? {
            ok: true,
            value: {
              cluster,
              object,
              state: 'applied',
              message: 'the cluster holds it as declared',
              because: [{ kind: 'manifest', name: object, at: 'clusters/east/web.yaml:4@1111111', note: '' }],
            },
          }
        : { ok: false, kind: 'notFound', message: `nothing declares ${object} for ${cluster}` };
    },
    plan: async (source = 'main', ref) =>
      ref === 'feature'
        ? { ok: true, value: { commit: 'c'.repeat(40), ...plannedRef(source) } }
        : { ok: false, kind: 'notFound', message: `RefNotFound: there is no ref ${ref}` },
    recording: async () => ({
      ok: true,
      value: Readable.from(['{"recording":"fleetrelay","form":1}\n', '["end"]\n']),
    }),
    whyNot: async ({ cluster, object }) =>
      object.startsWith('ConfigMap/')
        ? {
            ok: true,
            value: {
              ...{ cluster, object, isThere: false },
              reasons: [
                {
                  reason: 'NotSelected',
                  message: `Placement shop selects its file, but not cluster ${cluster}`,
                  ...{ at: 'fleet/placement.yaml:9:7@1111111', todo: 'change the label or the selector' },
                },
                { reason: 'RevisionWaits', message: 'source main is refused', at: '', todo: '' },
              ],
            },
          }
        : { ok: false, kind: 'invalid', message: `"${object}" names no object` },
    impact: async ({ path, source = 'main', line, limit }) =>
      path === 'apps/web.yaml'
        ? {
            ok: true,
            value: {
              ...{ source, path, total: 3 },
              documents: [
                { name: 'ConfigMap/web/settings', at: `${path}:${line ?? 1}`, message: 'it is placed in 2 clusters' },
              ],
              clusters: [
                { cluster: 'east', objects: 1 },
                { cluster: 'west', objects: 2 },
              ],
              objects: [{ cluster: 'east', object: 'ConfigMap/web/settings', state: 'applied' }].slice(0, limit),
            },
          }
        : { ok: false, kind: 'notFound', message: `no source has a manifest "${path}"` },
    history: async ({ cluster }) =>
      fleet.clusters.some(({ name }) => name === cluster)
        ? { ok: true, value: sentDeltas }
        : { ok: false, kind: 'notFound', message: `there is no cluster "${cluster}"` },
    renewToken: async (cluster, by) => {
      calls.push(`renew token ${cluster} by ${by}`);
      return fleet.clusters.some(({ name }) => name === cluster)
        ? { ok: true, value: { cluster, generation: 1_780_000_000 }, receipt: durableAlready }
        : { ok: false, kind: 'notFound', message: `there is no cluster ${cluster}` };
    },
    acceptCluster: async (cluster, { id = 'west-id', key = 'ab' }, by) => {
      calls.push(`accept cluster ${cluster} by ${by}`);
      return { ok: true, value: { cluster, id, key }, receipt: durableAlready };
    },
    revokeCertificates: async (cluster, serial, by) => {
      calls.push(`revoke ${serial ?? 'all'} of ${cluster} by ${by}`);
      return { ok: true, value: { cluster, serial: serial ?? null }, receipt: durableAlready };
    },
    approve: async (digest, by) => {
      calls.push(`approve ${digest} by ${by}`);
      return digest === HELD_DIGEST
        ? { ok: true, value: { digest, released: 1, expiresAt: '2026-01-02T04:04:05Z' }, receipt: durableAlready }
        : { ok: false, kind: 'notFound', message: 'no removals with that digest are held' };
    },
    accept: async (source, revision, by) => {
      calls.push(`accept ${source} ${revision} by ${by}`);
      const view = fleet.sources.find(({ name }) => name === source);
      return view === undefined
        ? { ok: false, kind: 'notFound', message: `no source ${source}` }
        : { ok: false, kind: 'conflict', message: `revision ${revision} does not wait` };
    },
    replaceCluster: async (cluster, by) => {
      calls.push(`replace ${cluster} by ${by}`);
      return replaced(fleet.clusters, cluster, true);
    },
    giveBackCluster: async (cluster, by) => {
      calls.push(`give back ${cluster} by ${by}`);
      return replaced(fleet.clusters, cluster, false);
    },
    suspendCluster: async (name, by, reason) => {
      calls.push(`suspend cluster ${name} by ${by}: ${reason}`);
      return suspended(fleet.clusters, name, { by, at: '2026-01-02T03:04:05Z', reason });
    },
    resumeCluster: async (name, by) => {
      calls.push(`resume cluster ${name} by ${by}`);
      return suspended(fleet.clusters, name, null);
    },
    suspendSource: async (name, by, reason) => {
      calls.push(`suspend source ${name} by ${by}: ${reason}`);
      return suspended(fleet.sources, name, { by, at: '2026-01-02T03:04:05Z', reason });
    },
    resumeSource: async (name, by) => {
      calls.push(`resume source ${name} by ${by}`);
      return suspended(fleet.sources, name, null);
    },
    syncSources: async (name, by) => {
      calls.push(`sync ${name ?? 'all sources'} by ${by}`);
      const views = fleet.sources.filter((source) => name === undefined || source.name === name);
      if (views.length === 0) return { ok: false, kind: 'notFound', message: `there is no source "${name}"` };
      const sources = views.map(({ name: source, state, revision, refusedRevision, message }) => ({
        ...{ name: source, before: '0'.repeat(40), revision, refusedRevision, message },
        outcome: state === 'synced' ? ('new' as const) : ('failed' as const),
      }));
      return { ok: true, value: { sources }, receipt: durableAlready };
    },
    retryCluster: async (cluster, object, by) => {
      calls.push(`retry ${object ?? 'all'} of ${cluster} by ${by}`);
      return fleet.clusters.some(({ name }) => name === cluster)
        ? {
            ok: true,
            value: { cluster, objects: ['Service/web/shop'], waiting: [{ object: 'Pod/web/a', why: 'it is held' }] },
            receipt: durableAlready,
          }
        : { ok: false, kind: 'notFound', message: `there is no cluster ${cluster}` };
    },
    ...domainApi(calls),
  };
}

/** The acts and questions of the domains, over one data plane and one Shoot. */
function domainApi(calls: string[]): DomainApi {
  const noDataplane = ({ mesh = '', name = '' }: Texts) =>
    ({ ok: false, kind: 'notFound', message: `no data plane ${mesh}/${name} is declared` }) as const;
  const renewal: ApiAct = {
    path: RENEW_DATAPLANE_TOKEN,
    isTrust: true,
    run: async (names, by) => {
      const { mesh, name } = names;
      calls.push(`renew token ${mesh}/${name} by ${by}`);
      return name === 'db-07'
        ? { ok: true, value: { mesh, name, generation: 1_780_000_000 }, receipt: durableAlready }
        : noDataplane(names);
    },
  };
  const operations = Object.entries(SHOOT_ACTS).map(
    ([path, request]): ApiAct => ({
      path,
      run: async ({ namespace, name }, by) => {
        calls.push(`${request} Shoot ${namespace}/${name} by ${by}`);
        if (namespace !== 'garden-web') return { ok: false, kind: 'notFound', message: `no Shoot ${name}` };
        if (request === 'retry') return { ok: false, kind: 'conflict', message: 'it has not failed' };
        const value = { namespace, name, lastOperation: 'Reconcile Processing (0%)' };
        return { ok: true, value, receipt: durableAlready };
      },
    }),
  );
  const dataplane: ApiQuestion = {
    path: '/dataplanes/:mesh/:name',
    answer: (names) =>
      names.name === 'db-07'
        ? { ok: true, value: { ...names, spec: {}, xds: { address: '0.0.0.0', port: 5678, tls: true } } }
        : noDataplane(names),
  };
  return { acts: [renewal, ...operations], questions: [dataplane] };
}

function suspended<View extends { readonly name: string; readonly suspended: SuspensionView | null }>(
  views: readonly View[],
  wanted: string,
  suspension: SuspensionView | null,
): Act<View> {
  const view = views.find(({ name }) => name === wanted);
  return view === undefined
    ? { ok: false, kind: 'notFound', message: `there is no ${wanted}` }
    : { ok: true, value: { ...view, suspended: suspension }, receipt: durableAlready };
}

function replaced(clusters: FleetView['clusters'], cluster: string, released: boolean): Act<ClusterView> {
  const view = clusters.find(({ name }) => name === cluster);
  return view === undefined
    ? { ok: false, kind: 'notFound', message: `no cluster ${cluster}` }
    : { ok: true, value: { ...view, released }, receipt: durableAlready };
}

/** The report of a server on a service with one data plane that is not online. */
function explainedService(mesh: string): EntityExplanation {
  return {
    object: 'service/postgres',
    parent: { kind: 'mesh', name: mesh },
    message: '0 of 1 data plane online',
    entity: { mesh, name: 'postgres', status: 'offline' },
    because: [
      { kind: 'data plane', name: 'db', at: 'db.yaml:1:1@1111111', note: 'Offline' },
      { kind: 'connection', name: '', at: '', note: 'never connected', depth: 1 },
    ],
  };
}

/** The report of a server on a Placement that names an unknown cluster; `part`: the requested field or condition. */
function explainedPlacement(part: string | undefined): DeclarationExplanation {
  const condition = {
    type: 'ClustersSelected',
    status: 'False',
    reason: 'UnknownClusters',
    message: 'no KubernetesCluster of this name is declared: nowhere',
  } as const;
  return {
    cluster: null,
    object: 'Placement/shop',
    state: 'inForce',
    message: '',
    conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }, condition],
    status: { selectedClusters: 1 },
    because: [{ kind: 'manifest', name: 'Placement/shop', at: 'p.yaml:1:1@1111111', note: 'declares it' }],
    ...(part === 'ClustersSelected' ? { condition } : {}),
    ...(part === 'spec.paths' ? { field: { path: part, at: 'p.yaml:6:3@1111111', found: 'value' } } : {}),
  };
}
