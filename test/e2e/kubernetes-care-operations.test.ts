import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import { until } from '../support/fleet-processes.ts';
import { type AdmissionWebhook, startAdmissionWebhook } from '../support/kubernetes/admission-webhook.ts';
import { openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const RETRY_SECONDS = 20;
const policy = (taskTimeout: string) => `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec: { care: { taskTimeout: ${taskTimeout}, retryDuration: ${RETRY_SECONDS}s } }
`;
const service = (port: number) => `apiVersion: v1
kind: Service
metadata: { name: shop, namespace: web }
spec: { selector: { app: shop }, ports: [{ port: ${port} }] }
`;
const networkPolicy = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: closed, namespace: web }
spec: { podSelector: {}, policyTypes: [Ingress] }
`;
const files = {
  'clusters/blue/cluster.yaml': clusterYaml('blue'),
  'clusters/blue/first.yaml': configMapYaml('first', 'one'),
  'fleet/policy.yaml': policy('2s'),
  'fleet/shoot.yaml': `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: { name: blue, namespace: garden-web }
spec: { purpose: production, kubernetes: { version: 1.33.2 }, provider: { type: local } }
`,
};
const PATH = 'shoots/garden-web/blue.yaml';
const QUOTA = '/api/v1/namespaces/web/resourcequotas';
const APPLY_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/fleetrelay-agent-apply';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const MERGE = 'application/merge-patch+json';

describe.skipIf(noProgram('kube-apiserver'))('operations of a Shoot, with its cluster as a real API server', () => {
  const pool = openKubernetesPool({ access: ['care'] });
  let fleet: KubernetesFleet;
  let webhook: AdmissionWebhook | undefined;

  const file = (): JsonObject => objectOf(fleet.statusFile(PATH) as JsonObject | undefined);
  const status = (): JsonObject => objectOf(file().status);
  const operation = (): JsonObject => objectOf(status().lastOperation);
  const label = (): string => textOf(objectOf(objectOf(file().metadata).labels)['shoot.gardener.cloud/status']);
  const is = (state: string, look: () => boolean = () => true): Promise<JsonObject> => {
    let last: unknown;
    return until(`the operation is ${state}`, () => {
      last = status();
      return operation().state === state && look() ? operation() : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; the status is ${JSON.stringify(last)}`);
    });
  };
  const errors = (): readonly (readonly [task: string, codes: unknown])[] =>
    objectsOf(status().lastErrors).map(({ taskID, codes }) => [textOf(taskID), codes]);
  const applied = (object: string): Promise<unknown> =>
    until(`${object} is there`, async () => (await fleet.live('blue', object)) !== undefined);
  const send = async (method: string, path: string, body?: unknown, type?: string): Promise<JsonObject> => {
    const { api } = await fleet.cluster('blue');
    const answer = await api.send(method, path, body, type);
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${JSON.stringify(answer)}`);
    return answer.body;
  };
  /** A person tries the Failed operation again, and it succeeds. */
  const retrySucceeds = async (): Promise<void> => {
    expect(await fleet.cli('shoot', 'retry', 'garden-web/blue')).toContain('an operation of the Shoot');
    await is('Succeeded', () => errors().length === 0);
    expect(label()).toBe('healthy');
    expect(status().retryCycleStartTime).toBeUndefined();
  };
  /** Declares a webhook for ConfigMaps of one namespace, which fails closed. */
  const declareWebhook = async (namespace: string): Promise<void> => {
    webhook ??= await startAdmissionWebhook();
    await send('POST', WEBHOOKS, {
      ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' },
      metadata: { name: 'judge' },
      webhooks: [
        {
          ...{ name: 'judge.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'] },
          ...{ failurePolicy: 'Fail', timeoutSeconds: 5, clientConfig: webhook.clientConfig },
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        },
      ],
    });
  };

  beforeAll(async () => {
    fleet = await startKubernetesFleet(pool, files);
    await fleet.agent('blue').start();
    await is('Succeeded', () => operation().type === 'Create');
  });
  afterAll(async () => {
    await fleet?.stop();
    await webhook?.kill();
    await pool.stop();
  });

  it('a quota ends the retries at once, and a retry succeeds after it was lifted', async () => {
    const hard = { 'count/configmaps': '0' };
    await send('POST', QUOTA, {
      ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' } },
      spec: { hard },
    });
    // As the controller does that no test cluster has.
    await send('PATCH', `${QUOTA}/none/status`, { status: { hard, used: hard } }, MERGE);
    const { api } = await fleet.cluster('blue');
    await until('the quota counts', async () => {
      const tried = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'tried' } };
      return (await api.send('POST', '/api/v1/namespaces/web/configmaps?dryRun=All', tried)).status === 403;
    });
    fleet.push({ 'clusters/blue/second.yaml': configMapYaml('second', 'one') });
    const failed = await is('Failed');
    expect(failed.description).toMatch(
      /^Flow "Shoot cluster reconciliation" encountered task errors: \[task "Apply ConfigMap\/web\/second" failed: QuotaExceeded: .*exceeded quota: none/,
    );
    expect(errors()).toEqual([['Apply ConfigMap/web/second', ['ERR_INFRA_QUOTA_EXCEEDED']]]);
    expect(label()).toBe('unhealthy');
    await send('DELETE', `${QUOTA}/none`);
    await applied('ConfigMap/web/second');
    // It is applied, and Failed stays until a person asks.
    expect(operation().state).toBe('Failed');
    await retrySucceeds();
  });

  it('a right that was taken away is a missing authorization', async () => {
    const role = await send('GET', APPLY_ROLE);
    const rules = objectsOf(role.rules);
    const less = rules.map((rule) =>
      JSON.stringify(rule.apiGroups) === '["networking.k8s.io"]' ? { ...rule, verbs: ['get', 'list', 'watch'] } : rule,
    );
    expect(less).not.toEqual(rules);
    await send('PATCH', APPLY_ROLE, { rules: less }, MERGE);
    fleet.push({ 'clusters/blue/closed.yaml': networkPolicy });
    const failed = await is('Failed');
    expect(failed.description).toMatch(/Apply NetworkPolicy\/web\/closed" failed: Forbidden: .*cannot patch resource/);
    expect(errors()).toEqual([['Apply NetworkPolicy/web/closed', ['ERR_INFRA_UNAUTHORIZED']]]);
    await send('PATCH', APPLY_ROLE, { rules }, MERGE);
    await retrySucceeds();
  });

  it('an invalid object is a problem of configuration; other content begins another operation by itself', async () => {
    fleet.push({ 'clusters/blue/service.yaml': service(70_000) });
    const failed = await is('Failed');
    expect(failed.description).toMatch(/Apply Service\/web\/shop" failed: Invalid: .*port/);
    expect(errors()).toEqual([['Apply Service/web/shop', ['ERR_CONFIGURATION_PROBLEM']]]);
    fleet.push({ 'clusters/blue/service.yaml': service(80) });
    await is('Succeeded', () => errors().length === 0);
  });

  it('a conflict is retried, through a killed server, and fails after the retry duration', async () => {
    const theirs = { ...{ apiVersion: 'v1', kind: 'ConfigMap' }, metadata: { name: 'third', namespace: 'web' } };
    const { api } = await fleet.cluster('blue');
    await api.apply('/api/v1/namespaces/web/configmaps/third', { ...theirs, data: { value: 'theirs' } }, 'argocd');
    fleet.push({ 'clusters/blue/third.yaml': configMapYaml('third', 'one') });
    const error = await is('Error');
    expect(errors()).toEqual([['Apply ConfigMap/web/third', ['ERR_RETRYABLE_CONFIGURATION_PROBLEM']]]);
    expect(textOf(error.description)).toMatch(/Operation will be retried\.$/);
    const began = textOf(status().retryCycleStartTime);
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await until('the agent is back', async () => (await fleet.status()).clusters[0]?.connected === true);
    expect(status().retryCycleStartTime).toBe(began);
    const failed = await is('Failed');
    const took = Date.parse(textOf(failed.lastUpdateTime)) - Date.parse(began);
    expect(took).toBeGreaterThanOrEqual(RETRY_SECONDS * 1_000);
    expect(textOf(failed.description)).not.toContain('retried');
    await send('DELETE', '/api/v1/namespaces/web/configmaps/third');
    await retrySucceeds();
  });

  it('a webhook that was killed is a problem only if it could keep Nodes from joining', async () => {
    await declareWebhook('kube-system');
    fleet.push({ 'clusters/blue/judged.yaml': configMapYaml('judged', 'one', 'kube-system') });
    await applied('ConfigMap/kube-system/judged');
    expect(webhook?.judged()).toBeGreaterThan(0);
    await webhook?.kill();
    fleet.push({ 'clusters/blue/stuck.yaml': configMapYaml('stuck', 'one', 'kube-system') });
    const failed = await is('Failed');
    expect(failed.description).toMatch(/failed: WebhookUnavailable: .*failed calling webhook "judge\.example\.com"/);
    expect(errors()).toEqual([['Apply ConfigMap/kube-system/stuck', ['ERR_PROBLEMATIC_WEBHOOK']]]);
    await webhook?.restart();
    await applied('ConfigMap/kube-system/stuck');
    await retrySucceeds();
    await send('DELETE', `${WEBHOOKS}/judge`);
  });

  it('a webhook of one namespace has no code, and its tasks go on through a killed server', async () => {
    fleet.push({ 'fleet/policy.yaml': policy('10m') });
    await declareWebhook('web');
    await webhook?.kill();
    fleet.push({ 'clusters/blue/waiting.yaml': configMapYaml('waiting', 'one') });
    const before = await is('Processing', () => textOf(operation().description) === 'Apply ConfigMap/web/waiting');
    const began = status().retryCycleStartTime;
    await until('the agent has reported the failure', async () =>
      (await fleet.output('blue', 'ConfigMap/web/waiting'))?.message.includes('failed calling webhook'),
    );
    expect(label()).toBe('healthy');
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await until('the agent is back', async () => (await fleet.status()).clusters[0]?.connected === true);
    await until('the failure is known again', async () =>
      (await fleet.output('blue', 'ConfigMap/web/waiting'))?.message.includes('failed calling webhook'),
    );
    expect(operation()).toEqual(before);
    expect(status().retryCycleStartTime).toEqual(began);
    expect(errors()).toEqual([]);
    await webhook?.restart();
    await is('Succeeded', () => errors().length === 0);
    await send('DELETE', `${WEBHOOKS}/judge`);
  });
});
