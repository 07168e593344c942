import { expect, test } from 'vitest';
import type { KubeClient } from '../../../../../src/adapters/kubernetes/api/types.ts';
import { createEventRecorder } from '../../../../../src/adapters/kubernetes/resources/event-recorder.ts';
import { objectKey } from '../../../../../src/model/objects/object-key.ts';
import { silentLog } from '../../../../support/silent-log.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

/** A recorder of the events of many objects, and the events that it has written. */
function recorderOf(rate?: { readonly burst: number; readonly perSecond: number }) {
  const sent: string[] = [];
  const client: KubeClient = {
    server: 'memory',
    request: async ({ method }) => {
      sent.push(method);
      return { type: 'ok', status: 201, body: {} };
    },
    watch: async () => ({ type: 'closed' }),
    close: async () => undefined,
  };
  const clock = createVirtualClock();
  const deps = { client, clock, random: { next: () => 0, id: () => 'id' }, log: silentLog };
  const recorder = createEventRecorder(deps, { instance: 'test', ...(rate === undefined ? {} : { rate }) });
  const record = async (uid: string): Promise<void> => {
    const key = objectKey({ group: '', kind: 'ConfigMap', namespace: 'web', name: uid });
    const event = { type: 'Normal', reason: 'DriftReported', message: 'data.k' } as const;
    await recorder.record({ key, uid, resourceVersion: '', apiVersion: 'v1' }, event);
  };
  return { sent, clock, record };
}

test('the events of all objects together have a limit', async () => {
  const { sent, clock, record } = recorderOf({ burst: 100, perSecond: 10 });
  for (let index = 0; index < 500; index++) await record(`first-${index}`);
  expect(sent).toHaveLength(100);
  await clock.advance(1_000);
  for (let index = 0; index < 500; index++) await record(`second-${index}`);
  expect(sent).toHaveLength(110);
});

test('an event that is repeated is counted up, until it is too old', async () => {
  const { sent, clock, record } = recorderOf();
  await record('a');
  await record('a');
  await clock.advance(7 * 60_000);
  await record('a');
  expect(sent).toEqual(['POST', 'PATCH', 'POST']);
});
