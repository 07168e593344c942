import { expect, it } from 'vitest';
import { trimObject } from '../../../../../src/adapters/kubernetes/cluster/live/trim.ts';
import { trimInsight } from '../../../../../src/domains/health/adapters/kubernetes/trim-insight.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

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

it('keeps of a DataplaneInsight when its subscriptions began and ended', () => {
  const insight = (status: JsonObject, generation = 3) =>
    trimObject(
      {
        ...{ apiVersion: 'kuma.io/v1alpha1', kind: 'DataplaneInsight', mesh: 'default', status },
        metadata: { ...metadata, generation },
      },
      trimInsight,
    );
  const connectTime = '2026-01-05T09:00:00Z';
  const first = insight({
    subscriptions: [{ id: '1', connectTime, generation: 4, status: { lastUpdateTime: connectTime, total: {} } }],
    mTLS: { certificateRegenerations: 1 },
  });
  expect(first).toMatchObject({ mesh: 'default', status: { subscriptions: [{ connectTime }] } });
  expect(insight({ subscriptions: [{ id: '1', connectTime, generation: 5 }] }, 4)).toEqual(first);
});
