import { expect, test } from 'vitest';
import type { AgentSettings } from '../../../src/model/agent/agent-settings.ts';
import { configMap, createAgentWorld, createConnectedWorld } from '../../support/agent-world.ts';

const settings: AgentSettings = {
  discovery: { excludedNamespaces: ['web'], excludedKinds: [] },
  ignoredFields: [{ kind: 'apps/Deployment', fields: ['spec.replicas'] }],
};

test('settings reach the cluster at once, and outlast the agent', async () => {
  const world = await createConnectedWorld();
  world.server.settings(settings);
  expect(world.cluster.configured).toEqual([settings]);
  await world.settle();
  expect(world.cluster.inventory.current?.state.settings).toEqual(settings);
  await world.restart();
  expect(world.cluster.configured).toEqual([settings, settings]);
  world.server.settings(settings);
  expect(world.cluster.configured).toHaveLength(2);
});

test('settings survive deltas', async () => {
  const world = await createConnectedWorld();
  world.server.settings(settings);
  await world.server.say({ upserts: [configMap('a', '1')] });
  await world.settle();
  expect(world.cluster.inventory.current?.state).toMatchObject({ settings, position: { sequence: 1 } });
});

test('settings that cannot be written are in force, and the next write contains them', async () => {
  const world = await createConnectedWorld();
  world.cluster.inventoryGate = Promise.reject(new Error('disk full'));
  world.server.settings(settings);
  await world.settle();
  expect(world.cluster.configured).toEqual([settings]);
  world.cluster.inventoryGate = undefined;
  await world.server.say({ upserts: [configMap('a', '1')] });
  expect(world.cluster.inventory.current?.state.settings).toEqual(settings);
});

test('settings do not make an inventory durable that was recovered without proof', async () => {
  const world = await createAgentWorld();
  const value = configMap('a', '1');
  const key = '/ConfigMap/web/a' as never;
  world.cluster.personPuts(key, value);
  const object = world.cluster.objects.get(key);
  const origins = [{ source: 'git' as never, path: 'a.yaml' }];
  const stamp = { fleet: 'fleet' as never, key, nonce: 'n', origins, scope: [] };
  world.cluster.objects.set(key, { ...object!, stamp });
  await world.agent.start();
  world.server.settings(settings);
  await world.settle();
  expect(world.cluster.configured).toEqual([settings]);
  expect(world.cluster.inventory.current).toBeUndefined();
});

test('settings that arrive faster than they can be written are written once', async () => {
  const world = await createConnectedWorld();
  const gate = Promise.withResolvers<void>();
  world.cluster.inventoryGate = gate.promise;
  const said = (index: number): AgentSettings => ({
    ...settings,
    discovery: { excludedNamespaces: [`n${index}`], excludedKinds: [] },
  });
  for (let index = 0; index < 1000; index += 1) world.server.settings(said(index));
  gate.resolve();
  await world.settle();
  expect(world.cluster.inventory.current?.state.settings).toEqual(said(999));
  expect(world.cluster.calls.filter((call) => call === 'inventory').length).toBeLessThan(4);
});

test('an object that was left alone is tried again as soon as the policy ignores opt-outs on live objects', async () => {
  const world = await createConnectedWorld();
  const value = configMap('a', '1');
  const key = '/ConfigMap/web/a' as never;
  world.cluster.fail(key, { type: 'exempt', reason: 'ReconcileDisabled', message: 'left alone' });
  await world.server.say({ upserts: [value] });
  await world.settle();
  expect(world.server.lastResults()).toEqual({ [key]: 'paused ReconcileDisabled' });
  world.cluster.fail(key, undefined);
  world.server.settings({ ...settings, ignoreLiveOptOuts: true });
  await world.settle();
  expect(world.server.lastResults()).toEqual({ [key]: 'applied Applied' });
});
