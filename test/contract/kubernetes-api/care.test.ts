import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { noticeSilence } from '../../../src/adapters/kubernetes/api/silence.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { createKubernetesCare } from '../../../src/domains/care/adapters/kubernetes/care-api.ts';
import { createCare } from '../../../src/domains/care/agent/care.ts';
import type { CareTasks } from '../../../src/domains/care/model/agent-tasks.ts';
import type { CareApi } from '../../../src/domains/care/ports/care-api.ts';
import type { AgentReports } from '../../../src/model/agent/agent-report.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import { until } from '../../support/fleet-processes.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createTestAuthority, DAY_MS } from '../../support/test-authority.ts';
import { createHarness, type Harness } from './harness.ts';

const clock = createSystemClock();
const NOW = clock.now();
const TEN_YEARS = NOW + 3_650 * DAY_MS;
const rfc3339 = (time: number) => `${new Date(time).toISOString().slice(0, 19)}Z`;

describe.skipIf(noProgram('kube-apiserver'))('what the care of Shoots asks a real API server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-care-'));
  let plane: ControlPlane;
  let harness: Harness;
  let api: CareApi;
  let limited: CareApi;
  /** A client whose requests `api` watches. */
  let other: KubeClient;
  let root: string;

  beforeAll(async () => {
    root = (await createTestAuthority(NOW - DAY_MS, TEN_YEARS)).root;
    writeFileSync(join(folder, 'ca.crt'), root);
    const file = join(folder, 'ca.crt');
    const apiServerArgs = [
      ...['--client-ca-file', file, '--requestheader-client-ca-file', file, '--requestheader-allowed-names', 'front'],
      '--shutdown-delay-duration=4s',
    ];
    plane = await startControlPlane({ users: { limited: [] }, apiServerArgs });
    harness = createHarness();
    [api, other] = await careOf('admin');
    [limited] = await careOf('limited');
  });
  afterAll(async () => {
    await harness?.end();
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const stops: (() => void)[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });

  async function careOf(user: string): Promise<[CareApi, KubeClient]> {
    const { client, onSilence } = noticeSilence(await harness.connect(plane.kubeconfig(user), clock));
    return [createKubernetesCare(client, onSilence), client];
  }
  /** What an agent with these tasks reports; the last one is the newest. */
  function reportsOf(care: CareApi, tasks: Partial<CareTasks>): AgentReports[] {
    const published: AgentReports[] = [];
    const deps = { care, clock, random: createSystemRandom(), log: silentLog };
    const made = createCare(deps, (reports) => published.push(reports));
    stops.push(made.stop);
    made.configure({ ...NO_SETTINGS, care: { leases: [], certificates: false, tunnel: false, ...tasks } }, 0);
    return published;
  }
  const statusOf = (published: readonly AgentReports[]) => published.at(-1)?.objects[0]?.value.status;
  const apply = (object: JsonObject) => plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  const probes = (readyz = false) => ({ apiServerProbe: { syncPeriodMillis: 3_600_000, readyz } });

  it('an API server in order answers 200 to both paths, also to a user without rights', async () => {
    for (const care of [api, limited]) {
      expect(await care.askHealth?.('/healthz', 10_000)).toEqual({
        type: 'answered',
        status: 200,
        text: 'ok',
        cut: false,
      });
      const readyz = await care.askHealth?.('/readyz?verbose', 10_000);
      expect(readyz).toMatchObject({ type: 'answered', status: 200, text: expect.stringContaining('[+]etcd ok') });
    }
    const published = reportsOf(api, probes(true));
    await until('a probe', () => published.length > 0);
    expect(statusOf(published)).toEqual({ code: 200 });
  });

  it('Leases are judged where they are; a Namespace that is refused is named', async () => {
    const lease = (name: string, renewedAt: number, namespace = 'kube-node-lease'): JsonObject => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace },
      spec: {
        holderIdentity: name,
        leaseDurationSeconds: 40,
        renewTime: new Date(renewedAt).toISOString().replace('Z', '000Z'),
      },
    });
    await apply(lease('node-1', NOW + DAY_MS));
    await apply(lease('node-2', NOW - DAY_MS));
    await apply(lease('gardener-node-agent-node-1', NOW + DAY_MS, 'kube-system'));
    await apply(lease('other', NOW - DAY_MS, 'kube-system'));
    const leases = [{ namespace: 'kube-node-lease' }, { namespace: 'kube-system', namePrefix: 'gardener-node-agent-' }];
    const published = reportsOf(api, { leases });
    await until('the Leases', () => published.length > 0);
    expect(statusOf(published)).toEqual({
      valid: ['kube-node-lease/node-1', 'kube-system/gardener-node-agent-node-1'],
      expired: [{ lease: 'kube-node-lease/node-2', renewTime: rfc3339(NOW - DAY_MS) }],
    });
    const refused = reportsOf(limited, { leases });
    await until('the refusals', () => refused.length > 0);
    expect(refused[0]?.kinds[0]?.unlisted).toEqual({
      'kube-node-lease': expect.stringContaining('cannot list resource "leases"'),
      'kube-system': expect.stringContaining('in the namespace "kube-system"'),
    });
  });

  it('the authorities of the cluster: when each certificate expires, and what cannot be read', async () => {
    const published = async () => {
      const reports = reportsOf(api, { certificates: true });
      await until('the certificates', () => reports.length > 0);
      return statusOf(reports);
    };
    const notAfter = rfc3339(TEN_YEARS);
    const name = 'extension-apiserver-authentication';
    const own = [
      { name, field: 'client-ca-file', notAfter },
      { name, field: 'requestheader-client-ca-file', notAfter },
    ];
    expect(await published()).toEqual({ certificates: own });
    const young = (await createTestAuthority(NOW - DAY_MS, NOW + DAY_MS)).root;
    const broken = young.replace(/\n[^\n]+/, '\nAAAA');
    await apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kube-root-ca.crt', namespace: 'kube-system' },
      data: { 'ca.crt': `${root}\n${broken}\n${young}` },
    });
    const first = { name: 'kube-root-ca.crt', field: 'ca.crt' };
    expect(await published()).toEqual({
      certificates: [{ ...first, notAfter }, { ...first, notAfter: rfc3339(NOW + DAY_MS) }, ...own],
      problems: [
        expect.stringMatching(/^certificate 2 in ca\.crt of ConfigMap kube-system\/kube-root-ca\.crt cannot be read: /),
      ],
    });
    expect(await limited.certificates()).toEqual({
      certificates: [],
      problems: [expect.stringContaining('kube-root-ca.crt'), expect.stringContaining('forbidden')],
    });
  });

  it('the tunnel: connected once the kubelet has accepted, an error if it does not, nothing without a Pod or the right', async () => {
    expect(await api.tunnel?.(10_000)).toEqual({ type: 'none' });
    const pair = await (await createTestAuthority(NOW - DAY_MS, TEN_YEARS)).serverPair(NOW - DAY_MS, TEN_YEARS);
    let accepts = true;
    const asked: string[] = [];
    const kubelet = createServer({ cert: pair.certificate, key: pair.key }, (_request, answer) =>
      answer.writeHead(404).end(),
    );
    kubelet.on('upgrade', (request, socket) => {
      asked.push(`${request.method} ${request.url} ${request.headers.upgrade}`);
      const stream = 'X-Stream-Protocol-Version: portforward.k8s.io';
      socket.write(
        accepts
          ? `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${stream}\r\n\r\n`
          : 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 11\r\nConnection: close\r\n\r\nno such pod',
      );
      if (!accepts) socket.end();
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => kubelet.listen(0, '127.0.0.1', resolve));
    stops.push(() => kubelet.close());
    stops.push(() => kubelet.closeAllConnections());
    const { port } = kubelet.address() as AddressInfo;
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node' } });
    const address = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    };
    await patchStatus(['node', 'node'], address);
    for (const name of ['vpn-b', 'vpn-a', 'vpn-0']) {
      const spec = {
        nodeName: 'node',
        containers: [{ name: 'vpn', image: 'vpn' }],
        tolerations: [{ operator: 'Exists' }],
      };
      const metadata = { name, namespace: 'kube-system', labels: { type: 'tunnel' } };
      await apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
      // The first one by name does not run.
      if (name !== 'vpn-0') await patchStatus(['pod', name, '-n', 'kube-system'], { phase: 'Running' });
    }
    expect(await api.tunnel?.(10_000)).toEqual({ type: 'connected', pod: 'vpn-a' });
    expect(asked).toEqual(['POST /portForward/kube-system/vpn-a SPDY/3.1']);
    const lister = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'l', namespace: 'kube-system' },
    };
    await apply({ ...role, rules: [lister] });
    await plane.kubectl(['create', 'rolebinding', 'l', '-n', 'kube-system', '--role=l', '--user=limited']);
    expect(await limited.tunnel?.(10_000)).toEqual({ type: 'none' });
    await apply({
      ...role,
      rules: [lister, { apiGroups: [''], resources: ['pods/portforward'], verbs: ['create'] }],
    });
    await until('the right', async () => (await limited.tunnel?.(10_000))?.type === 'connected');
    accepts = false;
    expect(await api.tunnel?.(10_000)).toEqual({
      type: 'failed',
      pod: 'vpn-a',
      error: expect.stringContaining('no such pod'),
    });
    kubelet.closeAllConnections();
    await new Promise((resolve) => kubelet.close(resolve));
    expect(await api.tunnel?.(10_000)).toEqual({
      type: 'failed',
      pod: 'vpn-a',
      error: expect.stringContaining('connection refused'),
    });
  });

  async function patchStatus(what: readonly string[], status: JsonObject): Promise<void> {
    await plane.kubectl(['patch', ...what, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);
  }

  it('an API server that is killed is noticed by the next request of any kind, and asked until it answers again', async () => {
    const published = reportsOf(api, probes());
    await until('a probe', () => published.length > 0);
    expect(statusOf(published)).toEqual({ code: 200 });
    await plane.killApiServer();
    await other.request({ method: 'GET', path: '/version' });
    await until('the failure', () => published.length > 1);
    expect(statusOf(published)).toEqual({
      error: expect.stringMatching(/connection refused/),
      responseMillis: expect.any(Number),
    });
    await plane.startApiServer();
    await until('the recovery', () => objectOf(statusOf(published)).code === 200);
  });

  it('an API server that is going away fails its check `shutdown` of /readyz', async () => {
    plane.signalApiServer('SIGTERM');
    await until('readyz fails', async () => {
      const answer = await api.askHealth?.('/readyz?verbose', 10_000);
      return answer?.type === 'answered' && answer.status === 500;
    });
    const reports = reportsOf(api, probes(true));
    await until('the report', () => reports.length > 0);
    expect(statusOf(reports)).toEqual({ code: 200, failedChecks: ['shutdown'] });
  });
});
