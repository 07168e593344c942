import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { KubeClient, KubeRequest } from '../../../src/adapters/kubernetes/api/types.ts';
import { metadataOf, objectRefOf } from '../../../src/model/objects/object-key.ts';
import { type JsonObject, textOf } from '../../../src/model/text/json.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { keyOf, request } from './suite.ts';

const PROBE = ['create', 'service', 'clusterip', 'probe', '--tcp=80', '--dry-run=server'];

describe.skipIf(noProgram('kube-apiserver'))('objects made anew on a Kubernetes cluster', () => {
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

  const replacing = (name: string): JsonObject => ({
    ...{ name, namespace: world.web, annotations: { 'fleetrelay.dev/replace': 'true' } },
  });
  const deployment = (spec: JsonObject, app = 'web', image = 'one'): JsonObject => ({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: replacing('web') },
    spec: {
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'main', image }] } },
      ...spec,
    },
  });
  const service = (spec: JsonObject, name = 'web'): JsonObject => ({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: replacing(name) },
    spec: { ports: [{ port: 80 }], ...spec },
  });
  const secret = (type: string): JsonObject => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: replacing('web'), type },
    stringData: { password: 'topsecret' },
  });
  const live = (value: JsonObject): Promise<JsonObject> => {
    const { kind, name } = objectRefOf(keyOf(value));
    return plane.get<JsonObject>(kind, name, '-n', world.web);
  };
  const uidOf = async (value: JsonObject): Promise<string> => textOf(metadataOf(await live(value)).uid);
  const put = (...values: readonly JsonObject[]) => plane.kubectl(['apply', '-f', '-'], { input: manifest(...values) });

  /** Applies both, of which the second one needs a new object. The same object is there afterwards. */
  async function staysWith(before: JsonObject, after: JsonObject, between: () => unknown = () => {}) {
    expect(await cluster.apply(request(before))).toMatchObject({ type: 'applied' });
    const uid = await uidOf(before);
    await between();
    const outcome = await cluster.apply(request(after));
    expect(await uidOf(after)).toBe(uid);
    return outcome;
  }

  /** Applies both, of which the second one needs a new object, and gets it. */
  async function isMadeAnew(before: JsonObject, after: JsonObject): Promise<void> {
    await cluster.apply(request(before));
    const uid = await uidOf(before);
    expect(await cluster.apply(request(after))).toEqual({ type: 'applied', identity: expect.any(String) });
    expect(await uidOf(after)).not.toBe(uid);
  }

  /** A policy for objects of this kind in the world's namespace, once it is in force. */
  async function denies(resource: string, operations: string[], expression: string, probe: () => Promise<unknown>) {
    const name = world.web;
    const [apiGroup = '', kinds = ''] = resource.split('/');
    const names = [{ apiGroups: [apiGroup], apiVersions: ['v1'], operations, resources: [kinds] }];
    await put(
      {
        ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', metadata: { name } },
        spec: {
          matchConstraints: { resourceRules: names },
          validations: [{ expression, message: 'this is not allowed here' }],
        },
      },
      {
        ...{
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicyBinding',
          metadata: { name },
        },
        spec: {
          policyName: name,
          validationActions: ['Deny'],
          matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': world.web } } },
        },
      },
    );
    await untilRefused('not allowed here', probe);
  }

  /** Policies and quotas are in force a moment after they were made. */
  async function untilRefused(words: string, probe: () => Promise<unknown>): Promise<void> {
    const deadline = performance.now() + 90_000;
    for (;;) {
      const isRefused = await probe().then(
        () => false,
        (error) => String(error).includes(words),
      );
      if (isRefused) return;
      if (performance.now() > deadline) throw new Error(`not refused: ${words}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test('a strategy that an API server refuses beside the defaults of the old one makes a new object if the manifest says so', async () => {
    const recreating = deployment({ strategy: { type: 'Recreate' } });
    const asking = { ...recreating, metadata: { name: 'web', namespace: world.web } };
    expect(await staysWith(deployment({}), asking)).toMatchObject({ type: 'failed', reason: 'ImmutableField' });
    await isMadeAnew(deployment({}), recreating);
    // A manifest that is wrong by itself deletes nothing.
    const wrong = deployment({ strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } });
    expect(await cluster.apply(request(wrong))).toMatchObject({ type: 'failed', reason: 'Invalid' });
    expect(await live(wrong)).toMatchObject({ spec: { strategy: { type: 'Recreate' } } });
  });

  test('a manifest that is refused also for what a new object would have deletes nothing', async () => {
    const wrong = service({ type: 'NodePort', clusterIP: '10.0.0.66', ports: [{ port: 70_000 }] });
    expect(await staysWith(service({ type: 'NodePort' }), wrong)).toMatchObject({
      type: 'failed',
      reason: 'Invalid',
      message: expect.stringMatching(/clusterIP.*port|port.*clusterIP/),
    });
  });

  test('a Service with both families stays in a cluster that has one', async () => {
    const outcome = await staysWith(service({}), service({ ipFamilies: ['IPv4', 'IPv6'] }));
    expect(outcome).toMatchObject({ type: 'failed', message: expect.stringMatching(/famil/i) });
  });

  test('a new object that a policy denies is not made, and the policy is named', async () => {
    const image = "object.spec.template.spec.containers.all(each, each.image != 'denied')";
    const after = deployment({}, 'other', 'denied');
    const outcome = await staysWith(deployment({}), after, () =>
      denies('apps/deployments', ['CREATE', 'UPDATE'], image, () =>
        plane.kubectl(['create', 'deployment', 'probe', '-n', world.web, '--image=denied', '--dry-run=server']),
      ),
    );
    expect(outcome).toMatchObject({
      type: 'failed',
      reason: 'DeniedByPolicy',
      message: expect.stringMatching(/selector.*immutable.*dry run.*not allowed here/s),
    });
  });

  test('a policy that denies a change is not got round by a new object', async () => {
    const before = deployment({ replicas: 3 });
    const outcome = await staysWith(before, deployment({ replicas: 1 }), () =>
      denies('apps/deployments', ['UPDATE'], 'object.spec.replicas >= oldObject.spec.replicas', () =>
        plane.kubectl([
          'patch',
          'deployment',
          'web',
          '-n',
          world.web,
          '--dry-run=server',
          '-p',
          '{"spec":{"replicas":2}}',
        ]),
      ),
    );
    expect(outcome).toMatchObject({ type: 'failed', reason: 'DeniedByPolicy' });
  });

  test('what another manager has added is not ended by a new object, since it would add it again', async () => {
    const added = {
      metadata: { name: 'web', namespace: world.web },
      spec: { strategy: { rollingUpdate: { maxSurge: 3 } } },
    };
    const team = ['apply', '--server-side', '--field-manager', 'team', '-f', '-'];
    const outcome = await staysWith(deployment({}), deployment({ strategy: { type: 'Recreate' } }), () =>
      plane.kubectl(team, { input: JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', ...added }) }),
    );
    expect(outcome).toMatchObject({ type: 'failed', reason: 'Invalid' });
  });

  test('an object of a namespace whose quota has no room for a second one stays', async () => {
    const outcome = await staysWith(service({}), service({ clusterIP: '10.0.0.67' }), async () => {
      await put({
        ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'few', namespace: world.web } },
        spec: { hard: { services: '1' } },
      });
      // What a controller would work out.
      const status = JSON.stringify({ status: { hard: { services: '1' }, used: { services: '1' } } });
      await plane.kubectl(['patch', 'resourcequota', 'few', '-n', world.web, '--subresource=status', '-p', status]);
      await untilRefused('exceeded quota', () => plane.kubectl([...PROBE, '-n', world.web]));
    });
    expect(outcome).toMatchObject({ type: 'failed', reason: 'QuotaExceeded' });
  });

  test.each([
    ['admission webhook "old.example.com" does not support dry run', 400, 'BadRequest', 'Rejected'],
    ['failed calling webhook "w.example.com": connection refused', 500, 'InternalError', 'WebhookUnavailable'],
  ])('without an answer to the dry run nothing is deleted: %s', async (message, status, reason, expected) => {
    const isDryRun = ({ query }: KubeRequest) => query?.dryRun !== undefined;
    const through = (client: KubeClient): KubeClient => ({
      ...client,
      request: async (sent) =>
        isDryRun(sent) ? { type: 'refused', status, refusal: { reason, message, causes: [] } } : client.request(sent),
    });
    cluster = await world.begin({ through });
    expect(await staysWith(service({}), service({ clusterIP: '10.0.0.68' }))).toMatchObject({
      type: 'failed',
      reason: expected,
      message: expect.stringContaining(message),
    });
    const outcome = await staysWith(secret('Opaque'), secret('example.com/login'));
    expect(outcome).toMatchObject({ type: 'failed', reason: expected });
    expect(JSON.stringify(outcome)).not.toContain(message);
  });

  test('its own ports and addresses are not taken from it, and a Secret gets another type', async () => {
    const ports = [{ port: 80, nodePort: 30_777 }];
    await isMadeAnew(
      service({ type: 'NodePort', ports, clusterIP: '10.0.0.71' }),
      service({ type: 'NodePort', ports, clusterIP: '10.0.0.72' }),
    );
    const balanced = (clusterIP: string): JsonObject => ({
      ...{ type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_778 },
      ...{ ports, clusterIP, clusterIPs: [clusterIP] },
    });
    await cluster.apply(request(service(balanced('10.0.0.72'))));
    await isMadeAnew(
      service(balanced('10.0.0.72')),
      service({ ...balanced('10.0.0.73'), loadBalancerClass: 'example.com/a' }),
    );
    // The class never changes once it is set. The address stays.
    await isMadeAnew(
      service({ ...balanced('10.0.0.73'), loadBalancerClass: 'example.com/a' }),
      service({ ...balanced('10.0.0.73'), loadBalancerClass: 'example.com/b' }),
    );
    await isMadeAnew(secret('Opaque'), secret('example.com/login'));
  });

  test.each([
    ['one letter', 'a'],
    ['the longest name', `a${'9'.repeat(62)}`],
    ['a number, and others have the numbers beside it', 'web-7'],
  ])('whatever its name is: %s', async (_what, name) => {
    if (name === 'web-7') await put(...[...'98065'].map((digit) => service({}, `web-${digit}`)));
    await isMadeAnew(service({}, name), service({ clusterIP: 'None' }, name));
    const listed = await plane.get<{ readonly items: readonly JsonObject[] }>('service', '-n', world.web);
    expect(listed.items).toHaveLength(name === 'web-7' ? 6 : 1);
  });

  test('a name of any characters, and one that is an address', async () => {
    const binding = (role: string): JsonObject => ({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: replacing('team:Ä-readers:') },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    });
    await isMadeAnew(binding('view'), binding('edit'));
    const { namespace: _none, ...metadata } = replacing('10.250.0.9');
    const address = (name: string): JsonObject => ({
      ...{ apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', metadata },
      spec: { parentRef: { group: 'example.com', resource: 'pools', namespace: world.web, name } },
    });
    await isMadeAnew(address('one'), address('two'));
  });
});
