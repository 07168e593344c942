import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webhookConfiguration } from '../../src/domains/health/adapters/admission/webhook-configuration.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import { type Fleet, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import {
  type AuditedPlane,
  type ReplicaProcess,
  startAuditedPlane,
  startReplicatedFleet,
} from '../support/kubernetes/agent-process.ts';
import { type ApiAnswer, type ApiRequests, createApiRequests } from '../support/kubernetes/api-request.ts';
import { clusterYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const CONFIGURATION = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/fleetrelay-agent';
const OPT_IN = 'fleetrelay.dev/probe-proxy';
/** Short, so that an authority is replaced while the test looks on. */
const CA_LIFE_S = 60;
const policy = (injector: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec:\n  health:\n    injector: {${injector}}\n`;
const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/policy.yaml': policy('applicationProbeProxyPort: 9101'),
};

describe.skipIf(noProgram('kube-apiserver'))('the webhook of two replicas', () => {
  let audited: AuditedPlane;
  let api: ApiRequests;
  let proxy: TcpProxy;
  let ports: readonly number[];
  let fleet: Fleet & { replica(name: string): ReplicaProcess };

  const namespace = (name: string, labels: JsonObject = {}): Promise<ApiAnswer> =>
    api.send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  /** Asks for a Pod without making it. */
  const create = (where: string, port = 8080, labels: JsonObject = {}): Promise<ApiAnswer> =>
    api.send('POST', `/api/v1/namespaces/${where}/pods?dryRun=All`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', labels },
      spec: {
        automountServiceAccountToken: false,
        containers: [{ name: 'app', image: 'app:1', livenessProbe: { httpGet: { path: '/live', port } } }],
      },
    });
  const probedPort = ({ body }: ApiAnswer): unknown => body.spec?.containers[0].livenessProbe.httpGet.port;
  const webhooks = async (): Promise<readonly JsonObject[]> =>
    objectsOf((await api.send('GET', CONFIGURATION)).body.webhooks);
  const bundles = async (): Promise<readonly string[]> =>
    (await webhooks()).map(({ clientConfig }) => textOf(objectOf(clientConfig).caBundle));
  const start = (name: string, port: number): Promise<void> =>
    fleet.replica(name).start({
      token: 'east',
      cluster: 'east',
      args: ['--webhook', `127.0.0.1:${port}`, '--webhook-ca-life', String(CA_LIFE_S), '--webhook-image', 'relay:1'],
    });
  const rewritten = (wanted: number) =>
    until(`Pods are rewritten to ${wanted}`, async () => probedPort(await create('web')) === wanted);

  beforeAll(async () => {
    audited = await startAuditedPlane(['replica-a', 'replica-b']);
    api = createApiRequests(audited.plane);
    ports = [await freePort(), await freePort()];
    proxy = await startTcpProxy(() => ports);
    await namespace('web', { [OPT_IN]: 'enabled' });
    await namespace('plain');
    await namespace('fleetrelay', { [OPT_IN]: 'enabled' });
    // The API server is no Pod: it finds the Service at a port of this machine. The certificate is for the Service.
    const shipped = JSON.stringify(webhookConfiguration({ namespace: 'fleetrelay' }));
    await api.apply(CONFIGURATION, JSON.parse(shipped.replaceAll('"port":443', `"port":${proxy.port}`)));
    await api.apply('/api/v1/namespaces/fleetrelay/services/fleetrelay-agent-webhook', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'fleetrelay-agent-webhook', namespace: 'fleetrelay' },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    });
    fleet = await startReplicatedFleet(files, audited, 'east');
    for (const [at, name] of ['replica-a', 'replica-b'].entries()) await start(name, ports[at] ?? 0);
  });
  afterAll(async () => {
    await fleet?.stop();
    await proxy?.stop();
    api?.close();
    await audited?.stop();
  });

  it('rewrites Pods that opted in, with the settings of the FleetPolicy', async () => {
    await rewritten(9101);
    const { status, body } = await create('web');
    expect(status).toBe(201);
    expect(body.metadata.annotations['kuma.io/application-probe-proxy-port']).toBe('9101');
    expect(body.spec.initContainers[0]).toMatchObject({ name: 'fleetrelay-probe-proxy', image: 'relay:1' });
    expect(probedPort(await create('plain', 8080, { [OPT_IN]: 'enabled' }))).toBe(9101);
    expect(probedPort(await create('plain'))).toBe(8080);
    expect(probedPort(await create('web', 8080, { [OPT_IN]: 'disabled' }))).toBe(8080);
    for (const excluded of ['kube-system', 'fleetrelay']) {
      expect(probedPort(await create(excluded, 8080, { [OPT_IN]: 'enabled' }))).toBe(8080);
    }
  });

  it('denies a Pod in the words of Kuma', async () => {
    const { status, body } = await create('web', 9101);
    expect(status).toBe(400);
    expect(body.message).toBe(
      'admission webhook "namespaces.probe-proxy.fleetrelay.dev" denied the request: cannot override Pod\'s probes. Port for probe cannot be set to 9101. It is reserved for the dataplane that will serve pods without mTLS.',
    );
  });

  it('takes changed settings, and sets the configuration back when others change it', async () => {
    fleet.push({ 'fleet/policy.yaml': policy('applicationProbeProxyPort: 9102, failurePolicy: Ignore') });
    await rewritten(9102);
    const policies = async () => (await webhooks()).map(({ failurePolicy }) => failurePolicy);
    await until('Ignore', async () => (await policies()).every((each) => each === 'Ignore'));
    fleet.push({ 'fleet/policy.yaml': policy('applicationProbeProxyPort: 9102') });
    await until('Fail', async () => (await policies()).every((each) => each === 'Fail'));
    const [first, second] = await webhooks();
    const spoiled = {
      ...first,
      failurePolicy: 'Ignore',
      clientConfig: { ...objectOf(first?.clientConfig), caBundle: '' },
    };
    const patch = { webhooks: [spoiled, second] };
    await api.send('PATCH', CONFIGURATION, patch, 'application/merge-patch+json');
    expect(await bundles()).toContain('');
    await until('both are set back', async () => {
      const [one, other] = await bundles();
      return one !== '' && one === other && (await policies()).every((each) => each === 'Fail');
    });
    await rewritten(9102);
  });

  it('answers each request while certificates are renewed and an authority is replaced', async () => {
    const seen = new Set<string>(await bundles());
    const answers = new Map<string, number>();
    const count = (
      Buffer.from([...seen][0] ?? '', 'base64')
        .toString()
        .match(/BEGIN CERTIFICATE/g) ?? []
    ).length;
    expect(count).toBeGreaterThan(0);
    const end = performance.now() + CA_LIFE_S * 1000;
    while (performance.now() < end) {
      const answer = await create('web');
      const said = answer.status === 201 ? String(probedPort(answer)) : textOf(answer.body.message);
      answers.set(said, (answers.get(said) ?? 0) + 1);
      for (const bundle of await bundles()) seen.add(bundle);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect([...answers.keys()]).toEqual(['9102']);
    expect(seen.size).toBeGreaterThan(1);
  }, 120_000);

  it('answers while one replica is left, and stops no other Pod while none is', async () => {
    const leads = (name: string) => fleet.replica(name).said('this replica leads').length > 0;
    const [leader, other] = leads('replica-a') ? ['replica-a', 'replica-b'] : ['replica-b', 'replica-a'];
    expect([leads(leader), leads(other)]).toEqual([true, false]);
    await fleet.replica(leader).kill('SIGKILL');
    for (let asked = 0; asked < 20; asked += 1) expect(probedPort(await create('web'))).toBe(9102);
    await until('the other one leads', () => leads(other));
    await rewritten(9102);
    await fleet.replica(other).kill('SIGKILL');
    const { status, body } = await create('web');
    expect([status, body.message]).toEqual([500, expect.stringMatching(/failed calling webhook "namespaces\./)]);
    for (const where of ['plain', 'kube-system', 'fleetrelay']) expect((await create(where)).status).toBe(201);
  });
});
