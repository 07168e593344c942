import { expect, test } from 'vitest';
import { noticeSilence } from '../../../../../src/adapters/kubernetes/api/silence.ts';
import type { KubeAnswer, KubeClient, KubeRequest } from '../../../../../src/adapters/kubernetes/api/types.ts';
import { createKubernetesCare } from '../../../../../src/domains/care/adapters/kubernetes/care-api.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const SILENT: KubeAnswer = { type: 'unreachable', message: 'https://api: connection refused: nothing listens there' };
const RESET: KubeAnswer = { type: 'unreachable', message: 'https://api: the connection was reset' };
const TOO_LARGE: KubeAnswer = { type: 'unreachable', message: 'too large', tooLarge: true };
const ok = (body: JsonObject, status = 200): KubeAnswer => ({ type: 'ok', status, body });
const refused = (status: number): KubeAnswer => ({
  type: 'refused',
  status,
  refusal: { reason: 'R', message: `refused with ${status}`, causes: [] },
});

/** A client that gives these answers one after the other, and the requests that it was sent. */
function scripted(...answers: readonly KubeAnswer[]) {
  const sent: KubeRequest[] = [];
  const remaining = [...answers];
  const client: KubeClient = {
    server: 'https://api',
    request: async (request) => {
      sent.push(request);
      return remaining.shift() ?? SILENT;
    },
    watch: async () => ({ type: 'broken', message: 'the connection was reset' }),
    close: async () => {},
  };
  return { client, sent, care: createKubernetesCare(client, () => () => undefined) };
}
const lease = (name: string): JsonObject => ({ metadata: { name, namespace: 'ns' }, spec: {} });
const names = (leases: readonly JsonObject[]) => leases.map(({ metadata }) => (metadata as JsonObject).name);

test('Leases come from the cache of the API server in one answer', async () => {
  const { care, sent } = scripted(ok({ items: [lease('a'), lease('b')] }));
  expect(names((await care.leases(['ns'])).leases)).toEqual(['a', 'b']);
  expect(sent).toMatchObject([
    { path: '/apis/coordination.k8s.io/v1/namespaces/ns/leases', query: { resourceVersion: '0' } },
  ]);
});

test('a list that is too large is read in pages', async () => {
  const page = ok({ metadata: { continue: 'next' }, items: [lease('a')] });
  const { care, sent } = scripted(TOO_LARGE, page, ok({ metadata: {}, items: [lease('b')] }));
  expect(await care.leases(['ns'])).toEqual({ leases: [lease('a'), lease('b')], refused: {} });
  expect(sent.map(({ query }) => query)).toEqual([
    { resourceVersion: '0' },
    { limit: '500' },
    { limit: '500', continue: 'next' },
  ]);
});

test.each([
  [refused(403), { refused: { ns: 'refused with 403' } }],
  [refused(404), { refused: { ns: 'refused with 404' } }],
  [refused(500), { unanswered: 'refused with 500', refused: {} }],
  [refused(410), { unanswered: 'refused with 410', refused: {} }],
  [SILENT, { unanswered: SILENT.type === 'unreachable' && SILENT.message, refused: {} }],
])('a list that fails with %j', async (answer, expected) => {
  expect(await scripted(answer).care.leases(['ns'])).toEqual({ leases: [], ...expected });
});

test('one Namespace that is refused does not hide the others', async () => {
  const { care } = scripted(refused(403), ok({ items: [lease('a')] }));
  expect(await care.leases(['secret', 'ns'])).toEqual({
    leases: [lease('a')],
    refused: { secret: 'refused with 403' },
  });
});

test('health: any status is an answer; a connection that broke while it was idle is tried once more', async () => {
  const health = (...answers: readonly KubeAnswer[]) => scripted(...answers).care.askHealth?.('/healthz', 1_000);
  expect(await health(ok({ text: 'shutting down', cut: true }, 503))).toEqual({
    ...{ type: 'answered', status: 503, text: 'shutting down', cut: true },
  });
  expect(await health(RESET, ok({ text: 'ok' }))).toMatchObject({ type: 'answered', status: 200 });
  expect(await health(RESET, RESET)).toMatchObject({ type: 'unanswered' });
  expect(await health(SILENT, ok({ text: 'ok' }))).toMatchObject({ type: 'unanswered' });
});

test('requests and watches without an answer are hints; refusals, large answers and those called off are not', async () => {
  let hints = 0;
  const { client } = scripted(SILENT, refused(403), TOO_LARGE, SILENT, SILENT);
  const noticed = noticeSilence(client);
  const end = createKubernetesCare(client, noticed.onSilence).watch((what) => {
    expect(what).toBe('apiServer');
    hints += 1;
  });
  const request = (signal?: AbortSignal) =>
    noticed.client.request({ method: 'GET', path: '/', ...(signal && { signal }) });
  await request();
  expect(hints).toBe(1);
  await request();
  await request();
  await request(AbortSignal.abort());
  expect(hints).toBe(1);
  await noticed.client.watch({ path: '/', query: {}, silentMs: 1, signal: new AbortController().signal }, () => {});
  expect(hints).toBe(2);
  end();
  await request();
  expect(hints).toBe(2);
});

test('an API server that has too many requests says nothing about the tunnel', async () => {
  const pods = ok({ items: [{ metadata: { name: 'vpn' }, status: { phase: 'Running' } }] });
  const test = (answer: KubeAnswer) => scripted(pods, answer).care.tunnel?.(1_000);
  expect(await test(ok({ text: 'too many requests' }, 429))).toEqual({ type: 'unanswered' });
  expect(await test(ok({ text: 'bad gateway' }, 502))).toEqual({ type: 'failed', pod: 'vpn', error: 'bad gateway' });
});
