import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf } from '../../src/model/json.ts';
import { PROGRAM, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { noControllers } from '../support/kubernetes/binaries.ts';
import { openKubernetesPool } from '../support/kubernetes/clusters.ts';
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

const POD_IP = '10.1.0.5';
const files = {
  'clusters/east/cluster.yaml': clusterYaml('east', { side: 'from' }),
  'clusters/west/cluster.yaml': clusterYaml('west', { side: 'to' }),
  'fleet/mirror.yaml': mirrorYaml('shared', 'selector: {matchLabels: {side: from}}', 'names: [west]'),
  'fleet/policy.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: {name: fleet}
spec:
  health: {podSelector: {matchLabels: {app: web}}}
`,
};

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
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
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

describe.skipIf(noControllers)('the probes of a Deployment, and what follows from them', () => {
  const pool = openKubernetesPool({ controllers: true });
  let fleet: KubernetesFleet;
  let apps: Applications;
  let pod: StoredPod;
  let kubelet: PlayedKubelet | undefined;
  let health = { http: 200, grpc: 1 };

  const east = () => fleet.cluster('east');
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
    fleet = await startKubernetesFleet(pool, files);
    for (const name of ['east', 'west']) await fleet.agent(name).start();
    const { plane } = await east();
    const text = workload(apps).map((each) => JSON.stringify(each));
    const port = await freePort();
    const injected = execFileSync(
      process.execPath,
      [PROGRAM, 'inject', '-f', '-', `--application-probe-proxy-port=${port}`],
      { input: text.join('\n---\n'), encoding: 'utf8', timeout: 120_000 },
    );
    await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: injected });
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
    const port = Number(proxy?.args?.find((arg) => arg.startsWith('--port='))?.slice('--port='.length));
    const { http, https, tcp, grpc } = apps;
    expect(targets.map((target) => target?.port)).toEqual([port, port, port, port]);
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
});
