import { expect, test } from 'vitest';
import { judgeObject } from '../../../../../src/model/objects/object-health/object-health.ts';
import { conditionList, liveObject } from '../../../../support/judged-objects.ts';

const CREATED = Date.parse('2026-01-01T00:00:00Z');
const metadata = { creationTimestamp: '2026-01-01T00:00:00Z' };
const unschedulable = liveObject('v1', 'Pod', {
  metadata,
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node has room' }],
  },
});
const at = (seconds: number) => ({ now: CREATED + seconds * 1000 });

test('a Pod that no node can take has failed after 15 seconds', () => {
  expect(judgeObject(unschedulable, at(14))).toEqual({
    health: { state: 'inProgress', message: 'no node has room' },
    again: CREATED + 15_000,
  });
  expect(judgeObject(unschedulable, at(15))).toEqual({ health: { state: 'failed', message: 'no node has room' } });
});

test('a Pod for which an autoscaler adds nodes has failed after ten minutes', () => {
  const scalesUpSince = CREATED;
  expect(judgeObject(unschedulable, { ...at(599), scalesUpSince })).toMatchObject({
    health: { state: 'inProgress' },
    again: CREATED + 600_000,
  });
  expect(judgeObject(unschedulable, { ...at(600), scalesUpSince }).health.state).toBe('failed');
});

test('a Pod that a person holds back waits for ever', () => {
  const gated = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }];
  const pod = liveObject('v1', 'Pod', { metadata, status: { phase: 'Pending', conditions: gated } });
  expect(judgeObject(pod, at(86_400))).toMatchObject({ health: { state: 'inProgress' } });
  expect(judgeObject(pod, at(86_400)).again).toBeUndefined();
});

test.each([
  ['Service', liveObject('v1', 'Service', { metadata, spec: { type: 'LoadBalancer' }, status: { loadBalancer: {} } })],
  ['Ingress', liveObject('networking.k8s.io/v1', 'Ingress', { metadata, status: { loadBalancer: {} } })],
])('a %s without an address is in progress for ten minutes, then current with a note', (_kind, object) => {
  expect(judgeObject(object, at(599))).toEqual({
    health: { state: 'inProgress', message: 'no controller has given it an address yet' },
    again: CREATED + 600_000,
  });
  expect(judgeObject(object, at(600))).toEqual({
    health: { state: 'current', message: 'no controller has given it an address' },
  });
});

test('an old Service that has become a load balancer gets its ten minutes, too', () => {
  const managedFields = [
    { manager: 'other', time: '2026-01-03T00:00:00Z', fieldsV1: { 'f:spec': { 'f:ports': {} } } },
    { manager: 'fleetrelay', time: '2026-01-02T00:00:00Z', fieldsV1: { 'f:spec': { 'f:type': {} } } },
  ];
  const object = liveObject('v1', 'Service', {
    metadata: { ...metadata, managedFields },
    spec: { type: 'LoadBalancer' },
  });
  expect(judgeObject(object, at(86_400 + 599)).again).toBe(CREATED + 87_000_000);
});

/** A condition that changed when the object was created. */
const since = (written: string) =>
  conditionList(written).map((one) => ({ ...one, lastTransitionTime: metadata.creationTimestamp }));

test.each([
  ['autoscaling/v2', 'HorizontalPodAutoscaler', 'ScalingActive=False:FailedGetResourceMetric'],
  ['kustomize.toolkit.fluxcd.io/v1', 'Kustomization', 'Ready=False:ArtifactFailed'],
  ['helm.toolkit.fluxcd.io/v2', 'HelmRelease', 'Ready=False:SourceNotReady'],
  ['image.toolkit.fluxcd.io/v1', 'ImagePolicy', 'Ready=False:DependencyNotReady'],
  ['cert-manager.io/v1', 'Issuer', 'Ready=False:ErrGetKeyPair'],
  ['pkg.crossplane.io/v1', 'Provider', 'Healthy=False:UnhealthyPackageRevision'],
])(
  'a %s %s whose condition says %s has failed after five minutes: what it needs can come later',
  (apiVersion, kind, written) => {
    const object = liveObject(apiVersion, kind, { metadata, status: { conditions: since(written) } });
    expect(judgeObject(object, at(299))).toMatchObject({ health: { state: 'inProgress' }, again: CREATED + 300_000 });
    expect(judgeObject(object, at(300)).health.state).toBe('failed');
  },
);

