import { setTimeout as sleep } from 'node:timers/promises';
import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import type { KubeClient, KubeRequest } from '../../adapters/kubernetes/api/types.ts';
import type { JsonObject } from '../../model/json.ts';
import { openClient, refusalOf } from '../kube.ts';
import type { RunIo } from '../options.ts';
import { agentKubeconfig } from './agent-identity.ts';
import type { DemoCluster, DemoClusters, DemoObject } from './clusters.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { endNamespaces } from './end-namespaces.ts';
import type { KubernetesPrograms } from './kubernetes-programs.ts';

const NAMESPACE = 'fleetrelay';
const LOOK_FOR_NAMESPACES_MS = 500;

type Io = Pick<RunIo, 'cwd' | 'env' | 'version'>;

/** Real API servers, each with the agent's ServiceAccount and no more rights than an installation gives it. */
export function kubernetesClusters(programs: KubernetesPrograms, folder: string, io: Io): DemoClusters {
  const closers: (() => Promise<unknown>)[] = [];
  let first: Promise<ControlPlane> | undefined;
  const start = async (): Promise<ControlPlane> => {
    const before = first;
    const starting = Promise.resolve(before).then((sharedWith) =>
      startControlPlane({ programs, parent: folder, ...(sharedWith === undefined ? {} : { sharedWith }) }),
    );
    first ??= starting;
    const plane = await starting;
    // The first one holds the etcd of all, and is the first in this list: they are stopped in reverse order.
    closers.push(() => plane.stop());
    return plane;
  };
  return {
    description: 'three agents, each with a real Kubernetes API server',
    open: async () => {
      const plane = await start();
      const { client } = await openClient({ kubeconfig: plane.kubeconfig() }, io);
      closers.push(() => client.close());
      const stopEnding = keepEndingNamespaces(client);
      closers.push(stopEnding);
      return createKubernetesCluster(programs, plane, client, await agentKubeconfig(plane, NAMESPACE));
    },
    stop: async () => {
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}

/** No controllers run beside these API servers, so somebody else has to let namespaces go. */
function keepEndingNamespaces(client: KubeClient): () => Promise<void> {
  const stopped = new AbortController();
  const running = (async () => {
    while (!stopped.signal.aborted) {
      await endNamespaces(client, stopped.signal);
      await sleep(LOOK_FOR_NAMESPACES_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return () => {
    stopped.abort();
    return running;
  };
}

const PLURALS: Readonly<
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
    const resource = PLURALS[kind];
    if (resource === undefined) throw new Error(`the demo knows no path of ${kind}`);
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
