import { expect, test } from 'vitest';
import { judgeObject } from '../../../../src/model/object-health/object-health.ts';
import { liveObject } from '../../../support/judged-objects.ts';

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
  const scalesUp = true;
  expect(judgeObject(unschedulable, { ...at(599), scalesUp })).toMatchObject({
    health: { state: 'inProgress' },
    again: CREATED + 600_000,
  });
  expect(judgeObject(unschedulable, { ...at(600), scalesUp }).health.state).toBe('failed');
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
    health: { state: 'inProgress', message: 'the load balancer has no address yet' },
    again: CREATED + 600_000,
  });
  expect(judgeObject(object, at(600))).toEqual({
    health: { state: 'current', message: 'the load balancer has no address' },
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

test('without a time no deadline has passed', () => {
  expect(judgeObject(unschedulable, {})).toEqual({ health: { state: 'inProgress', message: 'no node has room' } });
});
