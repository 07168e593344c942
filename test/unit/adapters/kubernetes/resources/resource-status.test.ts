import { expect, test } from 'vitest';
import type { KubeAnswer, KubeClient, KubeRequest } from '../../../../../src/adapters/kubernetes/api/types.ts';
import { createResourceStatus } from '../../../../../src/adapters/kubernetes/resources/resource-status.ts';
import { objectKey } from '../../../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { silentLog } from '../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

const GROUP = { group: 'fleetrelay.dev', version: 'v1alpha1', kind: 'Placement', resource: 'placements' };
const PLACEMENTS = { ...GROUP, namespaced: true, verbs: [], subresources: ['status'] };
const key = objectKey({ group: 'fleetrelay.dev', kind: 'Placement', namespace: 'fleet', name: 'apps' });
const target = { key, uid: 'u', resourceVersion: '7', apiVersion: 'fleetrelay.dev/v1alpha1' };
const PATH = '/apis/fleetrelay.dev/v1alpha1/namespaces/fleet/placements/apps';
const conflict: KubeAnswer = {
  type: 'refused',
  status: 409,
  refusal: { reason: 'Conflict', message: 'the object has been modified', causes: [] },
};
const live = (metadata: JsonObject): KubeAnswer => ({ type: 'ok', status: 200, body: { metadata } });

/** Writes through a client that gives these answers, one after the other. */
function statusWith(answers: readonly KubeAnswer[]) {
  const sent: Pick<KubeRequest, 'method' | 'path' | 'body'>[] = [];
  const left = answers.values();
  const client: KubeClient = {
    server: 'memory',
    request: async ({ method, path, body }) => {
      sent.push({ method, path, ...(body === undefined ? {} : { body }) });
      return left.next().value ?? { type: 'unreachable', message: 'no more answers' };
    },
    watch: async () => ({ type: 'closed' }),
    close: async () => undefined,
  };
  const deps = { client, clock: createVirtualClock(), random: { next: () => 0, id: () => '' }, log: silentLog };
  return { sent, status: createResourceStatus({ ...deps, resourceOf: () => PLACEMENTS }, { instance: 'test' }) };
}

const change = { labels: { state: 'healthy' }, removeAnnotations: { retry: 'y', once: 'z' } };

test('metadata is written to the version that it was computed from', async () => {
  const { sent, status } = statusWith([live({ uid: 'u', resourceVersion: '8' })]);
  expect(await status.mark(target, change)).toEqual({ type: 'written', resourceVersion: '8' });
  const annotations = { retry: null, once: null };
  const body = { metadata: { uid: 'u', resourceVersion: '7', labels: change.labels, annotations } };
  expect(sent).toEqual([{ method: 'PATCH', path: PATH, body }]);
});

test('after a write of others the object is read again, and an annotation with a new value stays', async () => {
  const changed = live({ uid: 'u', resourceVersion: '9', annotations: { retry: 'again', once: 'z' } });
  const { sent, status } = statusWith([conflict, changed, live({ uid: 'u', resourceVersion: '10' })]);
  expect(await status.mark(target, change)).toEqual({ type: 'written', resourceVersion: '10' });
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `PATCH ${PATH}`,
    `GET ${PATH}`,
    `PATCH ${PATH}`,
  ]);
  expect(sent[2]?.body).toEqual({
    metadata: { uid: 'u', resourceVersion: '9', labels: change.labels, annotations: { once: null } },
  });
});

test('another object of the same name is left alone', async () => {
  const { sent, status } = statusWith([conflict, live({ uid: 'other', resourceVersion: '9' })]);
  expect(await status.mark(target, change)).toEqual({ type: 'gone' });
  expect(sent).toHaveLength(2);
});

test('a write that others overtake again and again is tried later', async () => {
  const changed = live({ uid: 'u', resourceVersion: '9', annotations: {} });
  const { status } = statusWith([conflict, changed, conflict, changed, conflict, changed]);
  expect(await status.mark(target, change)).toMatchObject({ type: 'retry', reason: 'Conflict' });
});
