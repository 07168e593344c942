import { setTimeout as sleep } from 'node:timers/promises';
import { resourcePath } from '../../src/adapters/kubernetes/api/paths.ts';
import type { KubeClient, KubeRequest } from '../../src/adapters/kubernetes/api/types.ts';
import { openClient, refusalOf } from '../../src/compose/kube.ts';
import { isJsonObject, type JsonObject } from '../../src/model/text/json.ts';
import { agentKubeconfig } from '../local/agent-kubeconfig.ts';
import { type ControlPlane, startControlPlane } from '../local/control-plane.ts';
import type { KubernetesPrograms } from '../local/kubernetes-programs.ts';
import type { DemoCluster, DemoClusters, DemoObject } from './clusters.ts';

const NAMESPACE = 'fleetrelay';
const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces' };
const FINALIZE_EVERY_MS = 500;

/** Real API servers. Each agent has its ServiceAccount and the rights of an installation, no others. */
export function kubernetesClusters(programs: KubernetesPrograms, folder: string): DemoClusters {
  const closers: (() => Promise<unknown>)[] = [];
  let first: Promise<ControlPlane> | undefined;
  const start = async (): Promise<ControlPlane> => {
    const before = first;
    const starting = Promise.resolve(before).then((sharedWith) =>
      startControlPlane({ programs, parent: folder, ...(sharedWith === undefined ? {} : { sharedWith }) }),
    );
    first ??= starting;
    const plane = await starting;
    // Control planes are stopped in reverse order, because the first one has the etcd of all.
    closers.push(() => plane.stop());
    return plane;
  };
  return {
    description: 'three agents, each with a real Kubernetes API server',
    open: async () => {
      const plane = await start();
      const { client } = await openClient(
        { kubeconfig: plane.kubeconfig() },
        { cwd: folder, env: process.env, version: 'demo' },
      );
      closers.push(() => client.close());
      closers.push(startNamespaceController(client));
      return createKubernetesCluster(programs, plane, client, await agentKubeconfig(plane, NAMESPACE));
    },
    stop: async () => {
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}

/** Does the namespace controller's work, because no controllers run beside these API servers. Returns what stops it. */
function startNamespaceController(client: KubeClient): () => Promise<void> {
  const stopped = new AbortController();
  const running = (async () => {
    while (!stopped.signal.aborted) {
      await finalizeNamespaces(client, stopped.signal);
      await sleep(FINALIZE_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return () => {
    stopped.abort();
    return running;
  };
}

/** Finalizes deleted namespaces without looking at their contents: the agents have removed them before. */
async function finalizeNamespaces(client: KubeClient, signal: AbortSignal): Promise<void> {
  const answer = await client.request({ method: 'GET', path: resourcePath({ resource: NAMESPACES }), signal });
  if (answer.type !== 'ok' || !Array.isArray(answer.body.items)) return;
  for (const namespace of answer.body.items) {
    const metadata = isJsonObject(namespace) ? namespace.metadata : undefined;
    if (!isJsonObject(metadata)) continue;
    const { name, deletionTimestamp } = metadata;
    if (typeof name !== 'string' || deletionTimestamp === undefined) continue;
    const path = resourcePath({ resource: NAMESPACES, name, subresource: 'finalize' });
    const body: JsonObject = { apiVersion: 'v1', kind: 'Namespace', metadata, spec: {} };
    await client.request({ method: 'PUT', path, body, signal });
  }
}

const RESOURCES: Readonly<
  Record<string, { readonly group: string; readonly version: string; readonly resource: string }>
> = {
  ConfigMap: { group: '', version: 'v1', resource: 'configmaps' },
  'Deployment.apps': { group: 'apps', version: 'v1', resource: 'deployments' },
};

function createKubernetesCluster(
  { kubectl }: KubernetesPrograms,
  plane: ControlPlane,
  client: KubeClient,
  agentConfig: string,
): DemoCluster {
  const path = ({ kind, namespace, name }: DemoObject): string => {
    const resource = RESOURCES[kind];
    if (resource === undefined) throw new Error(`the demo has no API path for ${kind}`);
    return resourcePath({ resource, namespace, name });
  };
  const send = async (request: KubeRequest): Promise<void> => {
    const refusal = refusalOf(await client.request(request));
    if (refusal !== undefined) throw new Error(`${request.method} ${request.path}: ${refusal}`);
  };
  const words = (object: DemoObject): string => `-n ${object.namespace} ${object.kind.toLowerCase()} ${object.name}`;
  const command = (verb: string): string => `${kubectl} --kubeconfig ${plane.kubeconfig()} ${verb}`;
  return {
    agentArgs: ['--kubeconfig', agentConfig],
    read: async (object) => {
      const answer = await client.request({ method: 'GET', path: path(object) });
      if (answer.type === 'refused' && answer.status === 404) return undefined;
      if (answer.type !== 'ok') throw new Error(`${path(object)}: ${refusalOf(answer)}`);
      return answer.body;
    },
    edit: (object, entry, value) => {
      const body: JsonObject = { data: { [entry]: value } };
      const query = { fieldManager: 'kubectl-edit' };
      const contentType = 'application/merge-patch+json';
      return send({ method: 'PATCH', path: path(object), query, body, contentType });
    },
    remove: (object) => send({ method: 'DELETE', path: path(object) }),
    showCommand: (object) => command(`get ${words(object)} -o yaml`),
    editCommand: (object, entry, value) => command(`patch ${words(object)} -p '{"data":{"${entry}":"${value}"}}'`),
  };
}
