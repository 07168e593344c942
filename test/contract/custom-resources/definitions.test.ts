import { readdirSync, readFileSync } from 'node:fs';
import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/model/text/json.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';

/** Kinds of ours that no API server has. */
const ONLY_FILES: ReadonlySet<unknown> = new Set(['RelayConfig', 'RemovalApproval']);

const GROUPS = ['admin.gloo.solo.io', 'fleetrelay.dev', 'kuma.io', 'core.gardener.cloud'];

interface Definition {
  readonly metadata: { readonly name: string };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

/** Every manifest of a custom kind in the examples, the schemas' own examples and the texts of other projects. */
function examples(): readonly (readonly [string, JsonObject])[] {
  const files = [
    ...readdirSync('examples/repo', { recursive: true, encoding: 'utf8' }).map((path) => `examples/repo/${path}`),
    ...readdirSync('test/unit/schemas/fixtures').map((path) => `test/unit/schemas/fixtures/${path}`),
  ].filter((path) => path.endsWith('.yaml'));
  const written = files.flatMap((path) =>
    (loadAll(readFileSync(path, 'utf8')) as JsonValue[]).map((value) => [path, value] as const),
  );
  const inSchemas = readdirSync('schemas').flatMap((name) => {
    const { examples: own = [] } = JSON.parse(readFileSync(`schemas/${name}`, 'utf8')) as { examples?: JsonValue[] };
    return own.map((value) => [`schemas/${name}`, value] as const);
  });
  return [...written, ...inSchemas].flatMap(([path, value]) => {
    if (!isJsonObject(value) || typeof value.apiVersion !== 'string' || ONLY_FILES.has(value.kind)) return [];
    return GROUPS.includes(value.apiVersion.split('/')[0] ?? '') ? [[path, value] as const] : [];
  });
}

function placement(spec: JsonObject): JsonObject {
  return { apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'Placement', metadata: { name: 'bad' }, spec };
}

function mirror(spec: JsonObject): JsonObject {
  return { apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'ServiceMirror', metadata: { name: 'bad' }, spec };
}

function dataplane(networking: JsonObject): JsonObject {
  return { apiVersion: 'kuma.io/v1alpha1', kind: 'Dataplane', metadata: { name: 'bad' }, spec: { networking } };
}

function cluster(name: string, spec: JsonObject = {}): JsonObject {
  return { apiVersion: 'admin.gloo.solo.io/v2', kind: 'KubernetesCluster', metadata: { name }, spec };
}

const requirement = (operator: string, values?: readonly string[]): JsonObject =>
  placement({
    paths: ['a/**'],
    clusters: {
      selector: { matchExpressions: [{ key: 'env', operator, ...(values === undefined ? {} : { values }) }] },
    },
  });

const BAD: readonly (readonly [string, JsonObject, string])[] = [
  ['selects nothing', placement({ paths: ['a/**'], clusters: { names: [] } }), 'it selects nothing: name clusters'],
  ['says nothing of clusters', placement({ paths: ['a/**'], clusters: {} }), 'at least 1 properties'],
  ['has no paths', placement({ paths: [], clusters: { selector: {} } }), 'at least 1 items'],
  ['names a path twice', placement({ paths: ['a/**', 'a/**'], clusters: { selector: {} } }), 'Duplicate value'],
  ['names a cluster twice', placement({ paths: ['a'], clusters: { names: ['east', 'east'] } }), 'Duplicate value'],
  ['names what is no cluster', placement({ paths: ['a'], clusters: { names: ['East_1'] } }), 'the name of a cluster'],
  ['leaves the source', placement({ paths: ['../a'], clusters: { selector: {} } }), 'relative to the root'],
  ['begins at the root', placement({ paths: ['/a'], clusters: { selector: {} } }), 'relative to the root'],
  ['has In without values', requirement('In'), 'In and NotIn need values'],
  ['has Exists with values', requirement('Exists', ['prod']), 'Exists and DoesNotExist take no values'],
  ['has an unknown operator', requirement('Near'), 'Unsupported value: "Near"'],
  ['has an unknown field', placement({ paths: ['a'], clusters: { selector: {} }, wait: true }), 'unknown field'],
  ['mirrors from nowhere', mirror({ from: { names: [] }, to: { selector: {} } }), 'it selects nothing: name clusters'],
  ['mirrors to what is no cluster', mirror({ from: { selector: {} }, to: { names: ['E'] } }), 'the name of a cluster'],
  ['mirrors without a target', mirror({ from: { selector: {} } }), 'Required value'],
  [
    'mirrors services In nothing',
    mirror({
      ...{ from: { selector: {} }, to: { selector: {} } },
      serviceSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] },
    }),
    'In and NotIn need values',
  ],
  ['is a cluster with a dot in its name', cluster('east.example'), 'the name of a cluster must be'],
  ['is a cluster with a bad domain', cluster('east', { clusterDomain: 'Cluster_Local' }), 'should match'],
  [
    'is a policy beyond its range',
    {
      apiVersion: 'fleetrelay.dev/v1alpha1',
      kind: 'FleetPolicy',
      metadata: { name: 'bad' },
      spec: { guards: { maxRemovalPercentPerCluster: 101 } },
    },
    'should be less than or equal to 100',
  ],
  [
    'mirrors from meshes to no namespace',
    mirror({ from: { meshes: ['a'] }, to: { selector: {} } }),
    'need a namespace',
  ],
  [
    'mirrors from clusters to a namespace',
    mirror({ from: { selector: {}, namespace: 'a' }, to: { selector: {} } }),
    'without meshes there must be none',
  ],
  [
    'mirrors from clusters and meshes',
    mirror({ from: { names: ['east'], meshes: ['a'], namespace: 'a' }, to: { selector: {} } }),
    'exclude each other',
  ],
  [
    'selects services of meshes',
    mirror({ from: { meshes: ['a'], namespace: 'a' }, to: { selector: {} }, serviceSelector: {} }),
    'services of meshes have no labels',
  ],
  [
    'waits for reports for too long',
    {
      apiVersion: 'fleetrelay.dev/v1alpha1',
      kind: 'FleetPolicy',
      metadata: { name: 'bad' },
      spec: { health: { reportWaitSeconds: 86_401 } },
    },
    'should be less than or equal to 86400',
  ],
  [
    'is a gateway with inbounds',
    dataplane({ address: '10.0.0.1', gateway: {}, inbound: [{ port: 80 }] }),
    'inbound cannot be defined for delegated gateways',
  ],
  ['is a data plane anywhere', dataplane({ address: '0.0.0.0' }), 'must not be 0.0.0.0'],
  ['is a data plane with port 0', dataplane({ address: '10.0.0.1', inbound: [{ port: 0 }] }), 'greater than or equal'],
];

