import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/model/json.ts';
import type { ApplyRequest, ClusterApi } from '../../../src/ports/cluster-api.ts';
import { noKubernetes } from '../../support/kubernetes/binaries.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { keyOf, configMap as mapIn, request } from './suite.ts';

describe.skipIf(noKubernetes)('the odd in a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
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

  /** Somebody changes it by hand; a process that knows nothing of the apply finds it wanting, and puts it back. */
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

  test('what is declared as empty and filled by somebody is drift', async () => {
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
    const { objects } = await fresh.list('whole');
    for (const value of values) {
      const key = keyOf(value);
      expect([key, fresh.matches(request(value), objects.get(key)!)]).toEqual([key, true]);
    }
  });
});
