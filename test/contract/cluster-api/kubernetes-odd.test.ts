import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ApplyRequest, ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { fleet, keyOf, configMap as mapIn, nonce, request } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('the odd in a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  beforeAll(async () => {
    plane = await startControlPlane({});
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
  const policy = (spec: JsonObject): JsonObject => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'p', namespace: world.web },
    spec,
  });
  const pod = (spec: JsonObject): JsonObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', namespace: world.web, annotations: {}, labels: {} },
    spec: {
      selector: { matchLabels: { app: 'd' } },
      strategy: {},
      template: {
        metadata: { labels: { app: 'd' }, creationTimestamp: null, annotations: {} },
        spec: { containers: [{ name: 'c', image: 'c', resources: {}, env: [], ports: [], args: [] }], ...spec },
      },
    },
    status: {},
  });

  /** A person changes it by hand; a process that knows nothing of the apply detects the difference and restores it. */
  async function isPutBack(wanted: ApplyRequest, patch: JsonObject): Promise<JsonObject> {
    const { kind, metadata } = wanted.value as { kind: string; metadata: JsonObject };
    await cluster.apply(wanted);
    const before = (await cluster.list('hinted')).objects.get(wanted.key);
    const args = [
      'patch',
      kind,
      String(metadata.name),
      '-n',
      world.web,
      '--type',
      'merge',
      '-p',
      JSON.stringify(patch),
    ];
    await plane.kubectl(args);
    const drifted = await world.seen(cluster, wanted.key, (object) => object !== before);
    expect(cluster.matches(wanted, drifted)).toBe(false);
    expect(await cluster.apply(wanted)).toMatchObject({ type: 'applied' });
    expect(cluster.matches(wanted, (await cluster.list('hinted')).objects.get(wanted.key)!)).toBe(true);
    return live(kind, String(metadata.name));
  }

  test('a field that is declared empty and filled by another manager is drift', async () => {
    const all = policy({ podSelector: {}, policyTypes: ['Ingress', 'Egress'], egress: [], ingress: [] });
    const narrowed = { spec: { podSelector: { matchLabels: { app: 'x' } } } };
    expect(await isPutBack(request(all), narrowed)).toMatchObject({ spec: { podSelector: {} } });
    const opened = await isPutBack(request(all), { spec: { egress: [{}] } });
    expect((opened.spec as JsonObject).egress ?? []).toEqual([]);
  });

  test('what is declared as empty is no drift as it is left by the server, to a fresh process either', async () => {
    const values = [
      policy({ podSelector: {}, policyTypes: ['Egress'], egress: [], ingress: [] }),
      pod({
        volumes: [{ name: 'v', emptyDir: {} }],
        tolerations: [],
        nodeSelector: {},
        securityContext: {},
        affinity: {},
        imagePullSecrets: [],
        initContainers: [],
        hostAliases: [],
      }),
      { ...configMap('empty', {}), binaryData: {} },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'nothing', namespace: world.web, finalizers: [], ownerReferences: [] },
        rules: [],
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 's', namespace: world.web },
        spec: { ports: [{ port: 80 }], selector: {}, externalIPs: [], loadBalancerSourceRanges: [] },
        status: { loadBalancer: {} },
      },
    ];
    for (const value of values) expect(await cluster.apply(request(value))).toMatchObject({ type: 'applied' });
    const fresh = await world.open();
    await fresh.loadInventory();
    const { objects } = await fresh.list('complete');
    for (const value of values) {
      const key = keyOf(value);
      expect([key, fresh.matches(request(value), objects.get(key)!)]).toEqual([key, true]);
    }
  });

  /** Policies and webhooks are in force a moment after they were made. */
  async function comesTo(wanted: (n: number) => ApplyRequest, reason: string): Promise<unknown> {
    const deadline = performance.now() + 90_000;
    for (let n = 0; ; n += 1) {
      const outcome = await cluster.apply(wanted(n));
      if (('reason' in outcome && outcome.reason === reason) || performance.now() > deadline) return outcome;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test('what a policy, a quota or a webhook refuses is told apart, and is tried again', async () => {
    await plane.kubectl(['label', 'namespace', world.web, `test=${world.web}`]);
    const inNamespace = { matchLabels: { test: world.web } };
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'DELETE'], resources: ['secrets'] }];
    const created = [
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name: world.web },
        spec: {
          matchConstraints: {
            namespaceSelector: inNamespace,
            resourceRules: [
              { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
            ],
          },
          validations: [{ expression: 'false', message: 'not today' }],
        },
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name: world.web },
        spec: { policyName: world.web, validationActions: ['Deny'] },
      },
      {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'q', namespace: world.web },
        spec: { hard: { services: '0' } },
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: world.web },
        webhooks: [
          {
            name: 'away.example.com',
            clientConfig: { url: 'https://127.0.0.1:1/' },
            rules,
            namespaceSelector: inNamespace,
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            timeoutSeconds: 1,
          },
        ],
      },
    ];
    const secret = (n: number): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `s-${n}`, namespace: world.web },
      data: { password: 'c2VjcmV0' },
    });
    await cluster.apply(request(secret(0)));
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(...created) });
    // What a controller would work out.
    const status = JSON.stringify({ status: { hard: { services: '0' }, used: { services: '0' } } });
    await plane.kubectl(['patch', 'resourcequota', 'q', '-n', world.web, '--subresource=status', '-p', status]);
    const denied = await comesTo((n) => request(configMap(`a-${n}`, {})), 'DeniedByPolicy');
    expect(denied).toMatchObject({ type: 'failed', message: expect.stringContaining('not today') });
    const service = (n: number): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: `web-${n}`, namespace: world.web },
      spec: { ports: [{ port: 80 }] },
    });
    const exceeded = await comesTo((n) => request(service(n)), 'QuotaExceeded');
    expect(exceeded).toMatchObject({ type: 'failed' });
    const away = await comesTo((n) => request(secret(n + 1)), 'WebhookUnavailable');
    expect(away).toMatchObject({ type: 'failed' });
    expect(JSON.stringify(away)).not.toContain('c2VjcmV0');
    expect(await cluster.remove({ key: keyOf(secret(0)), fleet, nonce })).toMatchObject({
      type: 'failed',
      reason: 'WebhookUnavailable',
    });
    const made = ['validatingadmissionpolicy', 'validatingadmissionpolicybinding', 'validatingwebhookconfiguration'];
    for (const kind of made) await plane.kubectl(['delete', kind, world.web]);
  });

  test('meshes and gateways are discovered where their kinds are installed', async () => {
    const kinds = [
      ['networking.istio.io', 'VirtualService', 'virtualservices'],
      ['security.istio.io', 'AuthorizationPolicy', 'authorizationpolicies'],
      ['gateway.networking.k8s.io', 'HTTPRoute', 'httproutes'],
      ['cilium.io', 'CiliumNetworkPolicy', 'ciliumnetworkpolicies'],
    ] as const;
    for (const [group, kind, plural] of kinds) {
      // Names below k8s.io are kept for those who have them approved.
      const annotations = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/enhancements/pull/1111' };
      const definition = definitionOf(group, kind, plural, ['v1']);
      const metadata = { ...(definition.metadata as JsonObject), annotations };
      await plane.kubectl(['apply', '-f', '-'], { input: manifest({ ...definition, metadata }) });
    }
    for (const [group, kind, plural] of kinds) {
      const value = {
        apiVersion: `${group}/v1`,
        kind,
        metadata: { name: 'x', namespace: world.web },
        spec: { a: '1' },
      };
      await plane.kubectl(['wait', '--for=condition=Established', `crd/${plural}.${group}`]);
      await plane.kubectl(['apply', '-f', '-'], { input: manifest(value) });
      const seen = await world.seen(cluster, keyOf(value), (object) => object !== undefined);
      expect(seen.value).toMatchObject({ spec: { a: '1' } });
    }
    const { kinds: states } = await cluster.list('hinted');
    for (const [group, kind] of kinds) {
      expect(states).toContainEqual({ kind: `${group}/${kind}`, state: 'complete', message: '', scope: 'Namespaced' });
    }
  });

  test('a field of what has no schema is taken or removed: that is drift', async () => {
    await cluster.apply(request(definitionOf('loose.example.com', 'Loose', 'looses', ['v1'])));
    const value = {
      apiVersion: 'loose.example.com/v1',
      kind: 'Loose',
      metadata: { name: 'p', namespace: world.web },
      spec: { only: { a: '1' } },
    };
    expect(await isPutBack(request(value), { spec: { only: { a: '2' } } })).toMatchObject({ spec: value.spec });
    expect(await isPutBack(request(value), { spec: { only: { a: null } } })).toMatchObject({ spec: value.spec });
  });

  test('a kind whose preferred version changes goes on being followed, changed and removed', async () => {
    const [group, plural] = ['moves.example.com', 'things'];
    const value = {
      apiVersion: `${group}/v1beta1`,
      kind: 'Thing',
      metadata: { name: 'x', namespace: world.web },
      spec: { a: '1' },
    };
    const newer = { ...value, apiVersion: `${group}/v1` };
    const key = keyOf(value);
    expect(await cluster.apply(request(definitionOf(group, 'Thing', plural, ['v1beta1'])))).toMatchObject({
      type: 'applied',
    });
    expect(await cluster.apply(request(value))).toMatchObject({ type: 'applied' });
    expect(await cluster.apply(request(definitionOf(group, 'Thing', plural, ['v1', 'v1beta1'])))).toMatchObject({
      type: 'applied',
    });
    const seen = await world.seen(cluster, key, (object) => object?.value.apiVersion === newer.apiVersion);
    expect(cluster.matches(request(value), seen)).toBe(true);
    expect(await cluster.apply(request(value))).toMatchObject({ type: 'unchanged' });
    await plane.kubectl([
      'patch',
      `${plural}.${group}`,
      'x',
      '-n',
      world.web,
      '--type=merge',
      '-p',
      '{"spec":{"a":"2"}}',
    ]);
    const drifted = await world.seen(cluster, key, (object) => JSON.stringify(object?.value).includes('"2"'));
    expect(cluster.matches(request(value), drifted)).toBe(false);
    expect(await cluster.apply(request(value))).toMatchObject({ type: 'applied' });
    expect(await cluster.apply(request(newer))).toMatchObject({ type: 'applied' });
    const fresh = await world.open();
    await fresh.loadInventory();
    const { objects } = await fresh.list('complete');
    expect(fresh.matches(request(newer), objects.get(key)!)).toBe(true);
    expect(await fresh.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
  });

  test('what is of a kind that is not served now is not gone', async () => {
    const definition = definitionOf('rests.example.com', 'Rest', 'rests', ['v1']);
    await cluster.apply(request(definition));
    const value = { apiVersion: 'rests.example.com/v1', kind: 'Rest', metadata: { name: 'x', namespace: world.web } };
    const key = keyOf(value);
    await cluster.apply(request(value));
    const serve = async (served: boolean): Promise<void> => {
      const patch = [{ op: 'replace', path: '/spec/versions/0/served', value: served }];
      const name = ['crd', 'rests.rests.example.com'];
      await plane.kubectl(['patch', ...name, '--type=json', '-p', JSON.stringify(patch)]);
      const deadline = performance.now() + 90_000;
      const isOffered = async () =>
        (await cluster.list('hinted')).kinds.some(
          ({ kind, state }) => kind === 'rests.example.com/Rest' && state === 'offered',
        );
      while ((await isOffered()) !== served && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(await isOffered()).toBe(served);
    };
    await serve(false);
    expect(await cluster.remove({ key, fleet, nonce })).toMatchObject({
      type: 'failed',
      reason: 'NoSuchKind',
    });
    await serve(true);
    await plane.get('rest', 'x', '-n', world.web);
    expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
    await plane.kubectl(['delete', 'crd', 'rests.rests.example.com']);
    expect(await cluster.remove({ key, fleet, nonce })).toEqual({ type: 'gone' });
  });

  test('what an admission policy sets otherwise than declared is not fought over', async () => {
    await plane.kubectl(['label', 'namespace', world.web, `test=${world.web}`]);
    const created = [
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingAdmissionPolicy',
        metadata: { name: world.web },
        spec: {
          matchConstraints: {
            namespaceSelector: { matchLabels: { test: world.web } },
            resourceRules: [
              { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
            ],
          },
          failurePolicy: 'Fail',
          reinvocationPolicy: 'Never',
          mutations: [
            {
              patchType: 'ApplyConfiguration',
              applyConfiguration: { expression: 'Object{data: {"k": "by policy", "added": "by policy"}}' },
            },
          ],
        },
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingAdmissionPolicyBinding',
        metadata: { name: world.web },
        spec: { policyName: world.web },
      },
    ];
    await plane.kubectl(['apply', '-f', '-'], { input: manifest(...created) });
    const deadline = performance.now() + 90_000;
    let name = '';
    for (let n = 0; performance.now() < deadline; n += 1) {
      name = `a-${n}`;
      await cluster.apply(request(configMap(name, { k: '1' })));
      const { data } = await live('configmap', name);
      if ((data as JsonObject).added === 'by policy') break;
    }
    const a = configMap(name, { k: '1' });
    const before = await live('configmap', name);
    expect(before).toMatchObject({ data: { k: 'by policy' } });
    for (let restart = 0; restart < 2; restart += 1) {
      const fresh = await world.open();
      await fresh.loadInventory();
      const { objects } = await fresh.list('complete');
      expect(fresh.matches(request(a), objects.get(keyOf(a))!)).toBe(true);
      expect(await fresh.apply(request(a))).toMatchObject({ type: 'unchanged' });
    }
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'unchanged' });
    expect(await live('configmap', name)).toEqual(before);
    for (const kind of ['mutatingadmissionpolicy', 'mutatingadmissionpolicybinding'])
      await plane.kubectl(['delete', kind, world.web]);
  });

  test('names with colons, and origins without end', async () => {
    const role: JsonObject = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `system:odd:${world.web}` },
      rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    };
    const [origin] = request(role).stamp.origins;
    const origins = Array.from({ length: 5_000 }, (_, n) => ({ ...origin!, path: `${'folder/'.repeat(10)}${n}.yaml` }));
    const wanted = request(role, { origins });
    expect(await cluster.apply(wanted)).toMatchObject({ type: 'applied' });
    const fresh = await world.open();
    await fresh.loadInventory();
    const { objects } = await fresh.list('complete');
    expect(fresh.matches(wanted, objects.get(wanted.key)!)).toBe(true);
    expect(await fresh.remove({ key: wanted.key, fleet, nonce })).toEqual({ type: 'gone' });
  });
});

function definitionOf(group: string, kind: string, plural: string, versions: readonly string[]): JsonObject {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema },
      })),
    },
  };
}
