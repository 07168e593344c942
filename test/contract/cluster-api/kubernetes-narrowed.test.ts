import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { additionalKindsOf } from '../../../src/model/agent/additional-kinds.ts';
import type { KindState } from '../../../src/model/agent/agent.ts';
import { type AdditionalKind, NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { fleet, keyOf, request } from './suite.ts';

/** What a Secret holds, as an API server writes it; no answer to the agent may have it. */
const VALUE = 'aGlkZGVuLXZhbHVl';
const CA = { 'managed-by': 'secrets-manager' };

describe.skipIf(noProgram('kube-apiserver'))('kinds of which an agent may follow a part', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let received: string[];

  beforeAll(async () => {
    plane = await startControlPlane({ users: { limited: [] } });
    for (const name of ['one', 'two', 'three', 'four']) await plane.kubectl(['create', 'namespace', name]);
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    received = [];
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(...rightsIn(world.own)) });
  });
  afterEach(() => world.close());

  // Not as `kubectl apply` does by default, which copies the values of a Secret into an annotation.
  const put = (...objects: readonly JsonObject[]) =>
    plane.kubectl(['apply', '--server-side', '-f', '-'], { input: manifest(...objects) });
  const secret = (namespace: string, name: string, labels: JsonObject = CA): JsonObject => ({
    ...{ apiVersion: 'v1', kind: 'Secret', data: { password: VALUE } },
    metadata: { namespace, name, labels },
  });
  const grant = (namespace: string) => put(...mayReadSecrets(namespace));
  const configure = (cluster: ClusterApi, ...additionalKinds: readonly AdditionalKind[]): void =>
    cluster.configure({
      ...NO_SETTINGS,
      discovery: {
        excludedNamespaces: [],
        excludedKinds: [],
        additionalKinds: additionalKindsOf(additionalKinds, 'short'),
      },
    });
  const secrets = (...namespaces: readonly string[]): AdditionalKind => ({
    ...{ kind: '/Secret', namespaces, labels: CA, metadataOnly: true },
  });
  const kind = async (cluster: ClusterApi, name: string): Promise<KindState | undefined> =>
    (await cluster.list('hinted')).kinds.find((each) => each.kind === name);
  /** Notes all that arrives at the process. */
  const noting = (client: KubeClient): KubeClient => ({
    ...client,
    request: async (asked) => {
      const answer = await client.request(asked);
      received.push(JSON.stringify(answer));
      return answer;
    },
    watch: (asked, event) =>
      client.watch(asked, (each) => {
        received.push(JSON.stringify(each));
        event(each);
      }),
  });

  test('with a Role in two namespaces it sees the Secrets there, never their values, and names the third', async () => {
    await grant('one');
    await grant('two');
    await put(secret('one', 'ca'), secret('one', 'other', {}), secret('three', 'ca'), secret('four', 'ca'));
    const cluster = await world.begin({ user: 'limited', through: noting });
    const before = world.sent.length;
    configure(cluster, secrets('one', 'two', 'three'));
    await world.until(cluster, 'the Secret', (objects) => objects.has(keyOf(secret('one', 'ca'))));
    await put(secret('two', 'late'));
    await world.until(cluster, 'the late Secret', (objects) => objects.has(keyOf(secret('two', 'late'))));
    await put(secret('one', 'ca', { ...CA, more: 'label' }));
    const seen = await world.seen(cluster, keyOf(secret('one', 'ca')), (found) =>
      JSON.stringify(found?.value).includes('more'),
    );
    expect(Object.keys(seen.value).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
    await plane.kubectl(['delete', 'secret', 'late', '-n', 'two']);
    await world.until(cluster, 'its end', (objects) => !objects.has(keyOf(secret('two', 'late'))));
    const keys = [...(await cluster.list('complete')).objects.keys()].filter((key) => key.startsWith('/Secret/'));
    expect(keys).toEqual([keyOf(secret('one', 'ca'))]);
    expect(await kind(cluster, '/Secret')).toEqual({
      ...{ kind: '/Secret', state: 'complete', message: '', scope: 'Namespaced' },
      unlisted: {
        three: 'the agent may not list secrets in namespace three: grant it with cluster register --allow care',
      },
    });
    await grant('three');
    await world.until(cluster, 'the Secret in three', (objects) => objects.has(keyOf(secret('three', 'ca'))));
    expect(await kind(cluster, '/Secret')).not.toHaveProperty('unlisted');
    configure(cluster, secrets('two', 'three'));
    await world.until(cluster, 'none of one', (objects) => !objects.has(keyOf(secret('one', 'ca'))));
    expect(received.filter((text) => text.includes('"ca"'))).not.toEqual([]);
    expect(received.filter((text) => text.includes(VALUE))).toEqual([]);
    expect(world.sent.slice(before).filter((sent) => sent.includes('/api/v1/secrets'))).toEqual([]);
  });

  test('in pages, too, only the metadata of Secrets is read', async () => {
    await grant('one');
    await put(secret('one', 'ca'));
    const cluster = await world.begin({
      user: 'limited',
      through: (client) =>
        noting({
          ...client,
          watch: async (asked, event) =>
            asked.query.sendInitialEvents === undefined
              ? await client.watch(asked, event)
              : { type: 'refused', status: 400, refusal: { reason: 'BadRequest', message: 'no streams', causes: [] } },
        }),
    });
    configure(cluster, secrets('one'));
    const found = await world.seen(cluster, keyOf(secret('one', 'ca')), (object) => object !== undefined);
    expect(found.value).toMatchObject({ apiVersion: 'v1', kind: 'Secret', metadata: { labels: CA } });
    expect(received.filter((text) => text.includes('PartialObjectMetadataList'))).not.toEqual([]);
    expect(received.filter((text) => text.includes(VALUE))).toEqual([]);
  });

  test('values that kubectl copied into an annotation are dropped when they are read', async () => {
    await grant('one');
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(secret('one', 'copied')) });
    const cluster = await world.begin({ user: 'limited', through: noting });
    configure(cluster, secrets('one'));
    const { value } = await world.seen(cluster, keyOf(secret('one', 'copied')), (object) => object !== undefined);
    expect(received.filter((text) => text.includes(VALUE))).not.toEqual([]);
    expect(JSON.stringify(value)).not.toContain(VALUE);
    await plane.kubectl(['delete', 'secret', 'copied', '-n', 'one']);
  });

  test('our own Secret stays where no entry names its namespace, and is not drift', async () => {
    const cluster = await world.begin();
    const ours = { ...secret(world.web, 'ours', {}), type: 'Opaque' };
    await cluster.apply(request(ours));
    configure(cluster, secrets('one'));
    await world.until(cluster, 'the CA', (objects) => objects.has(keyOf(secret('one', 'ca'))));
    const found = (await cluster.list('complete')).objects.get(keyOf(ours));
    expect(found).toMatchObject({ stamp: { fleet, key: keyOf(ours) } });
    expect(found && cluster.matches(request(ours), found)).toBe(true);
    expect(await cluster.apply(request(ours))).toMatchObject({ type: 'unchanged' });
  });

  test('many namespaces share one watch for an agent that may list all, and custom kinds of a group come with it', async () => {
    const group = 'extensions.gardener.cloud';
    for (const [plural, name, scope] of [
      ['workers', 'Worker', 'Namespaced'],
      ['backupentries', 'BackupEntry', 'Cluster'],
    ] as const) {
      await put(definition(group, plural, name, scope));
      await plane.kubectl(['wait', '--for=condition=Established', `crd/${plural}.${group}`]);
    }
    const apiVersion = `${group}/v1`;
    const worker = (namespace: string): JsonObject => ({
      ...{ apiVersion, kind: 'Worker', metadata: { name: 'w', namespace }, spec: { type: 'aws', secret: 'large' } },
    });
    const backup = (name: string): JsonObject => ({ apiVersion, kind: 'BackupEntry', metadata: { name } });
    await put(worker('one'), worker('four'), backup('one--1'), backup('four--1'));
    const asked: string[] = [];
    const cluster = await world.begin({
      through: (client) => ({
        ...client,
        watch: (watch, event) => {
          asked.push(watch.path);
          return client.watch(watch, event);
        },
      }),
    });
    const many = Array.from({ length: 30 }, (_, index) => `absent-${index}`);
    configure(
      cluster,
      { kind: `${group}/*`, namespaces: ['one', ...many] },
      { kind: `${group}/BackupEntry`, namePrefixes: ['one--'] },
      secrets('one', ...many),
    );
    await world.until(cluster, 'the worker', (objects) => objects.has(keyOf(worker('one'))));
    await world.until(cluster, 'the backup', (objects) => objects.has(keyOf(backup('one--1'))));
    const { objects } = await cluster.list('complete');
    expect(objects.get(keyOf(worker('one')))?.value).toMatchObject({ spec: { type: 'aws' } });
    expect(objects.has(keyOf(worker('four')) as ObjectKey)).toBe(false);
    expect(objects.has(keyOf(backup('four--1')))).toBe(false);
    expect([...new Set(asked.filter((path) => /secrets|workers|backupentries/.test(path)))].sort()).toEqual([
      '/api/v1/secrets',
      `/apis/${group}/v1/backupentries`,
      `/apis/${group}/v1/workers`,
    ]);
    await plane.kubectl(['delete', 'crd', `workers.${group}`, `backupentries.${group}`]);
  });
});

/** What an agent needs beside what it follows. */
function rightsIn(own: string): readonly JsonObject[] {
  return [
    role(own, 'agent', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }]),
    binding(own, 'agent'),
    {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'agent' } },
      rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] }],
    },
    {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'agent' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'agent' },
      subjects: SUBJECTS,
    },
  ];
}

function mayReadSecrets(namespace: string): readonly JsonObject[] {
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }];
  return [role(namespace, 'secrets', rules), binding(namespace, 'secrets')];
}

const SUBJECTS = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'limited' }];

function role(namespace: string, name: string, rules: readonly JsonObject[]): JsonObject {
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name, namespace }, rules };
}

function binding(namespace: string, name: string): JsonObject {
  return {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name, namespace } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: SUBJECTS,
  };
}

function definition(group: string, plural: string, kind: string, scope: 'Namespaced' | 'Cluster'): JsonObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { kind, plural }, versions: [{ name: 'v1', served: true, storage: true, schema }] },
  };
}
