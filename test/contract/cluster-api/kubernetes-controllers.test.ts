import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ClusterApi, ObservedObject } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { fleet, keyOf, nonce, request } from './suite.ts';

describe.skipIf(noProgram('kube-controller-manager'))('a Kubernetes cluster whose controllers run', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  beforeAll(async () => {
    plane = await startControlPlane({ controllers: true });
    world = await createKubernetesWorld(plane);
    cluster = await world.begin();
  });
  afterAll(async () => {
    await world?.close();
    await plane?.stop();
  });

  const find = async (look: (object: ObservedObject) => boolean): Promise<ObservedObject> => {
    const found = async () => [...(await cluster.list('hinted')).objects.values()].find(look);
    await world.until(cluster, 'what a controller makes', (objects) => [...objects.values()].some(look));
    return (await found()) as ObservedObject;
  };
  const labels = { app: 'web' };

  test('labels and annotations that controllers copied to what they made own nothing', async () => {
    const service: JsonObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: world.web },
      spec: { selector: labels, ports: [{ port: 80 }] },
    };
    const deployment: JsonObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: world.web },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'one' }] } },
      },
    };
    expect(await cluster.apply(request(service))).toMatchObject({ type: 'applied' });
    expect(await cluster.apply(request(deployment))).toMatchObject({ type: 'applied' });
    const inside =
      (kind: string) =>
      ({ key }: ObservedObject) =>
        key.startsWith(`${kind}/${world.web}/web-`);
    const slice = await find(inside('discovery.k8s.io/EndpointSlice'));
    const replicaSet = await find(inside('apps/ReplicaSet'));
    const raw = await plane.get<{ metadata: { labels: JsonObject; annotations: JsonObject } }>(
      'replicaset',
      replicaSet.key.split('/').at(-1) ?? '',
      '-n',
      world.web,
    );
    // The premise of the test: the copy is there.
    expect(raw.metadata.annotations['fleetrelay.dev/object']).toBe(`apps/Deployment/${world.web}/web`);
    for (const { key, stamp, value } of [slice, replicaSet]) {
      expect(stamp?.key).not.toBe(key);
      expect(JSON.stringify(value)).not.toContain('fleetrelay.dev');
      expect(await cluster.remove({ key, fleet, nonce })).toMatchObject({ type: 'notOwned' });
      expect(await cluster.apply(request({ ...value, metadata: metadataOf(key) }))).toMatchObject({ type: 'conflict' });
    }
    const status = await cluster.list('hinted');
    expect(status.objects.get(keyOf(deployment))?.health?.state).toBe('inProgress');
    expect(cluster.matches(request(deployment), status.objects.get(keyOf(deployment))!)).toBe(true);
  });

  test('a namespace goes with what is in it, and is gone when it is gone', async () => {
    const name = `${world.web}-going`;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    const inside = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'held', namespace: name } };
    await cluster.apply(request(namespace));
    await cluster.apply(request({ ...inside, metadata: { ...inside.metadata, finalizers: ['example.com/hold'] } }));
    expect(await cluster.remove({ key: keyOf(namespace), fleet, nonce })).toMatchObject({ type: 'waiting' });
    // The controller says in the namespace's conditions what holds it.
    await world.seen(cluster, keyOf(namespace), (object) => JSON.stringify(object?.value).includes('example.com/hold'));
    expect(await cluster.remove({ key: keyOf(namespace), fleet, nonce })).toMatchObject({
      type: 'waiting',
      message: expect.stringContaining('example.com/hold'),
    });
    const release = ['patch', 'configmap', 'held', '-n', name, '--type', 'merge'];
    await plane.kubectl([...release, '-p', '{"metadata":{"finalizers":null}}']);
    await world.seen(cluster, keyOf(namespace), (object) => object === undefined);
    expect(await cluster.remove({ key: keyOf(namespace), fleet, nonce })).toEqual({ type: 'gone' });
    expect(await cluster.apply(request(namespace))).toMatchObject({ type: 'applied' });
  });
});

function metadataOf(key: ObjectKey): JsonObject {
  const [, , namespace, name] = key.split('/');
  return { namespace, name };
}
