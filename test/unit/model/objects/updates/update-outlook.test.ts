import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../../src/model/objects/object-key.ts';
import { replacementOf, updateOutlook } from '../../../../../src/model/objects/updates/update-outlook.ts';
import { fieldDiff } from '../../../../../src/model/text/field-diff.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const outlook = (kind: string, before: JsonObject, after: JsonObject) => {
  const [group = '', name = ''] = kind.split('/');
  return updateOutlook({ group, kind: name }, before, after, fieldDiff(before, after));
};
const spec = (fields: JsonObject): JsonObject => ({ spec: fields });

describe('an API server refuses', () => {
  const changed = (kind: string, before: JsonObject, after: JsonObject) => outlook(kind, before, after).refused;

  it.each<[string, JsonObject, JsonObject, readonly string[]]>([
    [
      'apps/Deployment',
      spec({ selector: { a: 1 }, replicas: 1 }),
      spec({ selector: { a: 2 }, replicas: 2 }),
      ['spec.selector.a'],
    ],
    [
      'apps/Deployment',
      spec({ selector: { matchLabels: { 'a/b': '1' } } }),
      spec({ selector: { matchLabels: { 'a/b': '2' } } }),
      ['spec.selector.matchLabels["a/b"]'],
    ],
    [
      'apps/StatefulSet',
      spec({ serviceName: 'a', replicas: 1 }),
      spec({ serviceName: 'b', replicas: 2 }),
      ['spec.serviceName'],
    ],
    // What equals the default changes nothing.
    ['apps/StatefulSet', spec({}), spec({ podManagementPolicy: 'OrderedReady' }), []],
    ['apps/StatefulSet', spec({}), spec({ podManagementPolicy: 'Parallel' }), ['spec.podManagementPolicy']],
    ['apps/StatefulSet', spec({ podManagementPolicy: 'Parallel' }), spec({}), ['spec.podManagementPolicy']],
    [
      '/PersistentVolumeClaim',
      spec({ resources: { requests: { storage: 1 } } }),
      spec({ resources: { requests: { storage: 2 } } }),
      [],
    ],
    ['/PersistentVolumeClaim', spec({}), spec({ volumeName: 'a' }), []],
    ['/PersistentVolumeClaim', spec({ volumeName: 'a' }), spec({ volumeName: 'b' }), ['spec.volumeName']],
    ['/ConfigMap', { immutable: true, data: { a: '1' } }, { immutable: true, data: { a: '2' } }, ['data.a']],
    ['/ConfigMap', { immutable: true, data: { a: '1' } }, { data: { a: '1' } }, ['immutable']],
    ['/ConfigMap', { data: { a: '1' } }, { data: { a: '2' } }, []],
    ['/Secret', { type: 'Opaque' }, {}, []],
    ['/Secret', { type: 'kubernetes.io/tls' }, {}, ['type']],
    ['/Service', spec({}), spec({ clusterIP: 'None' }), ['spec.clusterIP']],
    ['/Service', spec({ clusterIP: 'None' }), spec({}), []],
    ['/Service', spec({ clusterIP: '10.0.0.1' }), spec({ clusterIP: '10.0.0.2' }), ['spec.clusterIP']],
    ['/Service', spec({ clusterIP: 'None' }), spec({ type: 'NodePort' }), ['spec.clusterIP']],
    ['apps/Deployment', spec({}), spec({ strategy: { type: 'Recreate' } }), ['spec.strategy.type']],
    [
      'apps/Deployment',
      spec({ strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } }),
      spec({ strategy: { type: 'Recreate' } }),
      [],
    ],
    [
      'batch/Job',
      spec({ suspend: true, template: { metadata: { labels: { a: '1' } } } }),
      spec({ template: { metadata: { labels: { a: '2' } } } }),
      [],
    ],
    ['batch/Job', spec({ completions: 1 }), spec({}), ['spec.completions']],
    ['batch/Job', spec({}), spec({ parallelism: 1, completions: 1 }), []],
    ['/Service', spec({ type: 'ExternalName' }), spec({ clusterIP: 'None' }), []],
    ['/Service', spec({ clusterIP: 'None' }), spec({ type: 'ExternalName' }), []],
    [
      '/Pod',
      spec({ containers: [{ name: 'a', image: 'b:1', command: ['c'] }] }),
      spec({ containers: [{ name: 'a', image: 'b:2', command: ['d'] }] }),
      ['spec.containers[0].command[0]'],
    ],
    [
      'rbac.authorization.k8s.io/RoleBinding',
      { roleRef: { name: 'a' } },
      { roleRef: { name: 'b', apiGroup: 'rbac.authorization.k8s.io' } },
      ['roleRef.name'],
    ],
  ])('of %s %j to be %j: %j', (kind, before, after, expected) => {
    expect(changed(kind, before, after)).toEqual(expected);
  });
});

