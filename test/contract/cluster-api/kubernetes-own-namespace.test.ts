import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { configMap, fleet, inventoryChange, keyOf, nonce, request } from './suite.ts';

const ADOPT = { 'fleetrelay.dev/adopt': 'true' };

describe.skipIf(noProgram('kube-apiserver'))("the agent's own namespace in a Kubernetes cluster", () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  beforeAll(async () => {
    plane = await startControlPlane({});
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
  });
  afterEach(() => world.close());

  const pausing = (): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: world.own, annotations: { ...ADOPT, 'fleetrelay.dev/paused': 'true' } },
  });
  const agent = (replicas: number, annotations: Record<string, string> = {}): JsonObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'fleetrelay-agent', namespace: world.own, annotations },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'agent' } },
      template: {
        metadata: { labels: { app: 'agent' } },
        spec: { containers: [{ name: 'agent', image: 'agent' }] },
      },
    },
  });
  const refused = { type: 'failed', reason: 'OwnNamespace' };

  test('is not changed by what is declared, adopted or not, and nothing else is refused', async () => {
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(agent(1)) });
    const cluster = await world.begin();
    const before = [
      await plane.get('namespace', world.own),
      await plane.get('deployment', 'fleetrelay-agent', '-n', world.own),
    ];
    expect(await cluster.apply(request(pausing()))).toMatchObject(refused);
    expect(await cluster.apply(request(agent(0, ADOPT)))).toMatchObject({
      ...refused,
      message: expect.stringContaining('--allow-own-namespace'),
    });
    expect(await cluster.apply(request(configMap('new', {}, world.own)))).toMatchObject(refused);
    expect([
      await plane.get('namespace', world.own),
      await plane.get('deployment', 'fleetrelay-agent', '-n', world.own),
    ]).toEqual(before);
    expect((await cluster.list('complete')).paused).toBe(false);
    expect(await cluster.apply(request(configMap('a', { k: '1' }, world.web)))).toMatchObject({ type: 'applied' });
    await cluster.saveInventory(inventoryChange(1, [configMap('a', { k: '1' }, world.web)]));
  });

  test('is changed where the agent allows it, and left as it is when it does so no more', async () => {
    const allowing = await world.begin({ allowOwnNamespace: true });
    const map = configMap('a', { k: '1' }, world.own);
    expect(await allowing.apply(request(map))).toMatchObject({ type: 'applied' });
    expect(await allowing.apply(request(agent(1)))).toMatchObject({ type: 'applied' });
    const cluster = await world.begin();
    expect(await cluster.apply(request(configMap('a', { k: '2' }, world.own)))).toMatchObject(refused);
    expect(await cluster.remove({ key: keyOf(agent(1)), fleet, nonce })).toMatchObject({
      type: 'exempt',
      reason: 'OwnNamespace',
    });
    expect(await plane.get('configmap', 'a', '-n', world.own)).toMatchObject({ data: { k: '1' } });
    expect(await plane.get('deployment', 'fleetrelay-agent', '-n', world.own)).toMatchObject({ spec: { replicas: 1 } });
    const again = await world.begin({ allowOwnNamespace: true });
    expect(await again.remove({ key: keyOf(map), fleet, nonce })).toEqual({ type: 'gone' });
  });
});
