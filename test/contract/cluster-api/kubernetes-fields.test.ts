import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import type { ApplyOutcome, ApplyRequest, ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { configMap as mapIn, request } from './suite.ts';

const ADOPTED = { 'fleetrelay.dev/adopt': 'true' };

describe.skipIf(noProgram('kube-apiserver'))('fields that another manager had', () => {
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

  const configMap = (data: Record<string, string>, annotations: JsonObject = {}): JsonObject => {
    const value = mapIn('a', data, world.web);
    return { ...value, metadata: { ...objectOf(value.metadata), annotations } };
  };
  const live = (kind = 'configmap', name = 'a') =>
    plane.get<JsonObject>(kind, name, '-n', world.web, '--show-managed-fields');
  const kubectl = (args: readonly string[], value: JsonObject) =>
    plane.kubectl([...args, '-f', '-'], { input: manifest(value) });

  /** As the agent applies: what the object gives up is entered in the inventory before it is written. */
  async function applied(
    value: JsonObject,
    before?: JsonObject,
  ): Promise<{ outcome: ApplyOutcome; givenUp?: JsonObject }> {
    let asked: ApplyRequest = { ...request(value), ...(before === undefined ? {} : { givenUp: before }) };
    for (;;) {
      const outcome = await cluster.apply(asked);
      if (outcome.type !== 'givesUp')
        return { outcome, ...(asked.givenUp === undefined ? {} : { givenUp: asked.givenUp }) };
      asked = { ...asked, givenUp: outcome.fields };
    }
  }

  const makers: readonly (readonly [name: string, args: readonly string[]])[] = [
    ['kubectl apply', ['apply']],
    ['kubectl create', ['create']],
    ['kubectl apply --server-side', ['apply', '--server-side']],
    ['helm', ['create', '--field-manager', 'helm']],
    ['Flux', ['apply', '--server-side', '--field-manager', 'kustomize-controller']],
    ['Argo CD', ['apply', '--server-side', '--field-manager', 'argocd-controller']],
  ];
  test.each(makers)(
    'an object of %s is adopted with its fields: a key that is removed from git is gone',
    async (_, args) => {
      await kubectl(args, configMap({ k: '1', other: '2', undeclared: '3' }));
      const { outcome } = await applied(configMap({ k: '1', other: '2' }, ADOPTED));
      expect(outcome).toMatchObject({ type: 'applied' });
      expect((await live()).data).toEqual({ k: '1', other: '2' });
      expect((await applied(configMap({ k: '1' }, ADOPTED))).outcome).toMatchObject({ type: 'applied' });
      expect((await live()).data).toEqual({ k: '1' });
      const managers = (objectOf((await live()).metadata).managedFields as JsonObject[]).map(({ manager }) => manager);
      expect(managers).toEqual(['fleetrelay']);
    },
  );

  /** As a script does that sends no User-Agent: its entry of managedFields has no manager. */
  async function unnamed(data: Record<string, string>): Promise<void> {
    const { metadata } = await live();
    const managedFields = (objectOf(metadata).managedFields as JsonObject[]).concat({
      operation: 'Update',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': Object.fromEntries(Object.keys(data).map((name) => [`f:${name}`, {}])) },
    });
    await plane.kubectl(['patch', 'configmap', 'a', '-n', world.web, '--type=merge', '-p', JSON.stringify({ data })]);
    await plane.kubectl([
      ...['patch', 'configmap', 'a', '-n', world.web, '--type=merge'],
      ...['-p', JSON.stringify({ metadata: { managedFields } })],
    ]);
  }

  const ownFields = async (kind = 'configmap', name = 'a') =>
    (objectOf((await live(kind, name)).metadata).managedFields as JsonObject[])
      .map(({ manager, operation, subresource = '' }) => `${manager} ${operation} ${subresource}`.trim())
      .sort();
  const team = (data: Record<string, string>) =>
    kubectl(['apply', '--server-side', '--field-manager', 'team'], configMap(data));

  test('a field that we gave up is a conflict while another manager owns it, and is none when it is gone', async () => {
    await applied(configMap({ k: '1', other: '2' }));
    await team({ other: '2' });
    const without = configMap({ k: '1' });
    const asked = await cluster.apply(request(without));
    expect(asked).toEqual({ type: 'givesUp', fields: { 'f:data': { 'f:other': {} } } });
    // Nothing was written before the inventory had it.
    expect(await ownFields()).toEqual(['fleetrelay Apply', 'team Apply']);
    const { outcome, givenUp } = await applied(without);
    expect(outcome).toMatchObject({
      type: 'conflict',
      owner: 'team',
      message: expect.stringMatching(/"team" \(\.data\.other\).*fleetrelay\.dev\/adopt-from/),
    });
    expect((await live()).data).toEqual({ k: '1', other: '2' });
    const writes = world.sent.filter((line) => line.startsWith('PATCH')).length;
    expect((await applied(without, givenUp)).outcome).toMatchObject({ type: 'conflict', owner: 'team' });
    expect(world.sent.filter((line) => line.startsWith('PATCH'))).toHaveLength(writes);
    const { objects } = await cluster.list('hinted');
    const observed = objects.get(request(without).key);
    expect(cluster.matches({ ...request(without), givenUp: givenUp ?? {} }, observed!)).toBe(false);
    await team({});
    expect((await applied(without, givenUp)).outcome).toMatchObject({ type: 'unchanged' });
    expect((await live()).data).toEqual({ k: '1' });
  });

  test('a field that is declared again is given up no more', async () => {
    await applied(configMap({ k: '1', other: '2' }));
    await team({ other: '2' });
    const { givenUp } = await applied(configMap({ k: '1' }));
    expect((await applied(configMap({ k: '1', other: '2' }), givenUp)).outcome).toMatchObject({ type: 'applied' });
  });

  test('the fields of a manager that the manifest names are taken over, and others stay', async () => {
    await applied(configMap({ k: '1', other: '2' }));
    await team({ other: '2', own: '3' });
    await kubectl(['apply', '--server-side', '--field-manager', 'else'], configMap({ elses: '4' }));
    const named = configMap({ k: '1' }, { 'fleetrelay.dev/adopt-from': 'none, team' });
    expect((await applied(named)).outcome).toMatchObject({ type: 'applied' });
    expect((await live()).data).toEqual({ k: '1', elses: '4' });
    expect(await ownFields()).toEqual(['else Apply', 'fleetrelay Apply']);
  });

  test('the fields of a manager without a name stay', async () => {
    await applied(configMap({ k: '1' }));
    await unnamed({ nobodys: '5' });
    const { metadata } = await live();
    const entries = (objectOf(metadata).managedFields as JsonObject[]).map(({ manager = '' }) => manager);
    expect(entries.toSorted()).toEqual(['', 'fleetrelay']);
    await kubectl(['apply', '--server-side', '--force-conflicts', '--field-manager', 'team'], configMap({ k: '9' }));
    expect((await applied(configMap({ k: '2' }, { 'fleetrelay.dev/adopt-from': 'team,' }))).outcome).toMatchObject({
      type: 'applied',
    });
    expect((await live()).data).toEqual({ k: '2', nobodys: '5' });
  });

  const changes: readonly (readonly [name: string, change: (data: JsonObject) => Promise<unknown>])[] = [
    [
      'an update',
      (data) =>
        plane.kubectl([
          ...['patch', 'configmap', 'a', '-n', world.web, '--field-manager', 'team'],
          ...['--type=merge', '-p', JSON.stringify({ data })],
        ]),
    ],
    [
      'an apply',
      (data) =>
        kubectl(['apply', '--server-side', '--force-conflicts', '--field-manager', 'team'], {
          ...configMap({}),
          data,
        }),
    ],
  ];
  test.each(changes)('what a manager changes with %s is put back, if the manifest names it too', async (_, change) => {
    const named = configMap({ k: '1' }, { 'fleetrelay.dev/adopt-from': 'team' });
    await applied(named);
    await change({ k: '9', own: '3' });
    expect((await applied(named)).outcome).toMatchObject({ type: 'applied' });
    expect((await live()).data).toEqual({ k: '1' });
    expect(await ownFields()).toEqual(['fleetrelay Apply']);
    expect((await applied(named)).outcome).toMatchObject({ type: 'unchanged' });
  });

  test('an adoption leaves the time at which a person restarted a Deployment: its Pods are not restarted', async () => {
    await kubectl(['create'], deployment(3));
    await plane.kubectl(['rollout', 'restart', 'deployment', 'web', '-n', world.web]);
    const { spec: before } = await live('deployment', 'web');
    expect((await applied(deployment(3, ADOPTED))).outcome).toMatchObject({ type: 'applied' });
    expect((await live('deployment', 'web')).spec).toEqual(before);
    expect(await ownFields('deployment', 'web')).toEqual(['fleetrelay Apply', 'kubectl-rollout Update']);
  });

  test('an annotation that a controller writes is not given up, also if it was declared before', async () => {
    const written = { 'deployment.kubernetes.io/revision': '3' };
    await applied(deployment(3, written));
    await kubectl(['apply', '--server-side', '--field-manager', 'controller'], {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: world.web, annotations: written },
    });
    expect(await applied(deployment(3))).toEqual({ outcome: expect.objectContaining({ type: 'applied' }) });
    expect(await ownFields('deployment', 'web')).toEqual(['controller Apply', 'fleetrelay Apply']);
    expect(objectOf((await live('deployment', 'web')).metadata).annotations).toMatchObject(written);
  });

  test('what a manager owns through a subresource is never taken over, and an ignored field is no conflict', async () => {
    await kubectl(['apply'], deployment(3));
    await plane.kubectl(['scale', 'deployment', 'web', '--replicas=5', '-n', world.web]);
    expect(await ownFields('deployment', 'web')).toContain('kubectl Update scale');
    const ignoring = { ...ADOPTED, 'fleetrelay.dev/ignore-fields': 'spec.replicas' };
    expect((await applied(deployment(3, ignoring))).outcome).toMatchObject({ type: 'applied' });
    expect(await ownFields('deployment', 'web')).toEqual(['fleetrelay Apply', 'kubectl Update scale']);
    expect((await applied(deployment(undefined, ignoring))).outcome).toMatchObject({ type: 'applied' });
    expect(await live('deployment', 'web')).toMatchObject({ spec: { replicas: 5 } });
  });

  test('replicas that an autoscaler has are no conflict', async () => {
    await applied(deployment(3));
    const scaled = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
    const hpa = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web', namespace: world.web },
      spec: { maxReplicas: 9, scaleTargetRef: scaled },
    };
    await kubectl(['create'], hpa);
    await world.seen(cluster, request(hpa).key, (object) => object !== undefined);
    await kubectl(['apply', '--server-side', '--field-manager', 'team'], deployment(3));
    expect((await applied(deployment())).outcome).toMatchObject({ type: 'applied' });
    expect(await live('deployment', 'web')).toMatchObject({ spec: { replicas: 3 } });
  });

  const claim = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: world.web, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });

  test('what an adoption would remove and cannot is left as it is', async () => {
    await kubectl(['create', '--field-manager', 'helm'], claim({ storageClassName: 'fast' }));
    expect((await applied(claim({}, { annotations: ADOPTED }))).outcome).toMatchObject({ type: 'applied' });
    expect(await live('pvc', 'data')).toMatchObject({ spec: { storageClassName: 'fast' } });
    expect(await ownFields('pvc', 'data')).toEqual(['fleetrelay Apply']);
  });

  test('an adoption of several steps needs one try, also if another changes the object meanwhile', async () => {
    const helm = claim({ storageClassName: 'fast' }, { labels: { team: 'a' } });
    await kubectl(['create', '--field-manager', 'helm'], helm);
    let isChanged = false;
    cluster = await world.begin({
      through: (client) => ({
        ...client,
        request: async (asked) => {
          if (asked.contentType === 'application/merge-patch+json' && !isChanged) {
            isChanged = true;
            await plane.kubectl(['annotate', 'pvc', 'data', 'changed=meanwhile', '-n', world.web]);
          }
          return client.request(asked);
        },
      }),
    });
    const annotations = { ...ADOPTED, 'fleetrelay.dev/ignore-fields': 'metadata.labels.team' };
    expect((await applied(claim({}, { annotations }))).outcome).toMatchObject({ type: 'applied' });
    expect(isChanged).toBe(true);
    expect(world.log.lines.map(({ text }) => text).filter((text) => text.startsWith('info: fields are'))).toEqual([
      'info: fields are taken over from helm, kubectl-annotate',
      'info: fields are left to others as they are',
      'info: fields are left as they are, since they cannot change',
    ]);
    const { metadata, spec } = await live('pvc', 'data');
    expect(spec).toMatchObject({ storageClassName: 'fast' });
    expect(objectOf(metadata).labels).toMatchObject({ team: 'a' });
    expect(await ownFields('pvc', 'data')).toEqual(['fleetrelay Apply']);
  });

  test('a preview of an adoption has what the taken over managers had and the manifest lacks', async () => {
    await kubectl(['apply'], configMap({ k: '1', other: '2' }));
    const preview = await world.preview(request(configMap({ k: '1' }, ADOPTED)));
    expect(preview).toMatchObject({ type: 'change', adopts: '"kubectl-client-side-apply"', conflicts: [] });
    expect(preview).toMatchObject({
      changes: expect.arrayContaining([{ field: '.data.other', before: '2', after: undefined }]),
    });
  });

  test('a preview of an adoption removes no field that is left to others', async () => {
    await kubectl(['apply'], deployment(3));
    const ignoring = { ...ADOPTED, 'fleetrelay.dev/ignore-fields': 'spec.replicas' };
    const preview = await world.preview(request(deployment(undefined, ignoring)));
    expect(preview).toMatchObject({ type: 'change', adopts: '"kubectl-client-side-apply"' });
    expect(JSON.stringify(preview)).not.toContain('.spec.replicas');
    expect((await applied(deployment(undefined, ignoring))).outcome).toMatchObject({ type: 'applied' });
    expect(await live('deployment', 'web')).toMatchObject({ spec: { replicas: 3 } });
  });

  test('an object moves to a version of its kind that has one more field, also beside a manager that stays behind', async () => {
    const widget = (version: string, spec: JsonObject): JsonObject => ({
      apiVersion: `example.com/${version}`,
      kind: 'Widget',
      metadata: { name: 'w', namespace: world.web },
      spec,
    });
    await kubectl(['apply'], definition(['v1'], 'v1'));
    await plane.kubectl(['wait', '--for=condition=Established', 'crd/widgets.example.com']);
    expect(await whenServed(widget('v1', { size: 1 }))).toMatchObject({ type: 'applied' });
    await kubectl(['apply'], definition(['v1', 'v2'], 'v2'));
    expect(await whenServed(widget('v2', { size: 2, color: 'blue' }))).toMatchObject({ type: 'applied' });
    expect((await live('widgets.v2.example.com', 'w')).spec).toEqual({ size: 2, color: 'blue' });
    await kubectl(['apply', '--server-side', '--force-conflicts', '--field-manager', 'team'], widget('v1', {}));
    expect((await applied(widget('v2', { size: 3 }))).outcome).toMatchObject({ type: 'applied' });
    expect((await applied(widget('v2', {}))).outcome).toMatchObject({ type: 'applied' });
    expect((await live('widgets.v2.example.com', 'w')).spec).toEqual({ color: 'red' });
  });

  test('a field that the version of the manifest lacks changes nothing of other managers', async () => {
    const widget = (version: string, spec: JsonObject): JsonObject => ({
      apiVersion: `example.com/${version}`,
      kind: 'Widget',
      metadata: { name: 'typo', namespace: world.web },
      spec,
    });
    await kubectl(['apply'], definition(['v1', 'v2'], 'v2'));
    await plane.kubectl(['wait', '--for=condition=Established', 'crd/widgets.example.com']);
    expect(await whenServed(widget('v2', { color: 'blue' }))).toMatchObject({ type: 'applied' });
    await kubectl(['apply', '--server-side', '--field-manager', 'operator'], widget('v1', { size: 1 }));
    const before = await live('widgets.v2.example.com', 'typo');
    for (let tries = 0; tries < 2; tries += 1) {
      const { outcome } = await applied(widget('v2', { color: 'blue', colour: 'blue' }));
      expect(outcome).toMatchObject({ type: 'failed', reason: 'Invalid', message: expect.stringContaining('colour') });
    }
    expect(await live('widgets.v2.example.com', 'typo')).toEqual(before);
  });

  /** Applies an object as soon as its kind is served in its version. */
  async function whenServed(value: JsonObject): Promise<ApplyOutcome> {
    for (let tries = 0; ; tries += 1) {
      const { outcome } = await applied(value);
      if (tries > 1_000 || outcome.type !== 'failed' || outcome.reason !== 'NoSuchKind') return outcome;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  function deployment(replicas?: number, annotations: JsonObject = {}): JsonObject {
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx:1' }] } };
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: world.web, annotations },
      spec: { ...(replicas === undefined ? {} : { replicas }), selector: { matchLabels: labels }, template },
    };
  }
});

/** `v1` has a size, `v2` also a color with a default. */
function definition(versions: readonly string[], storage: string): JsonObject {
  const size = { type: 'integer' };
  const color = { type: 'string', default: 'red' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets' },
      versions: versions.map((name) => {
        const properties = name === 'v1' ? { size } : { size, color };
        const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
        return { name, served: true, storage: name === storage, schema: { openAPIV3Schema } };
      }),
    },
  };
}
