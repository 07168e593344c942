import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { fleet, inventoryChange, keyOf, configMap as mapIn, nonce, request } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('live state of a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  beforeAll(async () => {
    plane = await startControlPlane();
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    cluster = await world.begin();
  });
  afterEach(() => world.close());

  const configMap = (name: string, data: Record<string, string>): JsonObject => mapIn(name, data, world.web);
  const account = (name: string, annotations: JsonObject = {}): JsonObject => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace: world.web, annotations },
  });
  const kubectl = (input: JsonObject) => plane.kubectl(['apply', '-f', '-'], { input: manifest(input) });

  test('a state names what changed since the one before, and is the same while nothing does', async () => {
    const first = await cluster.list('complete');
    expect(await cluster.list('hinted')).toBe(first);
    await kubectl(account('new'));
    const key = keyOf(account('new'));
    await world.until(cluster, 'the new account', (objects) => objects.has(key));
    await cluster.apply(request(account('ours')));
    const next = await cluster.list('hinted');
    expect([...(next.changed ?? [])]).toEqual([keyOf(account('ours'))]);
    // The event of an own write is no change.
    const before = next.objects.get(keyOf(account('ours')));
    await kubectl(account('later'));
    await world.until(cluster, 'a later account', (objects) => objects.has(keyOf(account('later'))));
    const last = await cluster.list('hinted');
    expect(last.objects.get(keyOf(account('ours')))).toBe(before);
  });

  test('every kind is there with its scope; others’ objects are read of discovered kinds only', async () => {
    await kubectl(configMap('theirs', { secret: 'x' }));
    await cluster.apply(request(configMap('ours', {})));
    await kubectl(account('hidden', { 'fleetrelay.dev/discovery': 'disabled' }));
    await kubectl(account('shown'));
    await world.until(cluster, 'the account', (objects) => objects.has(keyOf(account('shown'))));
    const { objects, kinds, kubernetesVersion } = await cluster.list('complete');
    expect(kubernetesVersion).toMatch(/^v1\.\d+\.\d+/);
    expect(objects.has(keyOf(account('hidden')))).toBe(false);
    expect(objects.has(keyOf(configMap('theirs', {})))).toBe(false);
    const of = (name: string) => kinds.find(({ kind }) => kind === name);
    expect(of('/Service')).toEqual({ kind: '/Service', state: 'complete', message: '', scope: 'Namespaced' });
    expect(of('/Namespace')).toMatchObject({ state: 'complete', scope: 'Cluster' });
    expect(of('/ConfigMap')).toMatchObject({ state: 'offered', scope: 'Namespaced' });
    expect(of('apps/ControllerRevision')).toMatchObject({ state: 'offered' });
    expect(JSON.stringify([...objects.values()].map(({ value }) => value))).not.toContain('managedFields');
  });

  test('a Namespace that says what is not to be discovered in it is seen, whatever is excluded', async () => {
    const space = keyOf({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: world.web } });
    await plane.kubectl(['annotate', 'namespace', world.web, 'fleetrelay.dev/discovery=disabled']);
    await kubectl(account('after'));
    await world.until(cluster, 'the account', (objects) => objects.has(keyOf(account('after'))));
    const says = (object: { readonly value: JsonObject } | undefined): boolean =>
      JSON.stringify(object?.value ?? {}).includes('"fleetrelay.dev/discovery":"disabled"');
    await world.seen(cluster, space, says);
    cluster.configure({ discovery: { excludedNamespaces: [], excludedKinds: ['/Namespace'] }, ignoredFields: [] });
    await cluster.list('complete');
    await world.seen(cluster, space, says);
  });

  test('a kind whose name is no part of any key is left out, and every other kind is listed', async () => {
    const kinds = { odds: 'Odd-Kind', evens: 'Even' };
    for (const [plural, kind] of Object.entries(kinds)) {
      await kubectl({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.security.istio.io` },
        spec: {
          group: 'security.istio.io',
          scope: 'Namespaced',
          names: { kind, plural },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          ],
        },
      });
      await plane.kubectl(['wait', '--for=condition=Established', `crd/${plural}.security.istio.io`]);
      await kubectl({ apiVersion: 'security.istio.io/v1', kind, metadata: { name: 'a', namespace: world.web } });
    }
    const even = `security.istio.io/Even/${world.web}/a`;
    await world.until(cluster, 'the even one', (objects) => [...objects.keys()].some((key) => key === even));
    const live = await cluster.list('complete');
    const names = [...live.kinds.map(({ kind }) => `${kind}//a`), ...live.objects.keys()];
    expect(names.filter((key) => !parseObjectKey(key).ok)).toEqual([]);
    await plane.kubectl(['delete', 'crd', ...Object.keys(kinds).map((plural) => `${plural}.security.istio.io`)]);
  });

  test('a kind whose definition was removed is gone with its objects, and is there again with the next definition', async () => {
    const thing = (group: string): JsonObject => ({
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: 'a', namespace: world.web },
    });
    // The objects of the first group are reported; of the second one only those that are ours.
    const groups = ['security.istio.io', 'example.com'];
    const keys = groups.map((group) => keyOf(thing(group)));
    const define = async (group: string): Promise<void> => {
      const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
      const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }];
      await kubectl({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `things.${group}` },
        spec: { group, scope: 'Namespaced', names: { kind: 'Thing', plural: 'things' }, versions },
      });
      await plane.kubectl(['wait', '--for=condition=Established', `crd/things.${group}`]);
    };
    const kindsNow = async () => (await cluster.list('hinted')).kinds.filter(({ kind }) => kind.endsWith('/Thing'));
    for (let round = 0; round < 2; round += 1) {
      for (const group of groups) await define(group);
      await world.until(cluster, 'the kinds', () => true);
      for (const group of groups) {
        let outcome = await cluster.apply(request(thing(group)));
        for (let tries = 0; tries < 200 && outcome.type === 'failed'; tries += 1) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          outcome = await cluster.apply(request(thing(group)));
        }
        expect(outcome).toMatchObject({ type: 'applied' });
      }
      await world.until(cluster, 'the objects', (objects) => keys.every((key) => objects.has(key)));
      await plane.kubectl(['delete', 'crd', ...groups.map((group) => `things.${group}`)]);
      await world.until(cluster, 'that they are gone', (objects) => keys.every((key) => !objects.has(key)));
      const deadline = performance.now() + 90_000;
      while ((await kindsNow()).length > 0 && performance.now() < deadline)
        await new Promise((go) => setTimeout(go, 50));
      expect(await kindsNow()).toEqual([]);
      expect((await cluster.list('complete')).diagnostics).toEqual([]);
      expect((await cluster.list('complete')).kinds.filter(({ message }) => message.includes('404'))).toEqual([]);
    }
  });

  test('what is owned is found by its label when the inventory is gone, and by the inventory when it is there', async () => {
    await cluster.apply(request(configMap('a', { k: '1' })));
    const key = keyOf(configMap('a', {}));
    const lost = await world.open();
    expect(await lost.loadInventory()).toEqual({ type: 'missing' });
    expect((await lost.list('complete')).objects.get(key)).toMatchObject({ stamp: { key, fleet } });
    await lost.saveInventory(inventoryChange(1, [configMap('a', { k: '1' })]));
    const asked = world.sent.length;
    const found = await world.open();
    expect(await found.loadInventory()).toMatchObject({ type: 'found' });
    expect((await found.list('complete')).objects.has(key)).toBe(true);
    // The agent does not list all kinds for objects that the inventory names.
    expect(world.sent.slice(asked).filter((line) => line.includes('fleet&limit=1'))).toEqual([]);
  });

  test('while the API server is away writes wait, and afterwards everything goes on', async () => {
    await cluster.apply(request(configMap('a', { k: '1' })));
    await plane.killApiServer();
    expect(await cluster.apply(request(configMap('a', { k: '2' })))).toMatchObject({
      type: 'failed',
      reason: 'Unreachable',
    });
    expect(await cluster.remove({ key: keyOf(configMap('a', {})), fleet, nonce })).toMatchObject({
      reason: 'Unreachable',
    });
    await expect(world.open()).rejects.toThrow('127.0.0.1');
    // Observed objects stay while no API server answers.
    expect((await cluster.list('hinted')).objects.has(keyOf(configMap('a', {})))).toBe(true);
    await plane.startApiServer();
    await plane.compact();
    expect(await cluster.apply(request(configMap('a', { k: '2' })))).toMatchObject({ type: 'applied' });
    await kubectl(account('after'));
    await world.until(cluster, 'a change after the break', (objects) => objects.has(keyOf(account('after'))));
    await plane.kubectl(['patch', 'configmap', 'a', '-n', world.web, '-p', '{"data":{"k":"drift"}}']);
    const drifted = await world.seen(cluster, keyOf(configMap('a', {})), (object) =>
      JSON.stringify(object?.value).includes('drift'),
    );
    expect(cluster.matches(request(configMap('a', { k: '2' })), drifted)).toBe(false);
  });

  test('what a first apply would do is asked of the server and not done', async () => {
    const a = configMap('a', { k: '1' });
    expect(await world.preview(request(a))).toEqual({ type: 'create' });
    const theirs = manifest(configMap('a', { k: 'theirs', more: 'x' }));
    await plane.kubectl(['create', '--field-manager=console', '-f', '-'], { input: theirs });
    const preview = await world.preview(request(a));
    expect(preview).toMatchObject({
      type: 'change',
      adopts: '"console"',
      conflicts: [{ manager: 'console', field: '.data.k' }],
    });
    expect(preview).toMatchObject({ changes: [{ field: '.data.k', before: 'theirs', after: '1' }] });
    expect(await plane.get('configmap', 'a', '-n', world.web)).toMatchObject({ data: { k: 'theirs', more: 'x' } });
    const b = configMap('b', { k: '1' });
    await cluster.apply(request(b));
    expect(await world.preview(request(b))).toEqual({ type: 'unchanged' });
  });
});
