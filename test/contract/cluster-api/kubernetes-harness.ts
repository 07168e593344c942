import { loadCatalog } from '../../../src/adapters/kubernetes/api/catalog.ts';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createKubernetesCluster, type KubernetesCluster } from '../../../src/adapters/kubernetes/cluster/cluster.ts';
import { openLooking, type Preview, previewApply } from '../../../src/adapters/kubernetes/cluster/preview.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { loadEvaluator } from '../../../src/compose/agent/load-evaluator.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { ApplyRequest, ClusterApi, ObservedObject } from '../../../src/ports/cluster-api.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import type { ControlPlane } from '../../support/kubernetes/control-plane.ts';

/** Two namespaces of a real API server: the agent's own, and one that its objects go to. */
export interface KubernetesWorld {
  readonly own: string;
  readonly web: string;
  readonly log: ReturnType<typeof createRecordingLog>;
  /** Every request that was sent by the clusters that were opened here, `METHOD path?query`. */
  readonly sent: string[];
  open(options?: OpenOptions): Promise<KubernetesCluster>;
  /** Opens it and looks, as an agent does first: the inventory, then everything that is there. */
  begin(options?: OpenOptions): Promise<KubernetesCluster>;
  /** What an apply would do, without an agent. */
  preview(request: ApplyRequest): Promise<Preview>;
  /** Polls the live state until it is so. */
  until(cluster: ClusterApi, what: string, look: (objects: Objects) => boolean): Promise<void>;
  /** Waits until the cluster has seen the object as kubectl shows it now; undefined: gone. */
  seen(
    cluster: ClusterApi,
    key: ObjectKey,
    look: (object: ObservedObject | undefined) => boolean,
  ): Promise<ObservedObject>;
  close(): Promise<void>;
}

type Objects = ReadonlyMap<ObjectKey, ObservedObject>;

export interface OpenOptions {
  readonly user?: string;
  readonly mayWrite?: () => boolean;
  readonly clock?: Clock;
  readonly overtaken?: () => void;
  readonly allowOwnNamespace?: true;
  /** What stands between the cluster and its API server. */
  readonly through?: (client: KubeClient) => KubeClient;
}

let count = 0;

export async function createKubernetesWorld(plane: ControlPlane, web?: string): Promise<KubernetesWorld> {
  count += 1;
  const names = { own: `agent-${count}`, web: web ?? `web-${count}` };
  for (const name of [names.own, names.web]) {
    await plane.kubectl(['create', 'namespace', name]).catch((error: unknown) => {
      if (web === undefined) throw error;
    });
  }
  const log = createRecordingLog();
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log };
  const sent: string[] = [];
  const opened: { readonly cluster: ClusterApi; readonly client: KubeClient }[] = [];
  return { ...names, log, sent, open, begin, preview, until, seen, close };

  async function open(given: OpenOptions = {}): Promise<KubernetesCluster> {
    const { user, mayWrite = () => true, clock, through = (client) => client, ...passed } = given;
    const connection = await connectKube(deps, { kubeconfig: plane.kubeconfig(user), userAgent: 'test' });
    const client = through(recording(must(connection).client, sent));
    const options = { namespace: names.own, mayWrite, loadEvaluator, ...passed };
    const cluster = await createKubernetesCluster(
      { ...deps, client, ...(clock === undefined ? {} : { clock }) },
      options,
    );
    opened.push({ cluster, client });
    return cluster;
  }

  async function begin(given: OpenOptions = {}): Promise<KubernetesCluster> {
    const cluster = await open(given);
    await cluster.loadInventory();
    await cluster.list('complete');
    return cluster;
  }

  async function preview(request: ApplyRequest): Promise<Preview> {
    const connection = await connectKube(deps, { kubeconfig: plane.kubeconfig(), userAgent: 'test' });
    const { client } = must(connection);
    const catalog = must(await loadCatalog(client));
    const looking = await openLooking(client, catalog, { settings: NO_SETTINGS, agentNamespace: names.own });
    const outcome = await previewApply(looking, request);
    await client.close();
    return outcome;
  }

  async function close(): Promise<void> {
    for (const { cluster, client } of opened.splice(0)) {
      await cluster.close();
      await client.close();
    }
  }
}

function recording(client: KubeClient, sent: string[]): KubeClient {
  return {
    ...client,
    request: (request) => {
      sent.push(`${request.method} ${request.path}?${new URLSearchParams(request.query).toString()}`);
      return client.request(request);
    },
  };
}

async function until(cluster: ClusterApi, what: string, look: (objects: Objects) => boolean): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (performance.now() < deadline) {
    if (look((await cluster.list('hinted')).objects)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`this was not seen: ${what}`);
}

async function seen(
  cluster: ClusterApi,
  key: ObjectKey,
  look: (object: ObservedObject | undefined) => boolean,
): Promise<ObservedObject> {
  await until(cluster, key, (objects) => look(objects.get(key)));
  return (await cluster.list('hinted')).objects.get(key) as ObservedObject;
}

/** `kubectl apply` of these, as a person would. */
export function manifest(...values: readonly JsonObject[]): string {
  return values.map((value) => JSON.stringify(value)).join('\n---\n');
}
