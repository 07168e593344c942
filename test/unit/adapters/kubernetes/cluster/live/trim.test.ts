import { describe, expect, it } from 'vitest';
import { trimObject } from '../../../../../../src/adapters/kubernetes/cluster/live/trim.ts';
import type { JsonObject } from '../../../../../../src/model/json.ts';

/** What is kept of live objects of others. */

const metadata = {
  name: 'web-0',
  namespace: 'shop',
  uid: 'u1',
  resourceVersion: '7',
  generation: 3,
  creationTimestamp: '2026-01-05T09:00:00Z',
  managedFields: [],
  labels: { app: 'web' },
  annotations: { 'kuma.io/mesh': 'm' },
  ownerReferences: [{ kind: 'ReplicaSet', name: 'web', controller: true }],
};

describe('of a live object stays', () => {
  const running = (startedAt: string, more: JsonObject = {}) => ({
    name: 'app',
    ready: true,
    started: true,
    restartCount: 4,
    image: 'app:1',
    imageID: 'sha256:1',
    containerID: 'containerd://1',
    lastState: { terminated: { exitCode: 1 } },
    state: { running: { startedAt } },
    ...more,
  });
  const pod = (statuses: readonly JsonObject[], init: readonly JsonObject[] = [], more: JsonObject = {}) => ({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata,
    spec: { nodeName: 'n1', containers: [{ name: 'app', image: 'app:1', env: [{ name: 'A', value: 'b' }] }] },
    status: {
      ...{ phase: 'Running', podIP: '10.0.0.1', startTime: '2026-01-05T09:00:00Z', qosClass: 'Burstable' },
      conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-05T09:00:00Z' }],
      containerStatuses: statuses,
      initContainerStatuses: init,
      ...more,
    },
  });

  it('of a Pod what readiness, connection and their reasons are read from', () => {
    const waiting = { state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting' } } };
    const ended = { terminated: { reason: 'Error', exitCode: 1, message: 'm', finishedAt: '2026-01-05T09:00:00Z' } };
    const trimmed = trimObject(
      pod(
        [running('2026-01-05T09:00:01Z'), { name: 'b', ready: false, ...waiting }],
        [{ name: 'c', ready: false, state: ended }],
      ),
      false,
    );
    expect(trimmed).toEqual({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: {
        ...{ name: 'web-0', namespace: 'shop', uid: 'u1', labels: { app: 'web' } },
        annotations: { 'kuma.io/mesh': 'm' },
        ownerReferences: [{ kind: 'ReplicaSet', name: 'web', controller: true }],
      },
      spec: { nodeName: 'n1', containers: [{ name: 'app', image: 'app:1' }] },
      status: {
        ...{ phase: 'Running', podIP: '10.0.0.1' },
        conditions: [{ type: 'Ready', status: 'True', reason: '' }],
        containerStatuses: [
          { name: 'app', ready: true, started: true, state: { running: { startedAt: '2026-01-05T09:00:01Z' } } },
          { name: 'b', ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
        initContainerStatuses: [
          {
            ...{ name: 'c', ready: false },
            state: { terminated: { reason: 'Error', exitCode: 1, finishedAt: '2026-01-05T09:00:00Z' } },
          },
        ],
      },
    });
  });

  it('nothing of a Pod that changes while it runs', () => {
    const first = pod([running('2026-01-05T09:00:01Z')]);
    const later = {
      ...pod([running('2026-01-05T09:00:01Z', { restartCount: 5, imageID: 'sha256:2' })], [], {
        conditions: [{ type: 'Ready', status: 'True', lastProbeTime: '2026-01-05T10:00:00Z' }],
      }),
      metadata: { ...metadata, resourceVersion: '8' },
    };
    expect(trimObject(later, false)).toEqual(trimObject(first, false));
  });

  it.each([
    ['apps/v1', 'ReplicaSet'],
    ['batch/v1', 'Job'],
  ])('of a %s %s its owner', (apiVersion, kind) => {
    const { name, namespace, labels, ownerReferences } = metadata;
    expect(trimObject({ apiVersion, kind, metadata, spec: { replicas: 3 }, status: { replicas: 3 } }, false)).toEqual({
      ...{ apiVersion, kind },
      metadata: { name, namespace, labels, ownerReferences },
    });
  });

  it('of a DataplaneInsight when its subscriptions began and ended', () => {
    const insight = (status: JsonObject) =>
      trimObject(
        { apiVersion: 'kuma.io/v1alpha1', kind: 'DataplaneInsight', mesh: 'default', metadata, status },
        false,
      );
    const connectTime = '2026-01-05T09:00:00Z';
    const first = insight({
      subscriptions: [{ id: '1', connectTime, generation: 4, status: { lastUpdateTime: connectTime, total: {} } }],
      mTLS: { certificateRegenerations: 1 },
    });
    expect(first).toMatchObject({ mesh: 'default', status: { subscriptions: [{ connectTime }] } });
    expect(insight({ subscriptions: [{ id: '1', connectTime, generation: 5 }] })).toEqual(first);
  });

  it('all of the same objects if they are ours', () => {
    const spec = { replicas: 3 };
    expect(trimObject({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata, spec }, true)).toMatchObject({ spec });
  });
});