test.each([
  ['gateway.networking.k8s.io/v1', 'BackendTLSPolicy'],
  ['gateway.solo.io/v1', 'RouteOption'],
  ['gloo.solo.io/v1', 'Settings'],
])('a %s %s that no controller takes up is current after ten minutes, with a note', (apiVersion, kind) => {
  const unused = liveObject(apiVersion, kind, { metadata });
  expect(judgeObject(unused, at(599)).health.state).toBe('inProgress');
  expect(judgeObject(unused, at(600)).health).toEqual({ state: 'current', message: 'no controller has taken it up' });
});

test('the ancestor of a controller that is gone is waited for ten minutes after a change', () => {
  const managedFields = [{ time: '2026-01-02T00:00:00Z', fieldsV1: { 'f:spec': { 'f:validation': {} } } }];
  const ancestors = [
    {
      ancestorRef: { name: 'old' },
      conditions: conditionList('Accepted=True').map((one) => ({ ...one, observedGeneration: 1 })),
    },
    { ancestorRef: { name: 'web' }, conditions: conditionList('Accepted=True') },
  ];
  const policy = liveObject('gateway.networking.k8s.io/v1', 'BackendTLSPolicy', {
    metadata: { ...metadata, managedFields },
    status: { ancestors },
  });
  expect(judgeObject(policy, at(86_999))).toMatchObject({
    health: { state: 'inProgress' },
    again: CREATED + 87_000_000,
  });
  expect(judgeObject(policy, at(87_000)).health.state).toBe('current');
});

test('the time of a Pod counts from when it could not be scheduled, not from its creation', () => {
  const waited = liveObject('v1', 'Pod', {
    metadata,
    status: {
      phase: 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: 'no node has room',
          lastTransitionTime: '2026-01-01T01:00:00Z',
        },
      ],
    },
  });
  expect(judgeObject(waited, at(3_614))).toMatchObject({ health: { state: 'inProgress' }, again: CREATED + 3_615_000 });
  const scalesUpSince = CREATED + 3_700_000;
  expect(judgeObject(waited, { ...at(4_000), scalesUpSince })).toMatchObject({
    health: { state: 'inProgress' },
    again: scalesUpSince + 600_000,
  });
  expect(judgeObject(waited, { ...at(4_300), scalesUpSince }).health.state).toBe('failed');
});

test('an object that has lacked an address for long keeps its note when its manager changes it again', () => {
  const managedFields = [
    { manager: 'fleetrelay', time: '2026-02-01T00:00:00Z', fieldsV1: { 'f:spec': { 'f:type': {} } } },
  ];
  const object = liveObject('v1', 'Service', {
    metadata: { ...metadata, managedFields },
    spec: { type: 'LoadBalancer' },
  });
  const now = Date.parse('2026-02-01T00:00:01Z');
  const note = { state: 'current', message: 'no controller has given it an address' } as const;
  expect(judgeObject(object, { now }).health.state).toBe('inProgress');
  expect(judgeObject(object, { now, before: note })).toEqual({ health: note });
});

test('an Ingress counts from the change of its default backend', () => {
  const managedFields = [{ time: '2026-01-02T00:00:00Z', fieldsV1: { 'f:spec': { 'f:defaultBackend': {} } } }];
  const object = liveObject('networking.k8s.io/v1', 'Ingress', { metadata: { ...metadata, managedFields } });
  expect(judgeObject(object, at(86_400 + 599)).health.state).toBe('inProgress');
});

test('without a time no deadline has passed', () => {
  expect(judgeObject(unschedulable, {})).toEqual({ health: { state: 'inProgress', message: 'no node has room' } });
});
