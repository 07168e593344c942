import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { parseFleetName, parseSourceName } from '../../../src/model/fleet/ids.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import type { JsonObject, JsonValue } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { ApplyRequest, ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { fleet, inventoryChange, keyOf, configMap as mapIn, nonce, request } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('writes in a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  beforeAll(async () => {
    plane = await startControlPlane({ users: { limited: ['limited'] } });
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    cluster = await world.begin();
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
    const { objects } = await again.list('complete');
    expect(again.matches(request(configMap('a', { k: '2' })), objects.get(keyOf(a))!)).toBe(true);
    expect(await again.apply(request(configMap('a', { k: '2' })))).toMatchObject({ type: 'unchanged' });
    expect(writes()).toHaveLength(2);
    expect(await live('configmap', 'a')).toMatchObject({
      data: { k: '2' },
      metadata: { labels: { 'fleetrelay.dev/fleet': 'fleet' } },
    });
    expect(await again.remove({ key: keyOf(a), fleet, nonce })).toEqual({ type: 'gone' });
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

  test('drift that is only reported is left, with its fields, until the content is another one; an Event tells of it', async () => {
    const a = configMap('a', { k: '1', other: 'x' });
    await cluster.apply(request(a));
    await plane.kubectl(['patch', 'configmap', 'a', '-n', world.web, '-p', '{"data":{"k":"theirs"}}']);
    const drifted = await world.seen(cluster, keyOf(a), (object) => JSON.stringify(object?.value).includes('theirs'));
    expect(cluster.differences(request(a), drifted)).toEqual({ fields: ['.data.k'], managers: ['kubectl-patch'] });
    const again = await world.open();
    await again.loadInventory();
    await again.list('complete');
    const leaving = { ...request(a), leavesDrift: true } as const;
    expect(await again.apply(leaving)).toMatchObject({
      ...{ type: 'drifted', drift: 'changed', fields: ['.data.k'], managers: ['kubectl-patch'] },
    });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: 'theirs' } });
    await again.tell?.(keyOf(a), { type: 'Normal', reason: 'DriftReported', message: 'data.k' });
    const events = await plane.kubectl(['get', 'events', '-n', world.web, '-o', 'jsonpath={.items[*].reason}']);
    expect(events).toContain('DriftReported');
    const next = configMap('a', { k: '2', other: 'x' });
    expect(await again.apply({ ...request(next), leavesDrift: true })).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: '2' } });
  });

  test('an object that others remove while it is applied stays removed where drift is only reported', async () => {
    const a = configMap('a', { k: '1' });
    let isRemoved = false;
    cluster = await world.begin({
      through: (client) => ({
        ...client,
        request: async (asked) => {
          if (asked.method === 'PATCH' && asked.path.endsWith('/configmaps/a') && writes().length > 0 && !isRemoved) {
            isRemoved = true;
            await plane.kubectl(['delete', 'configmap', 'a', '-n', world.web]);
          }
          return client.request(asked);
        },
      }),
    });
    await cluster.apply(request(a));
    const moved = request(a, { origins: [{ source: must(parseSourceName('git')), path: 'moved.yaml' }] });
    const leaving = { ...moved, digest: objectDigest(a), leavesDrift: true, applied: true } as const;
    expect(await cluster.apply(leaving)).toEqual({ type: 'drifted', drift: 'removed', fields: [], managers: [] });
    expect(isRemoved).toBe(true);
    await expect(live('configmap', 'a')).rejects.toThrow('not found');
  });

  test('an object that is being deleted differs in no field, and the message says what happens when it is gone', async () => {
    const a = configMap('a', { k: '1' });
    await cluster.apply(request(a));
    const finalizers = (names: readonly string[]) =>
      patch('configmap', 'a', { metadata: { finalizers: names } }, 'holder');
    await finalizers(['example.com/hold']);
    await plane.kubectl(['delete', 'configmap', 'a', '-n', world.web, '--wait=false']);
    const held = await world.seen(cluster, keyOf(a), (object) => object?.health?.state === 'terminating');
    expect(cluster.matches(request(a), held)).toBe(false);
    expect(cluster.differences(request(a), held)).toEqual({ fields: [], managers: [] });
    const leaving = { ...request(a), digest: objectDigest(a), leavesDrift: true } as const;
    const said = async (asked: ApplyRequest) => (await cluster.apply(asked)) as { readonly message?: string };
    for (const asked of [request(a), leaving]) {
      expect(await said(asked)).toMatchObject({ type: 'failed', reason: 'BeingDeleted' });
      expect((await said(asked)).message).toContain('made anew when it is gone');
    }
    expect((await said({ ...leaving, applied: true })).message).not.toContain('made anew');
    await finalizers([]);
    await world.until(cluster, 'it is gone', (objects) => !objects.has(keyOf(a)));
    expect(await cluster.apply({ ...leaving, applied: true })).toMatchObject({ type: 'drifted', drift: 'removed' });
    expect(await cluster.apply(leaving)).toMatchObject({ type: 'applied' });
  });

  test('no manager is named for a field that was removed, since the cluster does not say who did it', async () => {
    const a = configMap('a', { k: '1', other: 'x' });
    await cluster.apply(request(a));
    await patch('configmap', 'a', [{ op: 'remove', path: '/data/other' }], 'person', 'json');
    const lacking = await world.seen(cluster, keyOf(a), (object) => !JSON.stringify(object?.value).includes('other'));
    expect(cluster.differences(request(a), lacking)).toEqual({ fields: ['.data.other'], managers: [] });
    await patch('configmap', 'a', { metadata: { finalizers: ['example.com/hold'] } }, 'holder');
    const patched = await world.seen(cluster, keyOf(a), (object) => JSON.stringify(object?.value).includes('hold'));
    expect(cluster.differences(request(a), patched)).toEqual({ fields: ['.data.other'], managers: [] });
    await patch('configmap', 'a', { metadata: { finalizers: null } }, 'holder');
  });

  test('the object of another manager is a conflict that names it, and is adopted on request', async () => {
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(configMap('a', { k: 'theirs' })) });
    const a = configMap('a', { k: '1' });
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: '"kubectl-client-side-apply"' });
    const adopting = {
      ...a,
      metadata: { name: 'a', namespace: world.web, annotations: { 'fleetrelay.dev/adopt': 'true' } },
    };
    expect(await world.preview(request(a))).toMatchObject({ type: 'change', adopts: '"kubectl-client-side-apply"' });
    expect(await cluster.apply(request(adopting))).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: '1' } });
  });

  test('a Namespace that an installation has made for this agent is taken over; one for another agent and other objects are not', async () => {
    const made = { 'fleetrelay.dev/made-for-agent': world.own };
    const byCommand = ['apply', '--server-side', '--field-manager', 'fleetrelay-cli', '-f', '-'];
    const name = `${world.web}-made`;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await plane.kubectl(byCommand, { input: JSON.stringify(annotated(namespace, made)) });
    expect(await world.preview(request(namespace))).toMatchObject({ type: 'change', mayTakeOver: true });
    expect(await cluster.apply(request(namespace))).toMatchObject({ type: 'applied' });
    const { metadata } = JSON.parse(await plane.kubectl(['get', 'namespace', name, '-o', 'json']));
    expect(metadata.annotations).not.toHaveProperty(['fleetrelay.dev/made-for-agent']);
    const other = { ...namespace, metadata: { name: `${name}-elsewhere` } };
    const elsewhere = { 'fleetrelay.dev/made-for-agent': 'other-agents' };
    await plane.kubectl(byCommand, { input: JSON.stringify(annotated(other, elsewhere)) });
    expect(await world.preview(request(other))).toMatchObject({ type: 'change', mayTakeOver: false });
    const refused = await cluster.apply(request(other));
    expect(refused).toMatchObject({ type: 'conflict', owner: 'the agent in namespace other-agents' });
    expect(await cluster.apply(request(annotated(other, { 'fleetrelay.dev/adopt': 'true' })))).toMatchObject({
      type: 'applied',
    });
    await plane.kubectl(byCommand, { input: manifest(annotated(configMap('a', { k: 'theirs' }), made)) });
    expect(await cluster.apply(request(configMap('a', { k: '1' })))).toMatchObject({ type: 'conflict' });
  });

  test("another applier's field is a conflict with its name, and is taken only when told", async () => {
    const a = configMap('a', { k: '1' });
    await cluster.apply(request(a));
    const theirs = manifest(configMap('a', { k: 'argo' }));
    const args = ['apply', '--server-side', '--force-conflicts', '--field-manager', 'argocd', '-f', '-'];
    await plane.kubectl(args, { input: theirs });
    const outcome = await cluster.apply(request(a));
    expect(outcome).toMatchObject({ type: 'conflict', owner: 'argocd', message: expect.stringContaining('.data.k') });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: 'argo' } });
    const forced = annotated(a, { 'fleetrelay.dev/force-conflicts': 'true' });
    expect(await cluster.apply(request(forced))).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: '1' } });
  });

  test('a manager that keeps changing a field is named and left after three reversals', async () => {
    const a = configMap('a', { k: '1' });
    await cluster.apply(request(a));
    const outcomes: string[] = [];
    let last: unknown;
    for (let round = 0; round < 4; round += 1) {
      await patch('configmap', 'a', { data: { k: `theirs-${round}` } }, 'stubborn');
      await world.seen(cluster, keyOf(a), (object) => JSON.stringify(object?.value).includes(`theirs-${round}`));
      last = await cluster.apply(request(a));
      outcomes.push((last as { type: string }).type);
    }
    expect(outcomes).toEqual(['applied', 'applied', 'applied', 'conflict']);
    expect(last).toMatchObject({ owner: 'stubborn', message: expect.stringContaining('.data.k') });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: 'theirs-3' } });
  });

  test('an autoscaler scales: no drift, no fight, and a later change leaves its replicas alone', async () => {
    const value = deployment('web', 2, 'one');
    await cluster.apply(request(value));
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(autoscaler('web')) });
    const hpa = keyOf(autoscaler('web'));
    await world.seen(cluster, hpa, (object) => object !== undefined);
    // Only we hold the field yet: leaving it out would remove it.
    expect(await cluster.apply(request(deployment('web', 4, 'two')))).toMatchObject({ type: 'applied' });
    expect(await live('deployment', 'web')).toMatchObject({ spec: { replicas: 2 } });
    await plane.kubectl(['scale', 'deployment', 'web', '--replicas=5', '-n', world.web]);
    const scaled = await world.seen(cluster, keyOf(value), (object) => replicasOf(object?.value) === 5);
    expect(cluster.matches(request(deployment('web', 4, 'two')), scaled)).toBe(true);
    expect(await cluster.apply(request(deployment('web', 4, 'three')))).toMatchObject({ type: 'applied' });
    expect(await live('deployment', 'web')).toMatchObject({ spec: { replicas: 5 } });
    const fresh = await world.begin();
    const again = (await fresh.list('complete')).objects.get(keyOf(value))!;
    expect(fresh.matches(request(deployment('web', 4, 'three')), again)).toBe(true);
    await plane.kubectl(['delete', 'hpa', 'web', '-n', world.web]);
    await world.seen(fresh, hpa, (object) => object === undefined);
    const now = (await fresh.list('hinted')).objects.get(keyOf(value))!;
    expect(now).not.toBe(again);
    expect(fresh.matches(request(deployment('web', 4, 'three')), now)).toBe(false);
    expect(await fresh.apply(request(deployment('web', 4, 'three')))).toMatchObject({ type: 'applied' });
    expect(await live('deployment', 'web')).toMatchObject({ spec: { replicas: 4 } });
  });

  test('fields that the policy or an annotation leaves to others are declared at creation only', async () => {
    const value = annotated(deployment('web', 2, 'one'), { 'fleetrelay.dev/ignore-fields': 'spec.replicas' });
    await cluster.apply(request(value));
    expect(await live('deployment', 'web')).toMatchObject({ spec: { replicas: 2 } });
    await patch('deployment', 'web', { spec: { replicas: 7 } }, 'other-manager');
    const scaled = await world.seen(cluster, keyOf(value), (object) => replicasOf(object?.value) === 7);
    expect(cluster.matches(request(value), scaled)).toBe(true);
    cluster.configure({
      discovery: { excludedNamespaces: [], excludedKinds: [] },
      ignoredFields: [{ kind: '/ConfigMap', fields: ['data.k'] }],
    });
    const a = configMap('a', { k: '1', l: '1' });
    await cluster.apply(request(a));
    await patch('configmap', 'a', { data: { k: 'theirs' } }, 'other-manager');
    const seen = await world.seen(cluster, keyOf(a), (object) => JSON.stringify(object?.value).includes('theirs'));
    expect(cluster.matches(request(a), seen)).toBe(true);
    expect(await cluster.apply(request(configMap('a', { k: '1', l: '2' })))).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: 'theirs', l: '2' } });
  });

  test('what a server adds is no drift, to a process that knows nothing of the apply either', async () => {
    const values = everydayObjects(world.web);
    for (const value of values)
      expect([keyOf(value), await cluster.apply(request(value))]).toMatchObject([keyOf(value), { type: 'applied' }]);
    const fresh = await world.begin();
    const { objects } = await fresh.list('complete');
    const before = writes().length;
    for (const value of values) {
      expect([keyOf(value), fresh.matches(request(value), objects.get(keyOf(value))!)]).toEqual([keyOf(value), true]);
      expect(await fresh.apply(request(value))).toMatchObject({ type: 'unchanged' });
    }
    expect(writes()).toHaveLength(before);
  });

  test('an injected sidecar and an added label are no drift; a removed field of ours is', async () => {
    const value = deployment('web', 1, 'one');
    await cluster.apply(request(value));
    const sidecar = { spec: { template: { spec: { containers: [{ name: 'proxy', image: 'proxy' }] } } } };
    await patch('deployment', 'web', sidecar, 'injector', 'strategic');
    await plane.kubectl(['label', 'deployment', 'web', 'added=yes', '-n', world.web]);
    const added = await world.seen(cluster, keyOf(value), (object) =>
      JSON.stringify(object?.value).includes('"added"'),
    );
    expect(cluster.matches(request(value), added)).toBe(true);
    await patch('deployment', 'web', { metadata: { labels: { app: null } } }, 'remover');
    const removed = await world.seen(cluster, keyOf(value), (object) => labelsOf(object?.value).app === undefined);
    expect(cluster.matches(request(value), removed)).toBe(false);
    expect(await cluster.apply(request(value))).toMatchObject({ type: 'applied' });
    const now = await live('deployment', 'web');
    expect(JSON.stringify(now)).toContain('"proxy"');
    expect(labelsOf(now)).toMatchObject({ app: 'web', added: 'yes' });
  });

  test('an immutable field is named with the way out, and with it the object is made anew', async () => {
    const fixed = { ...configMap('a', { k: '1' }), immutable: true };
    await cluster.apply(request(fixed));
    const changed = { ...configMap('a', { k: '2' }), immutable: true };
    expect(await cluster.apply(request(changed))).toMatchObject({
      type: 'failed',
      reason: 'ImmutableField',
      message: expect.stringContaining('fleetrelay.dev/replace'),
    });
    const before = await live('configmap', 'a');
    const replacing = annotated(changed, { 'fleetrelay.dev/replace': 'true' });
    expect(await cluster.apply(request(replacing))).toMatchObject({ type: 'applied' });
    const after = await live('configmap', 'a');
    expect(after).toMatchObject({ data: { k: '2' } });
    expect((after.metadata as JsonObject).uid).not.toBe((before.metadata as JsonObject).uid);
  });

  test('what every cluster has is ours again under a new stamp after its manifest was away, and what another fleet has is not', async () => {
    const base = { apiVersion: 'v1', kind: 'Namespace' };
    const named = (colour: string) => ({ ...base, metadata: { name: 'kube-node-lease', labels: { colour } } });
    const key = keyOf(named('red'));
    const colour = async () => labelsOf(await plane.get<JsonObject>('namespace', 'kube-node-lease')).colour;
    const adopting = annotated(named('red'), { 'fleetrelay.dev/adopt': 'true' });
    expect(await cluster.apply(request(adopting))).toMatchObject({ type: 'applied' });
    expect(await cluster.remove({ key, fleet, nonce })).toMatchObject({ type: 'exempt', reason: 'NotRemovable' });
    // The entry of the inventory went, and a later one has another nonce.
    const again = request(named('blue'), { nonce: '0a'.repeat(16) });
    expect(await cluster.apply(again)).toMatchObject({ type: 'applied' });
    expect(await colour()).toBe('blue');
    const other = must(parseFleetName('other'));
    const theirs = await cluster.apply(request(named('green'), { fleet: other, nonce: '0b'.repeat(16) }));
    expect(theirs).toMatchObject({ type: 'conflict', owner: 'fleet fleet' });
    expect(await colour()).toBe('blue');
  });

  test('a finalizer holds a removal, is named, and does not stop others', async () => {
    const [a, b] = [{ ...configMap('a', {}) }, configMap('b', {})];
    await cluster.apply(request(a));
    await cluster.apply(request(b));
    await patch('configmap', 'a', { metadata: { finalizers: ['example.com/hold'] } }, 'holder');
    const waiting = { type: 'waiting', message: expect.stringContaining('example.com/hold') };
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject(waiting);
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject(waiting);
    expect(await cluster.remove({ key: keyOf(b), fleet, nonce })).toEqual({ type: 'gone' });
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'failed', reason: 'BeingDeleted' });
    await patch('configmap', 'a', { metadata: { finalizers: null } }, 'holder');
    await world.seen(cluster, keyOf(a), (object) => object === undefined);
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toEqual({ type: 'gone' });
  });

  test('a proxy that answers a removal with 405 ends nothing: the object stays ours, and no value of a Secret is said', async () => {
    const message = 'the data c2VjcmV0 is read-only here';
    const readOnly = await world.begin({
      through: (client) => ({
        ...client,
        request: async (asked) =>
          asked.method === 'DELETE'
            ? { type: 'refused', status: 405, refusal: { reason: 'MethodNotAllowed', message, causes: [] } }
            : client.request(asked),
      }),
    });
    const secret: JsonObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: world.web },
      data: { k: 'c2VjcmV0' },
    };
    await readOnly.apply(request(secret));
    await readOnly.apply(request(configMap('a', {})));
    const outcome = await readOnly.remove({ key: keyOf(secret), fleet, nonce });
    expect(outcome).toMatchObject({ type: 'failed', reason: 'NotSupported' });
    expect(JSON.stringify(outcome)).not.toContain('c2VjcmV0');
    expect(await readOnly.remove({ key: keyOf(configMap('a', {})), fleet, nonce })).toEqual({
      type: 'failed',
      reason: 'NotSupported',
      message,
    });
    expect(await cluster.remove({ key: keyOf(secret), fleet, nonce })).toEqual({ type: 'gone' });
  });

  test('a namespace that does not end refuses what is new and says so', async () => {
    const name = `${world.web}-stuck`;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await cluster.apply(request(namespace));
    await plane.kubectl(['delete', 'namespace', name, '--wait=false']);
    expect(await cluster.apply(request(mapIn('a', {}, name)))).toMatchObject({
      type: 'failed',
      reason: 'NamespaceTerminating',
    });
    await world.seen(cluster, keyOf(namespace), (object) => JSON.stringify(object?.value).includes('Terminating'));
    expect(await cluster.apply(request(annotated(namespace, { a: 'b' })))).toMatchObject({ reason: 'BeingDeleted' });
    expect(await cluster.remove({ key: keyOf(namespace), fleet, nonce })).toMatchObject({ type: 'waiting' });
    expect(await cluster.apply(request(mapIn('a', {}, 'nowhere')))).toMatchObject({ reason: 'NamespaceNotFound' });
  });

  test('a definition and what is of its kind can be applied one after the other', async () => {
    const group = `${world.web}.example.com`;
    const widget = {
      apiVersion: `${group}/v1`,
      kind: 'Widget',
      metadata: { name: 'w', namespace: world.web },
      size: 1,
    };
    expect(await cluster.apply(request(widget))).toMatchObject({
      type: 'failed',
      reason: 'NoSuchKind',
    });
    expect(await cluster.apply(request(definition(group)))).toMatchObject({ type: 'applied' });
    expect(await cluster.apply(request(widget))).toMatchObject({ type: 'applied' });
    await world.seen(cluster, keyOf(widget), (object) => object?.value.size === 1);
    expect((await cluster.list('complete')).kinds).toContainEqual(
      expect.objectContaining({ kind: `${group}/Widget`, scope: 'Namespaced' }),
    );
    const unknown = { ...widget, metadata: { ...widget.metadata, name: 'x' }, nonsense: 1 };
    expect(await cluster.apply(request(unknown))).toMatchObject({
      type: 'failed',
      reason: 'Invalid',
    });
    await plane.kubectl(['delete', 'crd', `widgets.${group}`]);
    const deadline = performance.now() + 90_000;
    const stateOf = async () =>
      (await cluster.list('hinted')).kinds.find(({ kind }) => kind === `${group}/Widget`)?.state;
    while ((await stateOf()) !== undefined && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await stateOf(), 'a kind without a definition is gone').toBeUndefined();
  });

  test('values of Secrets are not kept, and their drift is seen all the same', async () => {
    const value = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: world.web },
      stringData: { password: 'first' },
    };
    await cluster.apply(request(value));
    expect(await live('secret', 's')).toMatchObject({ data: { password: Buffer.from('first').toString('base64') } });
    const seen = (await cluster.list('complete')).objects.get(keyOf(value))!;
    expect(JSON.stringify(seen.value)).not.toContain('password');
    expect(cluster.matches(request(value), seen)).toBe(true);
    await patch('secret', 's', { data: { password: 'YQ==' } }, 'thief');
    const drifted = await world.seen(cluster, keyOf(value), (object) => object !== seen);
    expect(cluster.matches(request(value), drifted)).toBe(false);
    expect(await world.preview(request(value))).toMatchObject({
      type: 'change',
      changes: [{ field: '.data.password', before: '(hidden)', after: '(hidden)' }],
    });
    expect(await cluster.apply(request(value))).toMatchObject({ type: 'applied' });
    const bad = { ...value, stringData: undefined, data: { password: 'no base64: topsecret' } };
    const refused = await cluster.apply(request(bad as JsonObject));
    expect(refused).toMatchObject({ type: 'failed' });
    expect(JSON.stringify(refused)).not.toContain('topsecret');
    expect(JSON.stringify(world.log.lines)).not.toContain('Zmlyc3Q');
  });

  test('an object that a person deleted and created again is theirs; one from a backup is ours with its new UID', async () => {
    const a = configMap('a', { k: '1' });
    const first = await cluster.apply(request(a));
    const identity = first.type === 'applied' ? first.identity : undefined;
    const backup = await live('configmap', 'a');
    await plane.kubectl(['delete', 'configmap', 'a', '-n', world.web]);
    const { labels, annotations } = backup.metadata as JsonObject;
    const restored = { ...backup, metadata: { name: 'a', namespace: world.web, labels, annotations } } as JsonObject;
    await plane.kubectl(['create', '--field-manager', 'backup-tool', '-f', '-'], { input: manifest(restored) });
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce, identity: identity! })).toMatchObject({
      type: 'notOwned',
    });
    const again = await cluster.apply(request(a));
    expect(again).toMatchObject({ type: 'applied', identity: expect.not.stringMatching(identity!) });
    await plane.kubectl(['delete', 'configmap', 'a', '-n', world.web]);
    await plane.kubectl(['create', '-f', '-'], { input: manifest(configMap('a', { k: 'mine' })) });
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: '"kubectl-create"' });
  });

  test('annotations of people have no effect where the policy ignores them; declared ones have', async () => {
    cluster.configure({ ...NO_SETTINGS, ignoreLiveOptOuts: true });
    const a = configMap('a', { k: '1' });
    await cluster.apply(request(a));
    const optOut = ['fleetrelay.dev/reconcile=disabled', 'fleetrelay.dev/prune=disabled'];
    await plane.kubectl(['annotate', 'configmap', 'a', ...optOut, '-n', world.web]);
    expect(await cluster.apply(request(configMap('a', { k: '2' })))).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: '2' } });
    // What was declared is not known: the live annotation counts.
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({ type: 'exempt' });
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce, declared: a })).toEqual({ type: 'gone' });
    const kept = annotated(configMap('b', { k: '1' }), { 'fleetrelay.dev/prune': 'disabled' });
    await cluster.apply(request(kept));
    expect(await cluster.remove({ key: keyOf(kept), fleet, nonce, declared: kept })).toMatchObject({
      type: 'exempt',
      reason: 'PruneDisabled',
    });
  });

  test('a stamp that the inventory does not know is a conflict with a name, until its manifest adopts the object', async () => {
    const a = configMap('a', { k: '1' });
    await cluster.apply(request(a));
    const stamped = await live('configmap', 'a');
    const { annotations, labels } = stamped.metadata as JsonObject;
    const theirs = { ...configMap('b', { k: 'theirs' }), metadata: { name: 'b', namespace: world.web, labels } };
    const key = keyOf(theirs);
    const forged = {
      ...(annotations as JsonObject),
      'fleetrelay.dev/object': key,
      'fleetrelay.dev/nonce': '0'.repeat(32),
    };
    const made = manifest({ ...theirs, metadata: { ...theirs.metadata, annotations: forged } });
    await plane.kubectl(['create', '-f', '-'], { input: made });
    const b = configMap('b', { k: '1' });
    expect(await cluster.apply(request(b))).toMatchObject({
      type: 'conflict',
      owner: '"kubectl-create"',
      message: expect.stringContaining('does not know that stamp'),
    });
    expect(await cluster.remove({ key, fleet, nonce })).toMatchObject({ type: 'notOwned' });
    expect(await live('configmap', 'b')).toMatchObject({ data: { k: 'theirs' } });
    const adopting = annotated(b, { 'fleetrelay.dev/adopt': 'true' });
    expect(await cluster.apply(request(adopting))).toMatchObject({ type: 'applied' });
    expect(await live('configmap', 'b')).toMatchObject({ data: { k: '1' } });
    expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
  });

  test('annotations of people: an object is left alone, and one is let go', async () => {
    const a = configMap('a', { k: '1' });
    await cluster.apply(request(a));
    await plane.kubectl(['annotate', 'configmap', 'a', 'fleetrelay.dev/reconcile=disabled', '-n', world.web]);
    expect(await cluster.apply(request(configMap('a', { k: '2' })))).toMatchObject({
      type: 'exempt',
      reason: 'ReconcileDisabled',
    });
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: '1' } });
    await plane.kubectl(['annotate', 'configmap', 'a', 'fleetrelay.dev/prune=disabled', '-n', world.web]);
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({
      type: 'exempt',
      reason: 'PruneDisabled',
    });
    expect(await live('configmap', 'a')).toBeDefined();
  });

  test('what a process that leads no more had under way fails on its preconditions', async () => {
    const a = configMap('a', { k: '1' });
    await cluster.apply(request(a));
    /** Its term ends when it has read the object once more. */
    let mark = Number.POSITIVE_INFINITY;
    const hasRead = () =>
      world.sent.slice(mark).some((line) => line.startsWith('GET') && line.includes('/configmaps/a'));
    let overtaken = false;
    const old = await world.begin({
      mayWrite: () => !hasRead(),
      overtaken: () => {
        overtaken = true;
      },
    });
    await old.close();
    const next = await world.begin();
    await next.apply(request(configMap('a', { k: 'of the new leader' })));
    const writesBefore = writes().length;
    // Its last request was under way when its term ended: it is from before the new leader's, and comes to nothing.
    mark = world.sent.length;
    const late = await old.apply(request(configMap('a', { k: 'of the old leader' })));
    expect(late).toMatchObject({ type: 'failed', reason: 'NotLeading' });
    expect(writes()).toHaveLength(writesBefore + 1);
    mark = Number.POSITIVE_INFINITY;
    await expect(old.saveInventory(inventoryChange(1, [a]))).rejects.toThrow();
    expect(overtaken).toBe(true);
    expect(await live('configmap', 'a')).toMatchObject({ data: { k: 'of the new leader' } });
  });

  test('a kind that may not be read or written is a matter of its own', async () => {
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `limited-${world.web}` },
    };
    const all = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
    const rules = [
      { apiGroups: [''], resources: ['configmaps', 'namespaces', 'services'], verbs: all },
      { nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/version'], verbs: ['get'] },
    ];
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: `limited-${world.web}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `limited-${world.web}` },
      subjects: [{ kind: 'User', name: 'limited', apiGroup: 'rbac.authorization.k8s.io' }],
    };
    await plane.kubectl(['apply', '-f', '-'], { input: manifest({ ...role, rules }, binding) });
    const limited = await world.open({ user: 'limited' });
    await limited.loadInventory();
    const { kinds } = await limited.list('complete');
    const stateOf = (kind: string) => kinds.find((one) => one.kind === kind)?.state;
    expect([stateOf('/Service'), stateOf('/Pod'), stateOf('/Secret')]).toEqual(['complete', 'unknown', 'offered']);
    expect(kinds.find(({ kind }) => kind === '/Pod')?.message).toContain('forbidden');
    expect(await limited.apply(request(configMap('a', {})))).toMatchObject({ type: 'applied' });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: world.web } };
    expect(await limited.apply(request(secret))).toMatchObject({
      type: 'failed',
      reason: 'Forbidden',
    });
  });

  test('what a server refuses is a clear result of that object alone', async () => {
    const big = configMap('big', { k: 'x'.repeat(1_500_000) });
    expect(await cluster.apply(request(big))).toMatchObject({ type: 'failed', reason: 'TooLarge' });
    const odd = { ...configMap('odd', {}), data: { 'not a key': '' } };
    expect(await cluster.apply(request(odd))).toMatchObject({ type: 'failed', reason: 'Invalid' });
    const unscoped = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } };
    expect(await cluster.apply(request(unscoped))).toMatchObject({ reason: 'WrongScope' });
    expect(await cluster.apply(request(configMap('fine', {})))).toMatchObject({ type: 'applied' });
  });

  test('a key that turned out to have the wrong scope ends, and what the right one made stays', async () => {
    const role = (metadata: JsonObject): JsonObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `scoped-${world.web}`, ...metadata },
      rules: [],
    });
    const written = role({ namespace: world.web });
    expect(await cluster.apply(request(written))).toMatchObject({ reason: 'WrongScope' });
    expect(await cluster.apply(request(role({})))).toMatchObject({ type: 'applied' });
    expect(await cluster.remove({ key: keyOf(written), fleet, nonce })).toEqual({ type: 'gone' });
    expect(await plane.get('clusterrole', `scoped-${world.web}`)).toBeDefined();
    expect(await cluster.remove({ key: keyOf(role({})), fleet, nonce })).toEqual({ type: 'gone' });
  });

  test('kinds and namespaces that the policy excludes are not listed, and are listed again once it includes them', async () => {
    await plane.kubectl(['create', 'serviceaccount', 'visible', '-n', world.web]);
    const key = keyOf({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'visible', namespace: world.web },
    });
    await world.seen(cluster, key, (object) => object !== undefined);
    const exclude = (excludedNamespaces: string[], excludedKinds: string[]) =>
      cluster.configure({ discovery: { excludedNamespaces, excludedKinds }, ignoredFields: [] });
    exclude([world.web], []);
    expect((await cluster.list('hinted')).objects.has(key)).toBe(false);
    exclude([], []);
    await world.seen(cluster, key, (object) => object !== undefined);
    exclude([], ['/ServiceAccount']);
    const { objects, kinds } = await cluster.list('complete');
    expect(objects.has(key)).toBe(false);
    expect(kinds.find(({ kind }) => kind === '/ServiceAccount')?.state).toBe('offered');
    exclude([], []);
    expect((await cluster.list('complete')).objects.has(key)).toBe(true);
  });

  async function patch(kind: string, name: string, change: JsonValue, manager: string, type = 'merge'): Promise<void> {
    const args = ['patch', kind, name, '-n', world.web, '--type', type, '--field-manager', manager];
    await plane.kubectl([...args, '-p', JSON.stringify(change)]);
  }

  function deployment(name: string, replicas: number, image: string): JsonObject {
    return deploymentIn(world.web, name, replicas, image);
  }

  function autoscaler(name: string): JsonObject {
    return {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name, namespace: world.web },
      spec: { maxReplicas: 9, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
    };
  }
});

function annotated(value: JsonObject, annotations: JsonObject): JsonObject {
  return { ...value, metadata: { ...(value.metadata as JsonObject), annotations } };
}

function labelsOf(value: JsonObject | undefined): JsonObject {
  return ((value?.metadata as JsonObject | undefined)?.labels ?? {}) as JsonObject;
}

function replicasOf(value: JsonObject | undefined): unknown {
  return (value?.spec as JsonObject | undefined)?.replicas;
}

function deploymentIn(namespace: string, name: string, replicas: number, image: string): JsonObject {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels, annotations: {} },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, creationTimestamp: null },
        spec: {
          containers: [
            {
              name: 'main',
              image,
              args: ['--verbose'],
              env: [{ name: 'A', value: '1' }],
              ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }],
              resources: { limits: { cpu: '1000m', memory: '1024Mi' }, requests: {} },
            },
          ],
          volumes: [{ name: 'tmp', emptyDir: {} }],
          nodeSelector: {},
        },
      },
    },
    status: {},
  };
}

function definition(group: string): JsonObject {
  const schema = {
    openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      names: { kind: 'Widget', plural: 'widgets' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

/** Objects as people write them, with what a server writes in another way or adds to. */
function everydayObjects(namespace: string): readonly JsonObject[] {
  const metadata = (name: string) => ({ name, namespace });
  const selector = { app: 'web' };
  return [
    deploymentIn(namespace, 'web', 2, 'one'),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata('web'),
      spec: {
        selector,
        ports: [
          { name: 'http', port: 80 },
          { name: 'dns', port: 80, protocol: 'UDP', targetPort: 'dns' },
        ],
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: metadata('db'),
      spec: {
        serviceName: 'db',
        selector: { matchLabels: selector },
        template: { metadata: { labels: selector }, spec: { containers: [{ name: 'db', image: 'db' }] } },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
          },
        ],
      },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: metadata('deny'),
      spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [] },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: metadata('web'),
      spec: {
        rules: [
          {
            host: 'example.com',
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }],
            },
          },
        ],
      },
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: metadata('reader'),
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: metadata('reader'),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: metadata('web'),
      spec: { minAvailable: '50%', selector: { matchLabels: selector } },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: metadata('tick'),
      spec: {
        schedule: '* * * * *',
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'c' }] } } },
        },
      },
    },
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: metadata('other'),
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' },
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { ...metadata('robot'), finalizers: ['example.com/keep'] },
      automountServiceAccountToken: false,
      imagePullSecrets: [{ name: 'registry' }],
    },
    {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: metadata('limits'),
      spec: { limits: [{ type: 'Pod', max: { cpu: '2000m' } }] },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata('s'), stringData: { a: 'b' }, data: { c: 'ZA==' } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: metadata('web-abc'),
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
      ports: [{ port: 8080 }],
    },
  ];
}
