import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import { until } from '../support/fleet-processes.ts';
import { openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { clusterYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const policy = (care: string) => `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec: { care: { ${care} } }
`;
const files = {
  'clusters/blue/cluster.yaml': clusterYaml('blue'),
  'fleet/policy.yaml': policy('webhookRemediatorEnabled: true, webhookRemediatorDryRun: true'),
  'fleet/shoot.yaml': `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: { name: blue, namespace: garden-web }
spec: { purpose: production, kubernetes: { version: 1.33.2 }, provider: { type: local } }
`,
};
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/** A webhook that never answers and judges the ConfigMaps with a label, in all namespaces. */
const dead = (name: string): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name },
  webhooks: [
    {
      name: `${name}.example.com`,
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      timeoutSeconds: 5,
      clientConfig: { url: 'https://127.0.0.1:1/hook' },
      objectSelector: { matchLabels: { 'reviewed-by': name } },
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    },
  ],
});

describe.skipIf(noProgram('kube-apiserver'))('the webhook remediator, from the policy in git to the audit log', () => {
  const pool = openKubernetesPool({ access: ['care', 'webhooks'] });
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-remediator-'));
  let fleet: KubernetesFleet;

  beforeAll(async () => {
    const config = join(folder, 'relay.yaml');
    const bounds = { care: { webhookRemediator: true } };
    const sources = [{ name: 'replaced', files: { path: '.' } }];
    const document = {
      apiVersion: 'fleetrelay.dev/v1alpha1',
      kind: 'RelayConfig',
      fleet: { name: 'test' },
      sources,
      bounds,
    };
    writeFileSync(config, JSON.stringify(document));
    fleet = await startKubernetesFleet(pool, files, { serve: ['--config', config] });
    await fleet.agent('blue').start();
  });
  afterAll(async () => {
    await fleet?.stop();
    await pool.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = async (method: string, path: string, body?: JsonObject) =>
    (await fleet.cluster('blue')).api.send(method, path, body);
  const listed = async (...args: string[]) =>
    JSON.parse(await fleet.cli(...args, '-o', 'json')) as readonly JsonObject[];
  const outcomes = async (): Promise<readonly string[]> =>
    (await listed('get', 'remediations', '--cluster', 'blue')).map(
      ({ configuration, field, outcome }) => `${textOf(configuration)} ${textOf(field)} ${textOf(outcome)}`,
    );
  const audited = async (): Promise<readonly string[]> =>
    (await listed('audit'))
      .filter(({ act }) => act === 'clusters/blue/remediate-webhook')
      .map(({ who, stage, details }) => `${textOf(who)} ${textOf(stage)} ${textOf(objectOf(details).field)}`);
  /** Whether a new ConfigMap that the webhook judges is admitted. */
  async function isAdmitted(namespace: string, name: string): Promise<boolean> {
    const metadata = { generateName: 'new-', namespace, labels: { 'reviewed-by': name } };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    const { status } = await send('POST', `/api/v1/namespaces/${namespace}/configmaps`, body);
    return status === 201;
  }
  const constraint = (type: string): JsonObject | undefined => {
    const status = objectOf(objectOf(fleet.statusFile('shoots/garden-web/blue.yaml') as JsonObject | undefined).status);
    return objectsOf(status.constraints).find((each) => each.type === type);
  };
  const hasReason = (reason: string): Promise<unknown> =>
    until(
      `the constraint says ${reason}, and said ${JSON.stringify(constraint('HibernationPossible'))}`,
      () => constraint('HibernationPossible')?.reason === reason,
    );

  it('a dry run shows what holds up the cluster, and changes nothing', async () => {
    expect((await send('POST', `${CONFIGURATIONS}?fieldManager=helm`, dead('policy'))).status).toBe(201);
    await until('the dry run is listed', async () => (await outcomes()).length > 0);
    expect(await outcomes()).toEqual(['ValidatingWebhookConfiguration/policy namespaceSelector wouldChange']);
    await hasReason('ProblematicWebhooks');
    expect(await isAdmitted('kube-system', 'policy')).toBe(false);
    expect(await audited()).toEqual([]);
  });

  it('a remediated webhook holds up the system no more; an Event, the constraint and the audit log say so', async () => {
    fleet.push({ 'fleet/policy.yaml': policy('webhookRemediatorEnabled: true') });
    await until('it is admitted', () => isAdmitted('kube-system', 'policy'));
    // Elsewhere the webhook decides as before.
    expect(await isAdmitted('web', 'policy')).toBe(false);
    await until('the change is listed', async () => (await outcomes()).length === 2);
    expect((await outcomes())[1]).toBe('ValidatingWebhookConfiguration/policy namespaceSelector changed');
    await until('the change is audited', async () => (await audited()).length > 0);
    expect(await audited()).toEqual(['agent blue done namespaceSelector']);
    await hasReason('RemediatedWebhooks');
    const { body } = await send('GET', '/apis/events.k8s.io/v1/namespaces/default/events');
    const events = objectsOf(objectOf(body).items).filter(({ regarding }) => objectOf(regarding).name === 'policy');
    expect(events.map(({ reason }) => reason).sort()).toEqual(['WebhookRemediated', 'WebhookRemediationProposed']);
  });

  it('restarts of agent and server note nothing twice, and lose nothing', async () => {
    await fleet.agent('blue').kill('SIGKILL');
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await fleet.agent('blue').start();
    expect((await send('POST', `${CONFIGURATIONS}?fieldManager=helm`, dead('second'))).status).toBe(201);
    await until('the second one is mended', async () => (await audited()).length > 1);
    expect(await audited()).toEqual(['agent blue done namespaceSelector', 'agent blue done namespaceSelector']);
    expect(await outcomes()).toEqual([
      'ValidatingWebhookConfiguration/policy namespaceSelector wouldChange',
      'ValidatingWebhookConfiguration/policy namespaceSelector changed',
      'ValidatingWebhookConfiguration/second namespaceSelector changed',
    ]);
  });

  it('what fleetrelay applies is a finding at its line instead', async () => {
    fleet.push({ 'clusters/blue/hooks.yaml': `# hooks\n${JSON.stringify(dead('declared'), null, 1)}\n` });
    const found = await until('it is found', async () =>
      (await listed('get', 'diagnostics')).find(({ reason }) => reason === 'WebhookLeftAlone'),
    );
    expect(found).toMatchObject({ code: 'FR3011', at: { path: 'clusters/blue/hooks.yaml', line: 9 } });
    expect(textOf(found.hint)).toMatch(/^write namespaceSelector: \{matchExpressions: /);
  });
});
