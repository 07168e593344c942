import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesCluster } from '../../../src/adapters/kubernetes/cluster/cluster.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import { noKubernetes } from '../../support/kubernetes/binaries.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { fleet, keyOf, configMap as mapIn, request } from './suite.ts';

describe.skipIf(noKubernetes)('writes in a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: KubernetesCluster;
  beforeAll(async () => {
    plane = await startControlPlane({});
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    cluster = await world.open();
    await cluster.loadInventory();
    await cluster.list('whole');
  });
  afterEach(() => world.close());

  const configMap = (name: string, data: Record<string, string>): JsonObject => mapIn(name, data, world.web);
  const live = (kind: string, name: string) =>
    plane.get<JsonObject>(kind, name, '-n', world.web, '--show-managed-fields');
  const writes = () => world.sent.filter((line) => !line.startsWith('GET') && line.includes(world.web));

  test('an object is made with one request, changed with one, and an unchanged one is not sent', async () => {
    const a = configMap('a', { k: '1' });
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied', identity: expect.stringMatching(/-/) });
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'unchanged' });
    expect(await cluster.apply(request(configMap('a', { k: '2' })))).toMatchObject({ type: 'applied' });
    expect(writes()).toHaveLength(2);
    const again = await world.open();

    await again.loadInventory();
    const { objects } = await again.list('whole');
    expect(again.matches(request(configMap('a', { k: '2' })), objects.get(keyOf(a))!)).toBe(true);
    expect(await again.apply(request(configMap('a', { k: '2' })))).toMatchObject({ type: 'unchanged' });
    expect(writes()).toHaveLength(2);
    expect(await live('configmap', 'a')).toMatchObject({
      data: { k: '2' },
      metadata: { labels: { 'fleetrelay.dev/fleet': 'fleet' } },
    });
    expect(await again.remove({ key: keyOf(a), fleet })).toEqual({ type: 'gone' });
  });

  test('what a person changes with kubectl edit is drift and is put back', async () => {
    const a = configMap('a', { k: '1', other: 'x' });
    await cluster.apply(request(a));
    await plane.kubectl(['patch', 'configmap', 'a', '-n', world.web, '-p', '{"data":{"k":"drift"}}']);
    const drifted = await world.seen(cluster, keyOf(a), (object) => JSON.stringify(object?.value).includes('drift'));
    expect(cluster.matches(request(a), drifted)).toBe(false);
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: '1', other: 'x' } });
    expect(cluster.matches(request(a), (await cluster.list('hinted')).objects.get(keyOf(a))!)).toBe(true);
  });

  test("somebody's object is a conflict with their name, and is adopted when told", async () => {
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(configMap('a', { k: 'theirs' })) });
    const a = configMap('a', { k: '1' });
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: '"kubectl-client-side-apply"' });
    const adopting = {
      ...a,
      metadata: { name: 'a', namespace: world.web, annotations: { 'fleetrelay.dev/adopt': 'true' } },
    };
    expect(await cluster.preview(request(a))).toMatchObject({ type: 'change', adopts: '"kubectl-client-side-apply"' });
    expect(await cluster.apply(request(adopting))).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: '1' } });
  });
});
