import { connect } from 'node:tls';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AuditLog } from '../../../src/ports/audit-log.ts';
import type { Person } from '../../../src/server/people.ts';
import { apiFetch } from '../../support/api-fetch.ts';
import { askSecurely, createPeopleAuthority, type PeopleAuthority } from '../../support/people-tls.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';
import { fakeApi, HELD_DIGEST } from '../../support/server-api.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const ann: Person = { name: 'ann', role: 'operate', token: 'the-token-of-ann-here' };
const bob: Person = { name: 'bob', role: 'read', token: 'the-token-of-bob-here' };
const running: RunningServer[] = [];

async function serve(...args: Parameters<typeof runServer>): Promise<RunningServer> {
  const server = await runServer(...args);
  running.push(server);
  return server;
}

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

function ask(url: string, token: string | undefined, body?: unknown, type = 'application/json'): Promise<Response> {
  const headers = { 'Content-Type': type, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
  return apiFetch(url, { headers, ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }) });
}

describe('roles', () => {
  test('read may ask, operate may also act; the proven name counts', async () => {
    const api = fakeApi();
    const { url } = await serve({ api }, { people: [bob, ann] });
    const approvals = `${url}/api/v1/approvals`;
    expect((await ask(`${url}/api/v1/status`, bob.token)).status).toBe(200);
    const refused = await ask(approvals, bob.token, { digest: HELD_DIGEST, by: 'ann' });
    expect([refused.status, await refused.json()]).toEqual([
      403,
      { error: { reason: 'Forbidden', message: 'bob may ask, and change nothing (role read)' } },
    ]);
    expect((await ask(approvals, undefined, { digest: HELD_DIGEST })).status).toBe(401);
    expect(api.calls).toEqual([]);
    expect((await ask(approvals, ann.token, { digest: HELD_DIGEST, by: 'another person' })).status).toBe(200);
    expect(api.calls).toEqual([`approve ${HELD_DIGEST} by ann`]);
  });

  test('suspending and resuming', async () => {
    const api = fakeApi();
    const { url } = await serve({ api }, { people: [ann] });
    const post = async (path: string, body: object): Promise<unknown> => {
      const response = await ask(`${url}/api/v1/${path}`, ann.token, body);
      return [response.status, ((await response.json()) as { suspended?: unknown }).suspended];
    };
    const at = '2026-01-02T03:04:05Z';
    expect(await post('clusters/east/suspend', { reason: 'moved' })).toEqual([200, { by: 'ann', at, reason: 'moved' }]);
    expect(await post('clusters/east/resume', {})).toEqual([200, null]);
    expect(await post('sources/main/suspend', {})).toEqual([200, { by: 'ann', at, reason: '' }]);
    expect(await post('sources/main/resume', {})).toEqual([200, null]);
    expect(await post('sources/main/suspend', { reason: 'x'.repeat(201) })).toEqual([400, undefined]);
    expect(await post('clusters/nowhere/suspend', {})).toEqual([404, undefined]);
  });

  test('an act that only the leader can carry out is answered with its address', async () => {
    const message = 'this replica does not lead';
    const leads = async () => ({ ok: false, kind: 'notLeader', message, leader: 'b:9980' }) as const;
    const { url } = await serve({ api: { ...fakeApi(), approve: leads } });
    const response = await ask(`${url}/api/v1/approvals`, undefined, { digest: HELD_DIGEST });
    expect([response.status, await response.json()]).toEqual([
      409,
      { error: { reason: 'NotLeader', message, leader: 'b:9980' } },
    ]);
  });
});

