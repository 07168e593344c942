import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSystemClock } from '../../../../../../src/adapters/system/clock.ts';
import { reviewPod } from '../../../../../../src/domains/health/adapters/admission/review.ts';
import { createWebhookServer } from '../../../../../../src/domains/health/adapters/admission/webhook-server.ts';
import { NO_TRUST, renewTrust } from '../../../../../../src/domains/health/adapters/admission/webhook-trust.ts';
import { recordingLog } from '../../../../../support/running-server.ts';
import { options, podWith } from '../../probes/support.ts';

const NAME = 'hook.relay.svc';
const JSON_TYPE = { 'content-type': 'application/json' };
const results: string[] = [];
const log = recordingLog();
const server = createWebhookServer({
  clock: createSystemClock(),
  log,
  review: (body) => reviewPod(body, { ...options(), excluded: [] }),
  count: (result) => void results.push(result),
});
let port: number;
let ca: string;

beforeAll(async () => {
  ({ port } = await server.listen({ host: '127.0.0.1', port: 0 }));
});
afterAll(() => server.stop());

function send(
  method: string,
  path: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string | number>> = JSON_TYPE,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, servername: NAME, ca, method, path, headers, agent: false },
      (answer) => {
        let text = '';
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

const review = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u1',
    operation: 'CREATE',
    namespace: 'web',
    resource: { group: '', version: 'v1', resource: 'pods' },
    object: podWith({ livenessProbe: { tcpSocket: { port: 5432 } } }),
  },
});

it('refuses connections until it has a certificate, and answers reviews from then on', async () => {
  await expect(send('POST', '/inject', review)).rejects.toThrow();
  const trust = await renewTrust(NO_TRUST, Date.now(), { caLifeMs: 3_600_000, names: [NAME] });
  ca = trust.authorities[0]?.certificate ?? '';
  server.use(trust.served ?? { certificate: '', key: '' });
  const { status, text } = await send('POST', '/inject', review);
  expect(status).toBe(200);
  expect(JSON.parse(text).response).toMatchObject({ uid: 'u1', allowed: true, patchType: 'JSONPatch' });
  expect(results).toEqual(['rewritten']);
});

it.each([
  ['another path', 'POST', '/mutate', review, JSON_TYPE, 404, /POST \/inject/],
  ['another method', 'GET', '/inject', '', JSON_TYPE, 405, /POST/],
  ['another type', 'POST', '/inject', review, { 'content-type': 'text/plain' }, 415, /application\/json/],
  ['no JSON', 'POST', '/inject', '{', JSON_TYPE, 400, /no JSON object/],
  ['nothing', 'POST', '/inject', '', { ...JSON_TYPE, 'content-length': 0 }, 400, /no JSON object/],
  ['deep nesting', 'POST', '/inject', '['.repeat(1_000_000), JSON_TYPE, 400, /no JSON object/],
] as const)('answers %s with a clear error, and goes on', async (_, method, path, body, headers, status, text) => {
  expect(await send(method, path, body, headers)).toEqual({ status, text: expect.stringMatching(text) });
  expect((await send('POST', '/inject', review)).status).toBe(200);
});

it('takes a body without a length, and a Pod of 3 MiB', async () => {
  const chunked = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
  expect((await send('POST', '/inject', review, chunked)).status).toBe(200);
  const { request: asked, ...rest } = JSON.parse(review);
  const annotations = { large: 'x'.repeat(3 << 20) };
  const large = { ...asked.object, metadata: { ...asked.object.metadata, annotations } };
  const text = JSON.stringify({ ...rest, request: { ...asked, object: large, oldObject: null } });
  for (const headers of [JSON_TYPE, chunked]) expect((await send('POST', '/inject', text, headers)).status).toBe(200);
});

it('refuses a body of more than 6 MiB by its announced length', async () => {
  const headers = { ...JSON_TYPE, 'content-length': 6 * 1024 * 1024 + 1 };
  const refused = await send('POST', '/inject', Buffer.alloc(headers['content-length'], 32), headers).catch(
    (error: NodeJS.ErrnoException) => ({ status: error.code, text: '' }),
  );
  // The answer may be lost where the caller still writes.
  expect([413, 'EPIPE', 'ECONNRESET']).toContain(refused.status);
  expect(results.at(-1)).toBe('failed');
  expect((await send('POST', '/inject', review)).status).toBe(200);
});

/** Begins a review on a connection of its own, from an address. */
function begin(headers: Readonly<Record<string, string | number>>, localAddress: string): ClientRequest {
  const options = { host: '127.0.0.1', port, servername: NAME, ca, localAddress };
  const asked = request({
    ...options,
    method: 'POST',
    path: '/inject',
    headers: { ...JSON_TYPE, ...headers },
    agent: false,
  });
  asked.on('error', () => undefined);
  return asked;
}

it('reviews Pods while others announce large bodies and send little of them', async () => {
  const slow = ['127.0.0.1', '127.0.0.2'].flatMap((address) =>
    Array.from({ length: 20 }, () => begin({ 'content-length': 6 << 20 }, address)),
  );
  await Promise.all(
    slow.map((asked) => new Promise<void>((resolve) => asked.write(' '.repeat(1_000), () => resolve()))),
  );
  for (let count = 0; count < 10; count += 1) expect((await send('POST', '/inject', review)).status).toBe(200);
  for (const asked of slow) asked.destroy();
});

it('takes the memory from the address that holds the most of it', async () => {
  const greedy = [5, 5, 5, 5].map(() => begin({ 'content-length': 6 << 20 }, '127.0.0.2'));
  const refused = Promise.race(greedy.map((asked) => once(asked, 'response')));
  for (const asked of greedy)
    await new Promise<void>((resolve) => asked.write(Buffer.alloc(5 << 20, 0x20), () => resolve()));
  const [response] = (await refused) as [IncomingMessage];
  expect(response.statusCode).toBe(503);
  expect((await send('POST', '/inject', review)).status).toBe(200);
  for (const asked of greedy) asked.destroy();
});

it('shares its connections by address', async () => {
  const idle = Array.from({ length: 256 }, () => connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }));
  for (const socket of idle) socket.on('error', () => undefined);
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  const [oldest] = idle;
  const closed = once(oldest ?? connect(port), 'close');
  expect((await send('POST', '/inject', review)).status).toBe(200);
  await closed;
  for (const socket of idle) socket.destroy();
});

it('fills no log for strangers', async () => {
  const before = log.lines.length;
  for (let count = 0; count < 60; count += 1) expect((await send('POST', '/inject', '{')).status).toBe(400);
  expect(log.lines.length - before).toBeLessThan(30);
});
