import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { roleObjects } from '../../src/compose/manifests/agent-roles.ts';
import { installedWebhook } from '../../src/domains/health/compose/installed-webhook.ts';
import { type JsonObject, objectOf, objectsOf } from '../../src/model/text/json.ts';
import { until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { AGENT_NAMESPACE, openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { type PlayedKubelet, playKubelet, type StoredPod } from '../support/kubernetes/played-kubelet.ts';
import { clusterYaml } from '../support/manifests.ts';
import { mirrorYaml } from '../support/mirrors.ts';
import {
  grpcApplication,
  httpApplication,
  httpsApplication,
  type ProbedApplication,
  tcpApplication,
} from '../support/probed-applications.ts';
import { noProgram } from '../support/programs.ts';

const POD_IP = '10.1.0.5';
const files = (proxyPort: number) => ({
  'clusters/east/cluster.yaml': clusterYaml('east', { side: 'from' }),
  'clusters/west/cluster.yaml': clusterYaml('west', { side: 'to' }),
  'fleet/mirror.yaml': mirrorYaml('shared', 'selector: {matchLabels: {side: from}}', 'names: [west]'),
  'fleet/policy.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: {name: fleet}
spec:
  health:
    podSelector: {matchLabels: {app: web}}
    injector: {applicationProbeProxyPort: ${proxyPort}}
`,
});
const OPT_IN = 'fleetrelay.dev/probe-proxy';

type Applications = Readonly<Record<'http' | 'https' | 'tcp' | 'grpc', ProbedApplication>>;
type Dataplane = { readonly name: string; readonly status: string; readonly notes: readonly string[] };

/** One container for each application, one Service for all of them. */
function workload({ http, https, tcp, grpc }: Applications): readonly JsonObject[] {
  const probes: readonly (readonly [name: string, app: ProbedApplication, probe: JsonObject])[] = [
    ['http', http, { httpGet: { path: '/ready', port: 'http' } }],
    ['https', https, { httpGet: { path: '/ready', port: https.port, scheme: 'HTTPS' } }],
    ['tcp', tcp, { tcpSocket: { port: tcp.port } }],
    ['grpc', grpc, { grpc: { port: grpc.port, service: 'orders' } }],
  ];
  const containers = probes.map(([name, { port }, probe]) => ({
    ...{ name, image: 'example.com/app:1', ports: [{ name, containerPort: port }] },
    // A busy machine is slow; how long a probe may take is tried elsewhere.
    readinessProbe: { ...probe, timeoutSeconds: 60 },
  }));
  const metadata = { name: 'web', namespace: 'web', labels: { 'fleetrelay.dev/service-export': 'true' } };
  const labels = { app: 'web' };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'web' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels: { ...labels, [OPT_IN]: 'enabled' } }, spec: { containers } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        selector: labels,
        ports: probes.map(([name], index) => ({ name, port: 80 + index, targetPort: name })),
      },
    },
  ];
}

/** The webhook as it is installed; the API server finds it at a port of this machine. Its certificate is for the Service. */
function webhookHere(port: number): readonly JsonObject[] {
  const text = JSON.stringify(installedWebhook(AGENT_NAMESPACE)).replaceAll('"port":443', `"port":${port}`);
  const metadata = { name: 'fleetrelay-agent-webhook', namespace: AGENT_NAMESPACE };
  const spec = { type: 'ExternalName', externalName: 'localhost' };
  return [
    ...roleObjects('webhook', { namespace: AGENT_NAMESPACE, writable: [] }),
    { apiVersion: 'v1', kind: 'Service', metadata, spec },
    JSON.parse(text) as JsonObject,
  ];
}

function plainPod(name: string, namespace: string, labels: Readonly<Record<string, string>>): JsonObject {
  const containers = [{ name: 'a', image: 'example.com/app:1', readinessProbe: { tcpSocket: { port: 80 } } }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels }, spec: { containers } };
}

describe.skipIf(noProgram('kube-controller-manager'))('the probes of a Deployment, and what follows from them', () => {
  const pool = openKubernetesPool({ controllers: true });
  let fleet: KubernetesFleet;
  let apps: Applications;
  let pod: StoredPod;
  let kubelet: PlayedKubelet | undefined;
  let proxyPort: number;
  let webhookPort: number;
  let health = { http: 200, grpc: 1 };

  const enabled = { [OPT_IN]: 'enabled' };
  const east = () => fleet.cluster('east');
  const startEast = () => fleet.agent('east').start({ args: ['--webhook', `127.0.0.1:${webhookPort}`] });
  const apply = async (items: readonly JsonObject[]): Promise<void> => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await (await east()).plane.kubectl(['apply', '--server-side', '-f', '-'], { input });
  };
  /** The port to which the probe of a created Pod goes; undefined: it is as it was written. Rejects if the Pod is refused. */
  const tried = async (namespace: string, labels: Readonly<Record<string, string>>): Promise<number | undefined> => {
    const { plane } = await east();
    const input = JSON.stringify(plainPod('tried', namespace, labels));
    const answer = await plane.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], { input });
    return (JSON.parse(answer) as StoredPod).spec.containers[0]?.readinessProbe?.httpGet?.port;
  };
  const dataplanes = async (): Promise<readonly Dataplane[]> =>
    JSON.parse(await fleet.cli('get', 'dataplanes', '-o', 'json'));
  const seen = (status: string): Promise<Dataplane> =>
    until(`the data plane is ${status}`, async () => (await dataplanes()).find((each) => each.status === status));
  /** `address ready`, of all endpoints of the service in a cluster. */
  const endpoints = async (cluster: string): Promise<readonly string[]> => {
    const { api } = await fleet.cluster(cluster);
    const { body } = await api.send('GET', '/apis/discovery.k8s.io/v1/namespaces/web/endpointslices');
    return objectsOf(body.items).flatMap(({ endpoints: list }) =>
      objectsOf(list).map(({ addresses, conditions }) => `${String(addresses)} ${objectOf(conditions).ready}`),
    );
  };
  const followed = async (ready: boolean): Promise<void> => {
    for (const cluster of ['east', 'west']) {
      await until(`the endpoint in ${cluster} has ready: ${ready}`, async () => {
        const found = await endpoints(cluster);
        return found.length > 0 && found.every((each) => each === `${POD_IP} ${ready}`);
      });
    }
  };
  const ports = async (): Promise<readonly number[]> => {
    const rows = JSON.parse(await fleet.cli('get', 'endpoints', '-o', 'json')) as { port: number }[];
    return rows.map(({ port }) => port).sort((a, b) => a - b);
  };
  const portsOf = (...names: readonly (keyof Applications)[]): readonly number[] =>
    names.map((name) => apps[name].port).sort((a, b) => a - b);

  beforeAll(async () => {
    apps = {
      http: await httpApplication((_asked, answer) => answer.writeHead(health.http).end()),
      https: await httpsApplication((_asked, answer) => answer.end()),
      tcp: await tcpApplication(() => undefined),
      grpc: await grpcApplication(({ service }) => (service === 'orders' ? health.grpc : 2)),
    };
    proxyPort = await freePort();
    webhookPort = await freePort();
    fleet = await startKubernetesFleet(pool, files(proxyPort));
    const { plane } = await east();
    // The agent must do with the rights that the webhook brings.
    await plane.kubectl(['delete', 'clusterrolebinding', 'fleetrelay-agent-secrets']);
    await apply(webhookHere(webhookPort));
    await startEast();
    await fleet.agent('west').start();
    await until('Pods are rewritten as the policy says', async () => (await tried('web', enabled)) === proxyPort);
    await apply(workload(apps));
    pod = await until('the Pod of the Deployment', async () => {
      const { items } = await plane.get<{ items: readonly StoredPod[] }>('pods', '-n', 'web', '-l', 'app=web');
      return items[0];
    });
    kubelet = await playKubelet((await east()).api, pod, POD_IP);
  });
  afterAll(async () => {
    await kubelet?.stop();
    await fleet?.stop();
    await pool.stop();
    await Promise.all(Object.values(apps ?? {}).map((app) => app.stop()));
  });

  it('its Pod comes out rewritten: every probe goes to the proxy', () => {
    const [proxy] = pod.spec.initContainers ?? [];
    expect(proxy).toMatchObject({ name: 'fleetrelay-probe-proxy', restartPolicy: 'Always' });
    const targets = pod.spec.containers.map(({ readinessProbe }) => readinessProbe?.httpGet);
    expect(proxy?.args).toContain(`--port=${proxyPort}`);
    const { http, https, tcp, grpc } = apps;
    expect(targets.map((target) => target?.port)).toEqual([proxyPort, proxyPort, proxyPort, proxyPort]);
    expect(targets.map((target) => target?.path)).toEqual([
      `/${http.port}/ready`,
      `/${https.port}/ready`,
      `/tcp/${tcp.port}`,
      `/grpc/${grpc.port}`,
    ]);
  });

  it('all applications are well: the data plane is online, its endpoint is ready here and in the other cluster', async () => {
    expect(await kubelet?.sync()).toMatchObject({
      'fleetrelay-probe-proxy': '200 READY',
      ...{ http: '200 HEALTHY', https: '200 HEALTHY', tcp: '200 HEALTHY', grpc: '200 HEALTHY' },
    });
    expect(await seen('Online')).toMatchObject({ notes: [] });
    await followed(true);
    expect(await ports()).toEqual(portsOf('http', 'https', 'tcp', 'grpc'));
  });

  it('an application that is not well leaves the set, and the endpoints follow', async () => {
    health = { http: 500, grpc: 2 };
    expect(await kubelet?.sync()).toMatchObject({
      ...{ http: '500 UNHEALTHY', https: '200 HEALTHY', tcp: '200 HEALTHY', grpc: '503 UNHEALTHY' },
    });
    const { notes } = await seen('Partially degraded');
    expect(notes.map((note) => Number(/port=(\d+)/.exec(note)?.[1])).sort((a, b) => a - b)).toEqual(
      portsOf('http', 'grpc'),
    );
    await followed(false);
    expect(await ports()).toEqual(portsOf('https', 'tcp'));
  });

  it('no application answers: the data plane is offline', async () => {
    await Promise.all([apps.https.stop(), apps.tcp.stop()]);
    expect(await kubelet?.sync()).toMatchObject({ https: '503 UNHEALTHY', tcp: '503 UNHEALTHY' });
    await seen('Offline');
    expect(await ports()).toEqual([]);
  });

  it('what recovers comes back', async () => {
    health = { http: 200, grpc: 1 };
    expect(await kubelet?.sync()).toMatchObject({ http: '200 HEALTHY', grpc: '200 HEALTHY' });
    await seen('Partially degraded');
    expect(await ports()).toEqual(portsOf('http', 'grpc'));
  });

  it('only Pods that opted in are rewritten, and none of kube-system and of the agent', async () => {
    expect(await tried('web', {})).toBeUndefined();
    expect(await tried('web', enabled)).toBe(proxyPort);
    for (const namespace of ['kube-system', AGENT_NAMESPACE]) {
      const { plane } = await east();
      await plane.kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce-']);
      expect(await tried(namespace, enabled), namespace).toBeUndefined();
    }
    await (await east()).plane.kubectl(['label', 'namespace', 'web', `${OPT_IN}=enabled`]);
    await until('the Namespace has opted in', async () => (await tried('web', {})) === proxyPort);
    expect(await tried('web', { [OPT_IN]: 'disabled' })).toBeUndefined();
    await (await east()).plane.kubectl(['label', 'namespace', 'web', `${OPT_IN}-`]);
    await until('the Namespace has not', async () => (await tried('web', {})) === undefined);
  });

  it('while no agent answers, Pods that opted in are refused, and no others', async () => {
    await fleet.agent('east').kill('SIGKILL');
    await expect(tried('web', enabled)).rejects.toThrow(/failed calling webhook "pods\.probe-proxy\.fleetrelay\.dev"/);
    expect(await tried('web', {})).toBeUndefined();
    await startEast();
    await until('Pods are admitted again', async () => (await tried('web', enabled)) === proxyPort);
  });
});