describe.skipIf(noProgram('kube-apiserver'))('CustomResourceDefinitions on an API server', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane();
    await plane.kubectl(['apply', '--server-side', '-f', 'deploy/crds']);
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', 'crd', '--all']);
  });
  afterAll(() => plane?.stop());

  it('are established, and structural', async () => {
    const { items } = await plane.get<{ items: readonly Definition[] }>('crd');
    expect(items.map(({ metadata }) => metadata.name)).toEqual([
      'dataplanes.kuma.io',
      'fleetpolicies.fleetrelay.dev',
      'kubernetesclusters.admin.gloo.solo.io',
      'placements.fleetrelay.dev',
      'servicemirrors.fleetrelay.dev',
      'shoots.core.gardener.cloud',
    ]);
    for (const { metadata, status } of items) {
      const bad = status.conditions.filter(({ type }) => /NonStructural|Terminating/.test(type));
      expect(bad, metadata.name).toEqual([]);
      const said = Object.fromEntries(status.conditions.map(({ type, status: holds }) => [type, holds]));
      expect(said, metadata.name).toMatchObject({ NamesAccepted: 'True', Established: 'True' });
    }
  });

  it('take every example as it is, and keep all of it', async () => {
    const all = examples();
    expect(new Set(all.map(([, { kind }]) => kind)).size).toBe(6);
    for (const [path, example] of all) {
      const metadata = isJsonObject(example.metadata) ? example.metadata : {};
      // What a running API server has filled in cannot be sent to another one.
      const { uid: _uid, resourceVersion: _version, ...sent } = metadata;
      const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : 'default';
      const existing = (await plane.kubectl(['get', 'namespaces', '-o', 'name'])).split('\n');
      if (!existing.includes(`namespace/${namespace}`)) await plane.kubectl(['create', 'namespace', namespace]);
      const input = JSON.stringify({ ...example, metadata: sent });
      const words = ['apply', '--server-side', '--force-conflicts', '-n', namespace, '-o', 'json', '-f', '-'];
      const taken = JSON.parse(await plane.kubectl(words, { input })) as JsonObject;
      expect(taken.spec, path).toEqual(example.spec);
    }
  });

  it.each(BAD)('refuse what %s', async (_what, object, message) => {
    const input = JSON.stringify(object);
    await expect(plane.kubectl(['create', '-f', '-'], { input })).rejects.toThrow(message);
  });

  it('keep what later versions of other projects add, and the status that they write', async () => {
    const shoot = load(readFileSync('test/unit/schemas/fixtures/gardener-shoot.yaml', 'utf8')) as JsonObject;
    const spec = { ...(shoot.spec as JsonObject), someday: { deep: { er: 1 } } };
    const object = { ...shoot, metadata: { name: 'later' }, spec, status: { ...(shoot.status as JsonObject), new: 1 } };
    const { status: _status, ...created } = object;
    await plane.kubectl(['create', '-f', '-'], { input: JSON.stringify(created) });
    const patch = JSON.stringify({ status: object.status });
    await plane.kubectl(['patch', 'shoot', 'later', '--subresource=status', '--type=merge', '-p', patch]);
    expect(await plane.get('shoot', 'later')).toMatchObject({ spec, status: object.status });
  });

  it('show in a table what people look for', async () => {
    const spec = { paths: ['apps/**'], clusters: { selector: {} } };
    await plane.kubectl(['create', '-f', '-'], {
      input: JSON.stringify({ ...placement(spec), metadata: { name: 'p' } }),
    });
    const status = {
      selectedClusters: 2,
      counts: { targeted: 4, applied: 3, failed: 1, held: 0, pending: 0, unreachable: 0 },
      conditions: [{ type: 'Ready', status: 'False', reason: 'Failed' }],
    };
    await plane.kubectl([
      'patch',
      'plc',
      'p',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    ]);
    const table = await plane.kubectl(['get', 'placements', 'p']);
    expect(table).toMatch(/NAME +PATHS +CLUSTERS +APPLIED +TARGETED +READY +AGE/);
    expect(table).toMatch(/p +\["apps\/\*\*"\] +2 +3 +4 +False +/);
    expect(await plane.kubectl(['get', 'fleetrelay', '-A', '-o', 'name'])).toContain('placement.fleetrelay.dev/p');
  });

  it('show how a Shoot is: its operation and its label, and each condition in the wide table', async () => {
    const lastOperation = { type: 'Reconcile', state: 'Processing', progress: 42, description: 'x' };
    const at = { lastTransitionTime: '2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z' };
    const condition = { type: 'EveryNodeReady', status: 'Progressing', reason: 'NodeUnhealthy', message: 'x', ...at };
    const status = {
      conditions: [condition],
      lastOperation: { ...lastOperation, lastUpdateTime: at.lastUpdateTime },
      gardener: { id: 'shop', name: 'fleetrelay', version: '1.2.3' },
    };
    const shoot = {
      apiVersion: 'core.gardener.cloud/v1beta1',
      kind: 'Shoot',
      metadata: { name: 'blue', labels: { 'shoot.gardener.cloud/status': 'progressing' } },
      spec: { provider: { type: 'aws' }, region: 'eu-west-1' },
    };
    await plane.kubectl(['create', '-f', '-'], { input: JSON.stringify(shoot) });
    const patch = JSON.stringify({ status });
    await plane.kubectl(['patch', 'shoot', 'blue', '--subresource=status', '--type=merge', '-p', patch]);
    const table = await plane.kubectl(['get', 'shoots', 'blue']);
    expect(table).toMatch(/^blue +aws +eu-west-1 +Reconcile +Processing +42 +progressing +\d+s$/m);
    const [titles = '', row = ''] = (await plane.kubectl(['get', 'shoots', 'blue', '-o', 'wide'])).split('\n');
    expect(row.slice(titles.indexOf('NODES')).split(' ')[0]).toBe('Progressing');
    expect(row.slice(titles.indexOf('GARDENER VERSION')).split(' ')[0]).toBe('1.2.3');
  });
});
