import { join } from 'node:path';
import { dump } from 'js-yaml';
import { agentKubeconfig } from '../../../scripts/local/agent-kubeconfig.ts';
import type { WritableNamespaces } from '../../../src/compose/manifests/agent-rights.ts';
import { objectOf } from '../../../src/model/text/json.ts';
import { noProgram } from '../programs.ts';
import { type ClusterKind, type ClusterPool, nameOf, type OwnedObject, type TestCluster } from '../test-clusters.ts';
import { type ApiRequests, createApiRequests } from './api-request.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';

/** Namespace of the agents of test clusters. */
export const AGENT_NAMESPACE = 'fleetrelay';
/** Namespace that is in every test cluster and that no fleet owns. */
export const NAMESPACE = 'web';

/** A test cluster that has an API server. */
export interface KubernetesTestCluster extends TestCluster {
  readonly plane: ControlPlane;
  readonly api: ApiRequests;
}

/** A pool of them. */
export interface KubernetesPool extends ClusterPool {
  take(folder: string): Promise<KubernetesTestCluster>;
}

/** Real API servers. */
export const kubernetesClusters: ClusterKind = {
  name: 'Kubernetes',
  missing: noProgram('kube-apiserver'),
  capabilities: { tooLarge: /5259368 bytes.*at most 3145728/, cannotLook: /cannot be listed: https.* refused/ },
  open: () => openKubernetesPool(),
};

interface Pooled {
  readonly plane: ControlPlane;
  readonly api: ApiRequests;
  /** Of the agent's ServiceAccount, with the rights of an installation that may also apply Secrets and CRDs. */
  readonly agentConfig: string;
}

/** How the planes of a pool are started; `access`: what their agents may do beyond what every agent may, `writable`: and where. */
interface PoolOptions extends ControlPlaneOptions {
  readonly access?: readonly string[];
  readonly writable?: WritableNamespaces;
}

/** Planes are started when they are needed, share one etcd, and are emptied before they are taken again. */
export function openKubernetesPool(given: PoolOptions = {}): KubernetesPool {
  const { access = ['secrets', 'crds'], writable = 'all', ...options } = given;
  const all: Promise<Pooled>[] = [];
  let taken = 0;
  const start = async (): Promise<Pooled> => {
    const first = await all[0];
    const plane = await startControlPlane({
      ...options,
      ...(first === undefined ? {} : { sharedWith: first.plane }),
    });
    const api = createApiRequests(plane);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
    await api.send('POST', '/api/v1/namespaces', namespace);
    return { plane, api, agentConfig: await agentKubeconfig(plane, AGENT_NAMESPACE, access, writable) };
  };
  return {
    take: async (folder) => {
      const at = taken++;
      const used = all[at];
      all[at] ??= start();
      const pooled = await all[at];
      if (used !== undefined) await makeUsable(pooled);
      return createKubernetesTestCluster(pooled, folder);
    },
    release: () => {
      taken = 0;
    },
    stop: async () => {
      // The first one's etcd must outlive the others.
      for (const one of all.splice(0).reverse()) {
        const { plane, api } = await one;
        api.close();
        await plane.stop();
      }
    },
  };
}

/** Path of an object in a test cluster's API; the kinds that tests use, and no others. */
export function objectPath(object: string): string {
  const [kind = '', namespace = '', name = ''] = object.split('/');
  const where = COLLECTIONS[kind];
  if (where === undefined) throw new Error(`tests know no path of ${kind}`);
  const inside = namespace === '' ? '' : `namespaces/${namespace}/`;
  return `${where.api}/${inside}${where.resource}/${name}`;
}

const COLLECTIONS: Readonly<Record<string, { readonly api: string; readonly resource: string }>> = {
  ConfigMap: { api: '/api/v1', resource: 'configmaps' },
  Secret: { api: '/api/v1', resource: 'secrets' },
  Service: { api: '/api/v1', resource: 'services' },
  'EndpointSlice.discovery.k8s.io': { api: '/apis/discovery.k8s.io/v1', resource: 'endpointslices' },
  Namespace: { api: '/api/v1', resource: 'namespaces' },
  'Deployment.apps': { api: '/apis/apps/v1', resource: 'deployments' },
  'Lease.coordination.k8s.io': { api: '/apis/coordination.k8s.io/v1', resource: 'leases' },
  'CustomResourceDefinition.apiextensions.k8s.io': {
    api: '/apis/apiextensions.k8s.io/v1',
    resource: 'customresourcedefinitions',
  },
};

