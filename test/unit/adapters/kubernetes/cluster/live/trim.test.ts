import { describe, expect, it } from 'vitest';
import { trimObject } from '../../../../../../src/adapters/kubernetes/cluster/live/trim.ts';
import type { JsonObject } from '../../../../../../src/model/text/json.ts';

/** What is kept of live objects of others. */

/** No domain. */
const keep = (value: JsonObject): JsonObject => value;

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
      keep,
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
    expect(trimObject(later, keep)).toEqual(trimObject(first, keep));
  });

  it.each([
    ['apps/v1', 'ReplicaSet'],
    ['batch/v1', 'Job'],
  ])('of a %s %s its owner', (apiVersion, kind) => {
    const { name, namespace, labels, ownerReferences } = metadata;
    expect(trimObject({ apiVersion, kind, metadata, spec: { replicas: 3 }, status: { replicas: 3 } }, keep)).toEqual({
      ...{ apiVersion, kind },
      metadata: { name, namespace, labels, ownerReferences },
    });
  });

  it('of a Node what its health is judged by, and a renewed heartbeat changes nothing', () => {
    const heartbeat = (lastHeartbeatTime: string, more: JsonObject = {}) =>
      trimObject(
        {
          ...{ apiVersion: 'v1', kind: 'Node' },
          metadata: { name: 'n1', labels: { 'worker.gardener.cloud/pool': 'a' }, annotations: { checksum: '1' } },
          spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] },
          status: {
            addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
            images: [{ names: ['large'] }],
            capacity: { cpu: '4' },
            nodeInfo: { kubeletVersion: 'v1.31.2', bootID: 'b' },
            conditions: [
              {
                ...{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is ready' },
                ...{ lastHeartbeatTime, lastTransitionTime: '2026-01-05T09:00:00Z' },
              },
            ],
            ...more,
          },
        },
        keep,
      );
    const first = heartbeat('2026-01-05T09:00:00Z');
    expect(first).toEqual({
      ...{ apiVersion: 'v1', kind: 'Node' },
      metadata: { name: 'n1', labels: { 'worker.gardener.cloud/pool': 'a' }, annotations: { checksum: '1' } },
      spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] },
      status: {
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        nodeInfo: { kubeletVersion: 'v1.31.2' },
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is ready' }],
      },
    });
    expect(heartbeat('2026-01-05T09:05:00Z', { images: [] })).toEqual(first);
  });

  it('the generation that a status can be older than', () => {
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, status: { observedGeneration: 2 } };
    expect(trimObject(deployment, keep)).toMatchObject({ metadata: { generation: 3 } });
  });

  it('all of the same objects if they are ours', () => {
    const spec = { replicas: 3 };
    expect(trimObject({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata, spec })).toMatchObject({ spec });
  });
});

it('a Shoot keeps its status, and the time of its creation', () => {
  const status = { gardener: { name: 'gardenlet-x' }, lastOperation: { type: 'Create' }, conditions: [] };
  const shoot = { apiVersion: 'core.gardener.cloud/v1beta1', kind: 'Shoot', metadata, spec: { region: 'eu' }, status };
  const { uid: _uid, resourceVersion: _version, managedFields: _fields, ...kept } = metadata;
  expect(trimObject(shoot, keep)).toEqual({ ...shoot, metadata: kept });
});