describe('client certificates', () => {
  let authority: PeopleAuthority;
  let strangers: PeopleAuthority;
  beforeAll(async () => {
    authority = await createPeopleAuthority();
    strangers = await createPeopleAuthority();
  });

  async function serveSecurely(people: readonly Person[] = []) {
    const api = fakeApi();
    const tls = { ...(await authority.server()), clientCa: authority.ca };
    const server = await serve({ api }, { tls, people });
    const { ca } = authority;
    const call = (subject: string | undefined, body?: object, token?: string) => {
      const asked = async () =>
        askSecurely(
          `${server.url}/api/v1/${body === undefined ? 'status' : 'approvals'}`,
          { ca, ...(subject === undefined ? {} : await authority.person(subject)) },
          { ...(body && { body }), ...(token && { token }) },
        );
      return asked();
    };
    return { ...server, api, call };
  }

  test('name a person and a role', async () => {
    const { api, call, acts } = await serveSecurely();
    expect((await call('CN=carol,O=fleetrelay:read')).status).toBe(200);
    expect((await call('CN=carol,O=fleetrelay:read', { digest: HELD_DIGEST })).status).toBe(403);
    expect((await call('CN=carol,O=fleetrelay:operate', { digest: HELD_DIGEST })).status).toBe(200);
    expect((await call('CN=dave,O=fleetrelay:read,O=fleetrelay:operate', { digest: HELD_DIGEST })).status).toBe(200);
    expect(api.calls).toEqual([`approve ${HELD_DIGEST} by carol`, `approve ${HELD_DIGEST} by dave`]);
    expect((await acts()).map(({ who, proof, stage }) => [who, proof, stage])).toEqual([
      ['carol', 'certificate', 'refused'],
      ['carol', 'certificate', 'asked'],
      ['carol', 'certificate', 'done'],
      ['dave', 'certificate', 'asked'],
      ['dave', 'certificate', 'done'],
    ]);
  });

  test('without a role, without a name or with two names are refused with the reason', async () => {
    const { call } = await serveSecurely();
    expect(await call('CN=carol')).toMatchObject({ status: 403, text: expect.stringContaining('fleetrelay:operate') });
    expect(await call('CN=carol,O=operate')).toMatchObject({ status: 403 });
    expect(await call('O=fleetrelay:operate')).toMatchObject({ status: 403, text: expect.stringContaining('(CN)') });
    expect(await call('CN=a,CN=b,O=fleetrelay:operate')).toMatchObject({ status: 403 });
  });

  test('of another CA, and expired ones, are refused also beside a valid token', async () => {
    const { url } = await serveSecurely([ann]);
    const shown = [
      await strangers.person('CN=ann,O=fleetrelay:operate'),
      await authority.person('CN=ann,O=fleetrelay:operate', { expired: true }),
      // A certificate for servers proves no person.
      await authority.server(),
    ];
    for (const identity of shown) {
      const answer = await askSecurely(`${url}/api/v1/status`, { ca: authority.ca, ...identity }, { token: ann.token });
      expect(answer).toMatchObject({ status: 401, text: expect.stringContaining('not accepted') });
    }
  });

  test('are checked at each request, because a connection may last longer than its certificate', async () => {
    const clock = createVirtualClock();
    const tls = { ...(await authority.server()), clientCa: authority.ca };
    const { url } = await serve({ api: fakeApi(), clock }, { tls });
    const shown = { ca: authority.ca, ...(await authority.person('CN=carol,O=fleetrelay:read')) };
    expect((await askSecurely(`${url}/api/v1/status`, shown)).status).toBe(200);
    await clock.advance(Date.now() + 2 * 24 * 60 * 60 * 1000 - clock.now());
    expect(await askSecurely(`${url}/api/v1/status`, shown)).toMatchObject({
      status: 401,
      text: expect.stringContaining('its time is over'),
    });
  });

  test('come from the handshake: renegotiation, which Node would not verify, is refused', async () => {
    const { url } = await serveSecurely();
    const { certificate: cert, key } = await authority.person('CN=carol,O=fleetrelay:read');
    const { port } = new URL(url);
    // Later versions of TLS know no such thing.
    const socket = connect({
      host: '127.0.0.1',
      port: Number(port),
      ca: authority.ca,
      cert,
      key,
      maxVersion: 'TLSv1.2',
    });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    const outcome = await new Promise((resolve) => {
      socket.once('error', () => resolve('refused'));
      socket.once('close', () => resolve('refused'));
      socket.renegotiate({}, (error) => resolve(error === null ? 'negotiated' : 'refused'));
    });
    socket.destroy();
    expect(outcome).toBe('refused');
  });

  test('a token is accepted instead; a request with neither is refused', async () => {
    const { call } = await serveSecurely([ann]);
    expect((await call(undefined, undefined, ann.token)).status).toBe(200);
    const nothing = await call(undefined);
    expect(nothing.status).toBe(401);
    expect(nothing.text).toContain('an API token (Authorization: Bearer ...) or a client certificate');
  });
});

