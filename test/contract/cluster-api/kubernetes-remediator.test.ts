import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { type Agent, createAgent } from '../../../src/agent/agent.ts';
import { createWebhookConfigurations } from '../../../src/domains/care/adapters/kubernetes/webhook-configurations.ts';
import { remediator } from '../../../src/domains/care/compose/agent.ts';
import type { CareTasks } from '../../../src/domains/care/model/agent-tasks.ts';
import { type RecordedRemediation, readRemediations } from '../../../src/domains/care/model/remediations.ts';
import { REMEDIATIONS } from '../../../src/domains/care/model/reports.ts';
import { agentReportKey } from '../../../src/model/agent/agent-report.ts';
import type { AgentSettings } from '../../../src/model/agent/agent-settings.ts';
import { metadataOf } from '../../../src/model/objects/object-key.ts';
import { problemOfWebhook, warningOf } from '../../../src/model/objects/webhooks/problematic.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../src/model/text/json.ts';
import { createMemoryDisk } from '../../support/agent-disk.ts';
import { createScriptedServer, type ScriptedServer } from '../../support/agent-world.ts';
import { type ApiRequests, createApiRequests } from '../../support/kubernetes/api-request.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, type OpenOptions } from './kubernetes-harness.ts';
import { keyOf } from './suite.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const SMART_MERGE = 'application/strategic-merge-patch+json';

/** Webhooks for Pods, Nodes and Leases that would all keep a cluster from waking up. No test creates one of these. */
function configuration(name: string): JsonObject {
  const webhook = (resource: string, group: string, timeoutSeconds: number): JsonObject => ({
    name: `${resource}.${name}.example.com`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    timeoutSeconds,
    clientConfig: { url: 'https://127.0.0.1:1/hook' },
    objectSelector: { matchLabels: { 'reviewed-by': name } },
    rules: [{ operations: ['CREATE'], apiGroups: [group], apiVersions: ['v1'], resources: [resource] }],
  });
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name, annotations: { other: 'kept' } },
    webhooks: [webhook('secrets', '', 5), webhook('nodes', '', 30)],
  };
}