function createKubernetesTestCluster({ plane, api, agentConfig }: Pooled, folder: string): KubernetesTestCluster {
  const get = async (object: string): Promise<Record<string, unknown> | undefined> => {
    const { status, body } = await api.send('GET', objectPath(object));
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`the API server said ${status} of ${object}: ${JSON.stringify(body)}`);
    return body;
  };
  return {
    plane,
    api,
    // One process each, and often killed: waiting for its lease to run out would prove nothing here.
    agentArgs: ['--kubeconfig', agentConfig, '--no-leader-elect', '--data-dir', join(folder, 'agent')],
    live: async (object) => {
      const found = await get(object);
      return found && printLive(found);
    },
    edit: async (object, from, to) => {
      const found = JSON.stringify(await get(object)).replace(from, to);
      const path = `${objectPath(object)}?fieldManager=kubectl-edit`;
      const { status, body } = await api.send('PUT', path, JSON.parse(found));
      if (status !== 200) throw new Error(`${object} cannot be edited: ${JSON.stringify(body)}`);
    },
    remove: async (object) => void (await api.send('DELETE', objectPath(object))),
    put: (object) => api.apply(objectPath(nameOf(object)), object),
    owned: () => ownedBy(api),
    pause: async (on) => {
      const annotations = { 'fleetrelay.dev/paused': on ? 'true' : null };
      const patch = { metadata: { annotations } };
      await api.send('PATCH', `/api/v1/namespaces/${AGENT_NAMESPACE}`, patch, 'application/merge-patch+json');
    },
    takeAway: async () => {
      await plane.killApiServer();
      return () => plane.startApiServer();
    },
  };
}

async function ownedBy(api: ApiRequests): Promise<ReadonlyMap<string, OwnedObject>> {
  const owned = new Map<string, OwnedObject>();
  for (const [name, { api: root, resource }] of Object.entries(COLLECTIONS)) {
    const { status, body } = await api.send('GET', `${root}/${resource}?labelSelector=fleetrelay.dev/fleet`);
    if (status !== 200) throw new Error(`the API server said ${status} of all ${resource}`);
    const apiVersion = root.replace(/^\/apis?\//, '');
    for (const item of body.items) {
      const value = { apiVersion, kind: name.split('.')[0], ...item };
      if (objectOf(value.metadata.annotations)['fleetrelay.dev/object'] === undefined) continue;
      owned.set(nameOf(value), { value, version: value.metadata.resourceVersion });
    }
  }
  return owned;
}

/** As a person would read it; what an API server keeps for itself is not shown, its resourceVersion is. */
function printLive(object: Record<string, unknown>): string {
  const { managedFields: _, ...metadata } = object.metadata as Record<string, unknown>;
  return dump({ ...object, metadata }, { lineWidth: -1 });
}

async function makeUsable({ plane, api }: Pooled): Promise<void> {
  // A test that failed may have left it without its API server.
  const answers = await api.send('GET', '/readyz').catch(() => undefined);
  if (answers?.status !== 200) {
    await plane.killApiServer();
    await plane.startApiServer();
  }
  await empty(api);
}

async function empty(api: ApiRequests): Promise<void> {
  for (const namespace of [NAMESPACE, AGENT_NAMESPACE]) {
    for (const kind of [
      'ConfigMap',
      'Secret',
      'Service',
      'EndpointSlice.discovery.k8s.io',
      'Lease.coordination.k8s.io',
    ]) {
      await api.send('DELETE', objectPath(`${kind}/${namespace}/`).slice(0, -1));
    }
    await api.send('PATCH', `/api/v1/namespaces/${namespace}`, UNMARKED, 'application/merge-patch+json');
  }
}

const UNMARKED = { metadata: { annotations: { 'fleetrelay.dev/paused': null } } };