describe('the audit log', () => {
  test('has the caller, act, time, address and outcome', async () => {
    const clock = createVirtualClock();
    const { url, acts } = await serve({ api: fakeApi(), clock }, { people: [bob, ann] });
    await ask(`${url}/api/v1/status`, ann.token);
    await ask(`${url}/api/v1/sources/main/accept`, ann.token, { revision: 'abc', by: 'x' });
    const [asked, refused, ...more] = await acts();
    const common = { who: 'ann', role: 'operate', proof: 'token', from: '127.0.0.1', act: 'sources/main/accept' };
    expect(asked).toEqual({
      ...common,
      id: expect.any(String),
      at: new Date(clock.now()).toISOString(),
      stage: 'asked',
      details: { revision: 'abc' },
      message: '',
    });
    expect(refused).toEqual({ ...asked, stage: 'refused', message: 'revision abc does not wait' });
    expect(more).toEqual([]);
  });

  test('has the requests that were refused before they reached the API', async () => {
    const { url, acts } = await serve({ api: fakeApi() }, { people: [bob, ann] });
    const approvals = `${url}/api/v1/approvals`;
    await ask(approvals, bob.token, { digest: 'x' });
    await ask(approvals, 'a-wrong-token-of-length', { digest: 'x' });
    await ask(approvals, ann.token, { digest: 'x' }, 'text/plain');
    await ask(approvals, ann.token, { digest: 'z'.repeat(70_000) });
    expect((await acts()).map(({ who, stage, message }) => [who, stage, message])).toEqual([
      ['bob', 'refused', 'bob may ask, and change nothing (role read)'],
      ['', 'refused', expect.stringContaining('missing or wrong')],
      ['ann', 'refused', 'send the body as application/json'],
      ['ann', 'refused', expect.stringContaining('at most')],
    ]);
  });

  test('has the stated name where no name is proven', async () => {
    const { url, acts } = await serve({ api: fakeApi() });
    await ask(`${url}/api/v1/clusters/west/replace`, undefined, { by: 'eve' });
    await ask(`${url}/api/v1/clusters/west/replace`, undefined, {});
    expect((await acts()).map(({ who, proof }) => `${who} ${proof}`)).toEqual([
      'eve local',
      'eve local',
      'a local caller local',
      'a local caller local',
    ]);
  });

  test('refusals of unknown callers are limited, and those left out are counted', async () => {
    const clock = createVirtualClock();
    const { url, acts } = await serve({ api: fakeApi(), clock }, { people: [ann] });
    for (let count = 0; count < 40; count++) await ask(`${url}/api/v1/approvals`, undefined, {});
    expect(await acts()).toHaveLength(30);
    await clock.advance(60_000);
    await ask(`${url}/api/v1/approvals`, undefined, {});
    expect((await acts()).at(-1)?.details).toEqual({ refusedWithoutNote: '10' });
  });

  test('refusals of a known caller are limited, and take nothing from another one', async () => {
    const clock = createVirtualClock();
    const { url, acts } = await serve({ api: fakeApi(), clock }, { people: [ann, bob] });
    for (let count = 0; count < 40; count++) await ask(`${url}/api/v1/approvals`, bob.token, {});
    expect(await acts()).toHaveLength(30);
    await ask(`${url}/api/v1/approvals`, undefined, {});
    await ask(`${url}/api/v1/approvals`, ann.token, { digest: 'x' });
    expect((await acts()).slice(30).map(({ who, stage }) => `${who} ${stage}`)).toEqual([
      ...[' refused', 'ann asked', 'ann refused'],
    ]);
    await clock.advance(60_000);
    await ask(`${url}/api/v1/approvals`, bob.token, {});
    expect((await acts()).at(-1)).toMatchObject({ who: 'bob', details: { refusedWithoutNote: '10' } });
  });

  test('that cannot be written stops every act and no question', async () => {
    const api = fakeApi();
    const audit: AuditLog = {
      append: () => Promise.reject(new Error('the disk is full')),
      tail: () => Promise.resolve([]),
      problem: () => Promise.resolve(undefined),
      close: () => Promise.resolve(),
    };
    const { url, log } = await serve({ api, audit }, { people: [ann] });
    const refused = await ask(`${url}/api/v1/approvals`, ann.token, { digest: HELD_DIGEST });
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('audit log')]);
    expect(api.calls).toEqual([]);
    expect(log.lines.join()).toContain('the disk is full');
    expect((await ask(`${url}/api/v1/status`, ann.token)).status).toBe(200);
  });

  test('is read through the API, with the role operate', async () => {
    const { url } = await serve({ api: fakeApi() }, { people: [ann, bob] });
    for (const digest of ['one', 'two']) await ask(`${url}/api/v1/approvals`, ann.token, { digest });
    const read = async (query: string, token: string) => (await ask(`${url}/api/v1/audit${query}`, token)).json();
    expect(await read('?limit=2', ann.token)).toMatchObject({
      items: [{ stage: 'asked', details: { digest: 'two' } }, { stage: 'refused' }],
    });
    expect(await read('', ann.token)).toMatchObject({ items: { length: 4 } });
    expect((await ask(`${url}/api/v1/audit`, bob.token)).status).toBe(403);
    for (const limit of ['0', 'x', '1.5', '10001']) {
      expect((await ask(`${url}/api/v1/audit?limit=${limit}`, ann.token)).status).toBe(400);
    }
  });
});
