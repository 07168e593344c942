import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createCare } from '../../../src/domains/care/agent/care.ts';
import type { CareApi, HealthAnswer } from '../../../src/domains/care/ports/care-api.ts';
import type { AgentSettings } from '../../../src/model/agent/agent-settings.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type AgentWorld, configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

const PROBE = 'internal.fleetrelay.dev/ApiServerProbe//healthz' as ObjectKey;
const PROBE_KIND = 'internal.fleetrelay.dev/ApiServerProbe';
const LEASE_KIND = 'coordination.k8s.io/Lease';
const settings: AgentSettings = {
  discovery: { excludedNamespaces: [], excludedKinds: [] },
  ignoredFields: [],
  care: {
    apiServerProbe: { syncPeriodMillis: 60_000, readyz: false },
    leases: [{ namespace: 'kube-node-lease' }],
    certificates: false,
    tunnel: false,
  },
};

const lease: JsonObject = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'n', namespace: 'kube-node-lease' },
  spec: { renewTime: '2026-01-01T00:00:00Z', leaseDurationSeconds: 40 },
};
const probe = (status: JsonObject): JsonObject => ({
  apiVersion: 'internal.fleetrelay.dev/v1',
  kind: 'ApiServerProbe',
  metadata: { name: 'healthz' },
  status,
});

async function createCaredWorld() {
  const answer: { now: HealthAnswer | Promise<HealthAnswer> } = {
    now: { type: 'answered', status: 200, text: 'ok', cut: false },
  };
  const care: CareApi = {
    // Later than the list of the cluster.
    askHealth: async () => {
      await nextTurn();
      return await answer.now;
    },
    leases: async () => ({ leases: [lease], refused: {} }),
    certificates: async () => undefined,
    watch: () => () => undefined,
  };
  const world = await createConnectedWorld((deps) => [(report) => createCare({ ...deps, care }, report)]);
  const fail = (): void => {
    answer.now = { type: 'unanswered', error: 'connection refused' };
  };
  /** From now on nothing answers within ten seconds. */
  const hang = (): void => {
    answer.now = world.clock.sleep(10_000).then(() => ({ type: 'unanswered', error: 'no answer within 10000 ms' }));
  };
  return { world, fail, hang };
}

const statusOf = ({ server }: AgentWorld) => server.inputs.at(-1)?.objects.get(PROBE)?.value.status;
const kindOf = ({ server }: AgentWorld, name: string) => server.inputs.at(-1)?.kinds.find(({ kind }) => kind === name);

test('reports are live objects of the snapshot, beside objects of the cluster', async () => {
  const { world } = await createCaredWorld();
  world.cluster.personPuts(keyOf(configMap('a', '1')), configMap('a', '1'));
  world.server.settings(settings);
  await world.clock.advance(10_000);
  expect([...(world.server.inputs.at(-1)?.objects.keys() ?? [])].sort()).toEqual([
    '/ConfigMap/web/a',
    PROBE,
    'internal.fleetrelay.dev/LeaseReport//leases',
  ]);
  expect(kindOf(world, PROBE_KIND)).toMatchObject({ state: 'complete' });
  world.server.settings({ ...settings, care: { leases: [], certificates: false, tunnel: false } });
  await world.clock.advance(10_000);
  expect([...(world.server.inputs.at(-1)?.objects.keys() ?? [])]).toEqual(['/ConfigMap/web/a']);
  expect(kindOf(world, PROBE_KIND)).toBeUndefined();
});

test('reports that say the same publish nothing', async () => {
  const { world, fail } = await createCaredWorld();
  world.server.settings(settings);
  await world.clock.advance(10_000);
  const published = world.server.inputs.length;
  await world.clock.advance(20_000);
  expect(world.server.inputs).toHaveLength(published);
  fail();
  await world.clock.advance(60_000);
  expect(statusOf(world)).toMatchObject({ error: 'connection refused' });
  const failed = world.server.inputs.length;
  await world.clock.advance(60_000);
  expect(world.server.inputs).toHaveLength(failed);
});

test('an agent that starts again reports with its first snapshot', async () => {
  const { world } = await createCaredWorld();
  world.server.settings(settings);
  await world.clock.advance(10_000);
  await world.restart();
  expect(world.server.inputs[0]?.objects.get(PROBE)?.value.status).toEqual({ code: 200 });
  expect(world.server.inputs).toHaveLength(1);
});

test('reports go on while the cluster cannot be listed, and their kinds stay known', async () => {
  const { world, fail } = await createCaredWorld();
  world.cluster.personPuts(keyOf(configMap('a', '1')), configMap('a', '1'));
  world.server.settings(settings);
  await world.clock.advance(10_000);
  world.cluster.unreadable = new Error('the API server is silent');
  fail();
  await world.clock.advance(120_000);
  expect(kindOf(world, '/ConfigMap')).toMatchObject({ state: 'unknown' });
  expect(kindOf(world, PROBE_KIND)).toMatchObject({ state: 'complete' });
  expect(statusOf(world)).toMatchObject({ error: 'connection refused' });
  world.cluster.unreadable = undefined;
  await world.clock.advance(40_000);
  expect(kindOf(world, '/ConfigMap')).toMatchObject({ state: 'complete' });
  expect(statusOf(world)).toMatchObject({ error: 'connection refused' });
});

test('an object of the cluster has precedence over a report, which comes back after it', async () => {
  const { world } = await createCaredWorld();
  world.server.settings(settings);
  await world.clock.advance(10_000);
  world.cluster.personPuts(PROBE, probe({ code: 500, body: 'recorded' }));
  await world.settle();
  expect(statusOf(world)).toEqual({ code: 500, body: 'recorded' });
  world.server.settings({ ...settings, discovery: { excludedNamespaces: ['other'], excludedKinds: [] } });
  await world.clock.advance(70_000);
  expect(statusOf(world)).toEqual({ code: 500, body: 'recorded' });
  world.cluster.personRemoves(PROBE);
  await world.settle();
  expect(statusOf(world)).toEqual({ code: 200 });
});

test('Leases are never reported themselves', async () => {
  const { world } = await createCaredWorld();
  world.cluster.personPuts(keyOf(lease), lease);
  await world.settle();
  expect(world.server.inputs.at(-1)?.objects.size).toBe(0);
  expect(kindOf(world, LEASE_KIND)).toMatchObject({ state: 'offered' });
});

test('after a lost Lease the silence of the API server is reported before the agent stops', async () => {
  const { world, hang } = await createCaredWorld();
  world.server.settings(settings);
  await world.clock.advance(10_000);
  hang();
  let ended = false;
  const outage = world.agent.reportOutage().then(() => {
    ended = true;
  });
  await world.clock.advance(9_000);
  expect(ended).toBe(false);
  await world.clock.advance(1_500);
  expect(statusOf(world)).toMatchObject({ error: 'no answer within 10000 ms' });
  expect(ended).toBe(false);
  world.server.inputTaken();
  await world.settle();
  expect(ended).toBe(true);
  await outage;
  // What fails is known already: nothing is waited for.
  await world.agent.reportOutage();
  await world.agent.stop();
});

test('after a lost Lease an API server that answers delays nothing, and so does an agent without Shoot', async () => {
  const { world } = await createCaredWorld();
  await world.agent.reportOutage();
  world.server.settings(settings);
  await world.clock.advance(10_000);
  const published = world.server.inputs.length;
  const outage = world.agent.reportOutage();
  await world.clock.advance(10);
  await outage;
  expect(world.server.inputs).toHaveLength(published);
});