describe.skipIf(noProgram('kube-apiserver'))('the webhook remediator of an agent on a real API server', () => {
  let plane: ControlPlane;
  let api: ApiRequests;
  let world: KubernetesWorld;
  let server: ScriptedServer;
  let agent: Agent | undefined;

  beforeAll(async () => {
    plane = await startControlPlane({ users: { careful: [] } });
    api = createApiRequests(plane);
    const rule = (apiGroups: readonly string[], verbs: readonly string[]) => ({ apiGroups, resources: ['*'], verbs });
    const metadata = { name: 'careful' };
    await api.send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata,
      rules: [rule([''], ['*']), rule(['*'], ['get', 'list', 'watch'])],
    });
    await api.send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'careful' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'careful' }],
    });
  });
  afterAll(async () => {
    api?.close();
    await plane?.stop();
  });
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
  });
  afterEach(async () => {
    await agent?.stop();
    agent = undefined;
    await world.close();
    await api.send('DELETE', CONFIGURATIONS);
  });

  async function startAgent(
    webhookRemediator: CareTasks['webhookRemediator'],
    options: OpenOptions = {},
  ): Promise<void> {
    const scripted = createScriptedServer({ held: new Map(), sequence: 0 });
    server = scripted.server;
    const deps = { clock: createSystemClock(), random: createSystemRandom(), log: world.log };
    const cluster = await world.open(options);
    agent = createAgent({
      ...deps,
      cluster,
      parts: [remediator(deps, createWebhookConfigurations(cluster.access.writing, cluster.access))],
      relay: scripted.client,
      disk: createMemoryDisk().open(),
    });
    await agent.start();
    server.connect();
    server.settings(settingsFor(webhookRemediator));
  }

  function settingsFor(webhookRemediator: CareTasks['webhookRemediator']): AgentSettings {
    return {
      discovery: {
        excludedNamespaces: [],
        excludedKinds: [],
        additionalKinds: [{ kinds: ['admissionregistration.k8s.io/ValidatingWebhookConfiguration'] }],
      },
      ignoredFields: [],
      care: {
        ...{ leases: [], certificates: false, tunnel: false },
        ...(webhookRemediator === undefined ? {} : { webhookRemediator }),
      },
    };
  }

  async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 60_000;
    while (!(await look())) {
      if (performance.now() > deadline) throw new Error(`this was not seen: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function live(name: string): Promise<JsonObject> {
    const { body } = await api.send('GET', `${CONFIGURATIONS}/${name}`);
    return body as JsonObject;
  }
  const timeouts = async (name: string) =>
    objectsOf((await live(name)).webhooks).map((webhook) => webhook.timeoutSeconds);
  const create = (value: JsonObject, manager: string) =>
    api.send('POST', `${CONFIGURATIONS}?fieldManager=${manager}`, value);
  /** As the server has them. */
  function rows(): readonly RecordedRemediation[] {
    const report = server.inputs.at(-1)?.objects.get(agentReportKey(REMEDIATIONS));
    return report === undefined ? [] : readRemediations(objectOf(report.value.status));
  }
  const rowsAbout = (name: string) => rows().filter((row) => row.configuration.endsWith(`/${name}`));
  const outcomesOf = (name: string) => rowsAbout(name).map(({ field, outcome }) => `${field} ${outcome}`);
  async function reasonsOfEvents(name: string): Promise<readonly string[]> {
    const { body } = await api.send('GET', '/apis/events.k8s.io/v1/namespaces/default/events');
    const events = objectsOf((body as JsonObject).items).filter(({ regarding }) => objectOf(regarding).name === name);
    return events.map(({ reason }) => textOf(reason));
  }

  test('a configuration of another manager is mended, is then no problem, and the rest of it stays', async () => {
    await startAgent('on');
    expect((await create(configuration('mended'), 'helm')).status).toBe(201);
    await until('it is changed', async () => (await timeouts('mended'))[1] === 15);
    const value = await live('mended');
    expect(objectsOf(value.webhooks).map(problemOfWebhook)).toEqual([undefined, undefined]);
    expect(value.webhooks).toMatchObject([
      {
        ...{ failurePolicy: 'Fail', timeoutSeconds: 5, objectSelector: { matchLabels: { 'reviewed-by': 'mended' } } },
        ...{ clientConfig: { url: 'https://127.0.0.1:1/hook' }, sideEffects: 'None' },
        namespaceSelector: {
          matchExpressions: [
            { key: 'shoot.gardener.cloud/no-cleanup', operator: 'NotIn', values: ['true'] },
            { key: 'gardener.cloud/purpose', operator: 'NotIn', values: ['kube-system'] },
            { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] },
          ],
        },
      },
      { failurePolicy: 'Ignore', timeoutSeconds: 15 },
    ]);
    expect(metadataOf(value).annotations).toMatchObject({ other: 'kept' });
    expect(warningOf(value)).toContain('failurePolicy of webhook "nodes.mended.example.com" was set to Ignore');
    expect(objectsOf(metadataOf(value).managedFields).map(({ manager }) => manager)).toContain('fleetrelay-remediator');
    await until('the server knows', () => rowsAbout('mended').length === 3);
    expect(outcomesOf('mended')).toEqual([
      'namespaceSelector changed',
      'timeoutSeconds changed',
      'failurePolicy changed',
    ]);
    await until('there is an Event', async () => (await reasonsOfEvents('mended')).includes('WebhookRemediated'));
    // The record outlasts the agent.
    await agent?.stop();
    await startAgent('on');
    await until('the next agent reports it', () => rowsAbout('mended').length === 3);
    expect(await live('mended')).toEqual(value);
  });

  test('a dry run stores nothing', async () => {
    await create(configuration('shown'), 'helm');
    const before = await live('shown');
    await startAgent('dryRun');
    await until('it is told', () => rowsAbout('shown').length === 3);
    expect(new Set(outcomesOf('shown').map((text) => text.split(' ')[1]))).toEqual(new Set(['wouldChange']));
    expect(await live('shown')).toEqual(before);
    await until('there is an Event', async () =>
      (await reasonsOfEvents('shown')).includes('WebhookRemediationProposed'),
    );
    const patches = world.sent.filter((request) => request.startsWith('PATCH') && request.includes(CONFIGURATIONS));
    expect(patches.length).toBeGreaterThan(0);
    expect(patches.every((request) => request.includes('dryRun=All'))).toBe(true);
    server.settings(settingsFor('on'));
    await until('it is changed', async () => (await timeouts('shown'))[1] === 15);
  });

  test('a manager that reverts its changes three times is named and left alone', async () => {
    await startAgent('on');
    await create(configuration('contested'), 'helm');
    const revert = async (): Promise<void> => {
      const webhooks = [{ name: 'nodes.contested.example.com', timeoutSeconds: 30, failurePolicy: 'Fail' }];
      const path = `${CONFIGURATIONS}/contested?fieldManager=operator`;
      expect((await api.send('PATCH', path, { webhooks }, SMART_MERGE)).status).toBe(200);
    };
    for (let reversal = 0; reversal < 3; reversal += 1) {
      await until('it is changed', async () => (await timeouts('contested'))[1] === 15);
      await revert();
    }
    const isLeftAlone = () => rowsAbout('contested').some(({ outcome }) => outcome === 'leftAlone');
    await until('it is left alone', isLeftAlone);
    expect(rowsAbout('contested').at(-1)?.message).toContain('field manager "operator" has reverted');
    expect(await timeouts('contested')).toEqual([5, 30]);
    const { resourceVersion } = metadataOf(await live('contested'));
    // Another configuration is mended meanwhile; by then this one has been judged again.
    await create(configuration('other'), 'helm');
    await until('it is changed', async () => (await timeouts('other'))[1] === 15);
    await revert();
    await until('the other is known', () => rowsAbout('other').length === 3);
    expect(metadataOf(await live('contested')).resourceVersion).toBe(resourceVersion);
    await until('there is an Event', async () =>
      (await reasonsOfEvents('contested')).includes('WebhookRemediationReverted'),
    );
  });

  test('nothing is changed while the stop button is on', async () => {
    await startAgent('on');
    await plane.kubectl(['annotate', 'namespace', world.own, 'fleetrelay.dev/paused=true']);
    await until('the agent stops', () => agent?.health().paused === true);
    await create(configuration('stopped'), 'helm');
    const key = keyOf(configuration('stopped'));
    await until('the agent has seen it', () => server.inputs.at(-1)?.objects.has(key) === true);
    expect(await timeouts('stopped')).toEqual([5, 30]);
    await plane.kubectl(['annotate', 'namespace', world.own, 'fleetrelay.dev/paused-']);
    await until('it is changed', async () => (await timeouts('stopped'))[1] === 15);
  });

  test('what fleetrelay applies is never changed', async () => {
    await startAgent('on');
    expect(await server.say({ upserts: [configuration('applied')] })).toEqual({ accepted: true });
    await until('it is applied', async () => (await timeouts('applied'))[1] === 30);
    await create(configuration('neighbour'), 'helm');
    await until('its neighbour is changed', async () => (await timeouts('neighbour'))[1] === 15);
    expect(await timeouts('applied')).toEqual([5, 30]);
    expect(rowsAbout('applied')).toEqual([]);
  });

  test('without the right nothing is changed, and that is told once', async () => {
    await create(configuration('first'), 'helm');
    await create(configuration('second'), 'helm');
    await startAgent('on', { user: 'careful' });
    await until('it is told', () => rows().length > 0);
    expect(rows()).toMatchObject([{ outcome: 'refused', webhook: '', field: '' }]);
    expect(rows()[0]?.message).toMatch(/cannot patch resource.*--allow webhooks/);
    expect(await timeouts('first')).toEqual([5, 30]);
    expect(await timeouts('second')).toEqual([5, 30]);
  });
});