describe('a field that a manifest leaves out', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['apps/Deployment', spec({ replicas: 5 }), spec({}), { 'spec.replicas': 1 }],
    ['apps/Deployment', spec({ replicas: 1 }), spec({}), {}],
    ['apps/Deployment', spec({ paused: true }), spec({}), {}],
    [
      'apps/Deployment',
      spec({ strategy: { type: 'Recreate' } }),
      spec({}),
      {
        'spec.strategy': { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      },
    ],
    [
      'apps/Deployment',
      spec({ template: { spec: { containers: [{ name: 'a', image: 'x', imagePullPolicy: 'Never' }] } } }),
      spec({ template: { spec: { containers: [{ name: 'a', image: 'x:1@sha256:0' }] } } }),
      { 'spec.template.spec.containers[0].imagePullPolicy': 'IfNotPresent' },
    ],
    // Another item has the place of the one that is gone.
    [
      'apps/Deployment',
      spec({ template: { spec: { containers: [{ name: 'a' }, { name: 'b' }] } } }),
      spec({ template: { spec: { containers: [{ name: 'b' }] } } }),
      {},
    ],
    ['/Service', spec({ type: 'NodePort' }), spec({}), { 'spec.type': 'ClusterIP' }],
    [
      '/Service',
      spec({ ports: [{ port: 80, targetPort: 8080 }] }),
      spec({ ports: [{ port: 80 }] }),
      { 'spec.ports[0].targetPort': 80 },
    ],
    [
      'networking.k8s.io/NetworkPolicy',
      spec({ policyTypes: ['Egress'] }),
      spec({}),
      { 'spec.policyTypes': ['Ingress'] },
    ],
    ['example.com/Database', spec({ replicas: 5 }), spec({}), {}],
  ])('of %s %j as %j gets %j', (kind, before, after, expected) => {
    const { restored, kept } = outlook(kind, before, after);
    expect(Object.fromEntries(restored.map(({ path, value }) => [path, value]))).toEqual(expected);
    expect(kept).toEqual([]);
  });

  it('keeps the address and the node ports of a Service while its type needs them', () => {
    const ports = (more: JsonObject) => [{ port: 80, ...more }];
    const before = spec({ type: 'NodePort', clusterIP: '10.0.0.1', ports: ports({ nodePort: 30_000 }) });
    const { kept, restored } = outlook('/Service', before, spec({ type: 'NodePort', ports: ports({}) }));
    expect(restored).toEqual([]);
    expect(kept).toEqual([
      { path: 'spec.clusterIP', value: '10.0.0.1' },
      { path: 'spec.ports[0].nodePort', value: 30_000 },
    ]);
    expect(outlook('/Service', before, spec({ ports: ports({}) })).kept).toEqual([
      { path: 'spec.clusterIP', value: '10.0.0.1' },
    ]);
    expect(outlook('/Service', before, spec({ type: 'ExternalName' })).kept).toEqual([]);
  });
});

it('the node port of a load balancer that checks nodes stays, and can be chosen only once', () => {
  const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
  const chosen = spec({ ...local, healthCheckNodePort: 30_991 });
  expect(outlook('/Service', spec(local), chosen).refused).toEqual(['spec.healthCheckNodePort']);
  expect(outlook('/Service', spec({ type: 'LoadBalancer' }), chosen).refused).toEqual([]);
  expect(outlook('/Service', chosen, spec(local)).kept).toEqual([{ path: 'spec.healthCheckNodePort', value: 30_991 }]);
});

it('a refused change makes a new object only if the manifest says so, and never of what holds others', () => {
  const replace = { metadata: { annotations: { 'fleetrelay.dev/replace': 'true' } } };
  const of = (key: string, manifest: JsonObject) => replacementOf(key as ObjectKey, manifest);
  expect(of('/Service/default/a', {})).toBe('asks');
  expect(of('/Service/default/a', replace)).toBe('replaces');
  expect(of('/Namespace//a', replace)).toBe('never');
  expect(of('apiextensions.k8s.io/CustomResourceDefinition//as.example.com', replace)).toBe('never');
  expect(of('/Service/default/kubernetes', replace)).toBe('lasts');
});
