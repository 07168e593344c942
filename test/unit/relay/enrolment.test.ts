import { X509Certificate } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import type { AgentCredentials } from '../../../src/ports/credentials.ts';
import type { StreamEnd } from '../../../src/ports/transport.ts';
import type { ClientTrust, TrustedConnection } from '../../../src/relay/trust/client-trust.ts';
import { createEnrolmentWorld, type EnrolmentWorld, good, LIFE_MS } from '../../support/enrolment-world.ts';
import { eventually } from '../../support/relay-poll.ts';
import { FLEET } from '../../support/relay-world.ts';
import { createTestAuthority, DAY_MS } from '../../support/test-authority.ts';

const NEVER = new AbortController().signal;
const TOKEN = { 'fleetrelay-cluster': 'east', authorization: 'Bearer frt1_token' };
const NO_TOKEN = { 'fleetrelay-cluster': 'east' };
const NOT_OFFERED: StreamEnd = { code: 'refused', reason: 'NotOffered', message: 'this server issues no certificates' };
const WRONG_TOKEN: StreamEnd = { code: 'unauthenticated', reason: 'WrongToken', message: 'the token is not that' };
const REVOKED: StreamEnd = { code: 'unauthenticated', reason: 'CertificateRevoked', message: 'revoked' };

let world: EnrolmentWorld;

beforeEach(async () => {
  world = await createEnrolmentWorld();
});

function open(trust: ClientTrust): Promise<TrustedConnection | StreamEnd> {
  return trust.open(FLEET, NEVER);
}

function held(): AgentCredentials {
  if (world.memory.held === undefined) throw new Error('nothing is held');
  return world.memory.held;
}

/** How many times a log line of this text was written. */
function said(text: string): number {
  return world.log.lines.filter((line) => line.text.includes(text)).length;
}

describe('an agent without a certificate', () => {
  test('enrols with its token, saves the pair, and shows it without the token', async () => {
    const trust = world.agent();
    const { metadata, shown } = good(await open(trust));
    expect(world.asked).toEqual([{ metadata: TOKEN, shown: { roots: '' } }]);
    expect(metadata).toEqual(NO_TOKEN);
    expect(shown).toBe(held().certificate);
    const { key, certificate } = held();
    expect(world.dialled.at(-1)).toEqual({ identity: { key, certificate }, roots: world.roots });
    expect(trust.expiresAt()).toBe(world.clock.now() + LIFE_MS);
    expect(JSON.stringify(world.log.lines)).not.toContain('PRIVATE KEY');
  });

  test('enrols once: the next link and the next process show the stored certificate', async () => {
    const trust = world.agent();
    const first = good(await open(trust));
    trust.ended(first, { code: 'lost', reason: 'ConnectionLost', message: '' });
    expect(good(await open(trust)).shown).toBe(first.shown);
    expect(good(await open(world.agent())).shown).toBe(first.shown);
    expect(world.asked).toHaveLength(1);
  });

  test('shows its token while the server issues no certificates, and enrols when the server refuses it', async () => {
    world.refusal = NOT_OFFERED;
    const trust = world.agent();
    const first = good(await open(trust));
    expect(first.metadata).toEqual(TOKEN);
    expect(first.shown).toBeUndefined();
    expect(world.memory.saved).toEqual([]);
    trust.ended(first, { code: 'lost', reason: 'ConnectionLost', message: '' });
    const second = good(await open(trust));
    expect(world.asked, 'it is not asked at each link').toHaveLength(1);
    world.refusal = undefined;
    trust.ended(second, { code: 'unauthenticated', reason: 'CertificateNeeded', message: '' });
    expect(good(await open(trust)).shown).toBe(held().certificate);
  });

  test('follows its server to tokens and back with the pair that it has', async () => {
    const trust = world.agent();
    const first = good(await open(trust));
    world.refusal = NOT_OFFERED;
    trust.ended(first, WRONG_TOKEN);
    const second = good(await open(trust));
    expect(second).toMatchObject({ metadata: TOKEN });
    trust.ended(second, { code: 'unauthenticated', reason: 'CertificateNeeded', message: '' });
    expect(good(await open(trust)).shown).toBe(first.shown);
    expect(world.asked).toHaveLength(2);
  });

  test('asks for the same key until it gets a certificate, also as a new process', async () => {
    world.refusal = { code: 'refused', reason: 'WaitsForAcceptance', message: 'a person must accept it' };
    await open(world.agent());
    const { requestedKey } = held();
    expect(requestedKey).toContain('PRIVATE KEY');
    const next = world.agent();
    await open(next);
    world.refusal = undefined;
    good(await open(next));
    expect(held()).toMatchObject({ key: requestedKey, requestedKey: '' });
    expect(world.asked).toHaveLength(3);
  });

  test('asks for the key that another replica has saved first', async () => {
    world.refusal = { code: 'lost', reason: 'ConnectionLost', message: '' };
    await open(world.agent());
    const { requestedKey } = held();
    world.refusal = undefined;
    const reader = world.memory.open();
    let loads = 0;
    // Its first look comes before the key of the other replica is saved.
    const load = async () => (loads++ === 0 ? undefined : reader.load());
    good(await open(world.agent({ ...reader, load })));
    expect(held().key).toBe(requestedKey);
  });

  test('replaces a stored key that is damaged', async () => {
    world.memory.held = { key: '', certificate: '', roots: '', requestedKey: 'no key' };
    good(await open(world.agent()));
    expect(held()).toMatchObject({ requestedKey: '' });
    expect(said('the stored key of an enrolment cannot be used')).toBe(1);
  });

  test('reports the remedy for a wrong token', async () => {
    world.refusal = WRONG_TOKEN;
    const end = await open(world.agent());
    expect(end).toMatchObject({ code: 'unauthenticated', reason: 'WrongToken' });
    expect(end).toMatchObject({
      message: expect.stringMatching(
        /no certificate yet.*fleetrelay cluster token east --data-dir DIR \(or --relay-secret-file FILE\)/,
      ),
    });
  });

  test('reports that its token cannot be read', async () => {
    world.token = new Error('the token file /t cannot be read (ENOENT)');
    expect(await open(world.agent())).toMatchObject({ reason: 'BadSettings', message: /\/t cannot be read/ });
    expect(world.asked).toEqual([]);
  });

  test.each([
    ['for another name', { names: ['west'] }, 'it is for west'],
    ['for another cluster', { uri: 'spiffe://fleet/cluster/west/id/east-id' }, 'for the cluster west'],
    ['for another cluster id', { uri: 'spiffe://fleet/cluster/east/id/other' }, 'another cluster of this name'],
    ['without a cluster id', { uri: 'spiffe://east' }, 'does not say'],
    ['that is none', { garbage: true as const }, 'no answer to a registration'],
  ])('takes no certificate %s', async (_what, wrongly, message) => {
    world.wrongly = wrongly;
    expect(await open(world.agent())).toMatchObject({ code: 'invalid', message: expect.stringContaining(message) });
    expect(world.memory.saved).toEqual([]);
  });

  test('refuses a certificate for another key', async () => {
    const { authority } = world;
    const other = await createEnrolmentWorld();
    await open(other.agent());
    const { certificate } = other.memory.held ?? { certificate: '' };
    world.authority = { ...authority, issue: async () => certificate };
    expect(await open(world.agent())).toMatchObject({ reason: 'WrongCertificate' });
  });
});

describe('a pair that is not to be shown', () => {
  async function enrolledAs(uri?: string): Promise<void> {
    await open(world.agent());
    if (uri === undefined) return;
    const { key } = held();
    // The same key, so that nothing but the name is wrong.
    const { createTestRequest } = await import('../../support/test-request.ts');
    const request = await createTestRequest(key);
    const said = { names: ['east'], uri, from: world.clock.now() - 1000, to: world.clock.now() + LIFE_MS };
    world.memory.held = { ...held(), certificate: await world.authority.issue(request, said) };
  }

  test.each([
    ['another cluster id', 'spiffe://fleet/cluster/east/id/old'],
    ['another cluster', 'spiffe://fleet/cluster/west/id/east-id'],
    ['another fleet', 'spiffe://other/cluster/east/id/east-id'],
  ])('is one of %s: it is replaced', async (_what, uri) => {
    await enrolledAs(uri);
    const before = held().certificate;
    const { shown } = good(await open(world.agent()));
    expect(world.asked).toHaveLength(2);
    expect(shown).not.toBe(before);
  });

  test('of its own cluster and fleet it is shown', async () => {
    await enrolledAs('spiffe://fleet/cluster/east/id/east-id');
    expect(good(await open(world.agent())).shown).toBe(held().certificate);
    expect(world.asked).toHaveLength(1);
  });

  test('a server of another fleet is asked once, not at every link', async () => {
    world.fleet = 'other';
    const trust = world.agent();
    const first = good(await open(trust));
    trust.ended(first, { code: 'refused', reason: 'OtherFleet', message: '' });
    good(await open(trust));
    expect(world.asked).toHaveLength(1);
  });

  test('one whose time is over is replaced with a token', async () => {
    await enrolledAs();
    await world.clock.advance(LIFE_MS);
    world.chain = [await world.authority.server(world.clock.now() - 1, world.clock.now() + DAY_MS)];
    good(await open(world.agent()));
    expect(world.asked).toHaveLength(2);
    expect(world.asked[1]).toMatchObject({ metadata: TOKEN });
    expect(new X509Certificate(held().certificate).validToDate.getTime()).toBe(world.clock.now() + LIFE_MS);
  });

  test('a certificate with another key is logged and replaced', async () => {
    await enrolledAs();
    const other = await createEnrolmentWorld();
    await open(other.agent());
    world.memory.held = { ...held(), key: other.memory.held?.key ?? '' };
    good(await open(world.agent()));
    expect(said('the stored client certificate cannot be used')).toBe(1);
    expect(world.asked).toHaveLength(2);
  });

  test.each(['CertificateRevoked', 'CertificateUnknown', 'CertificateExpired', 'WrongToken'])(
    'one that the server refuses (%s) is replaced',
    async (reason) => {
      const trust = world.agent();
      const first = good(await open(trust));
      trust.ended(first, { ...REVOKED, reason });
      const second = good(await open(trust));
      expect(second.shown).not.toBe(first.shown);
      expect(world.asked[1]).toMatchObject({ metadata: TOKEN, shown: { roots: world.roots } });
      expect(world.asked[1]?.shown).not.toHaveProperty('identity');
    },
  );

  test('one that is refused while the token is wrong stays, and is tried again now and then', async () => {
    const trust = world.agent();
    const first = good(await open(trust));
    world.refusal = WRONG_TOKEN;
    trust.ended(first, REVOKED);
    const attempts: boolean[] = [];
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const opened = await open(trust);
      attempts.push('connection' in opened);
      if ('connection' in opened) trust.ended(opened, REVOKED);
      else expect(opened.message).toContain('does not take its certificate any more');
    }
    expect(attempts.filter((shown) => shown)).toHaveLength(2);
    expect(held().certificate).toBe(first.shown);
  });

  test('the refusal of an older certificate does not put the newer one in doubt', async () => {
    const trust = world.agent();
    const first = good(await open(trust));
    trust.ended(first, REVOKED);
    const second = good(await open(trust));
    trust.ended(first, { ...REVOKED, reason: 'CertificateExpired' });
    expect(good(await open(trust)).shown).toBe(second.shown);
    expect(world.asked).toHaveLength(2);
  });

  test('a certificate that another replica has saved meanwhile is shown instead of enrolling', async () => {
    const one = world.agent();
    const first = good(await open(one));
    const other = world.agent();
    other.ended(good(await open(other)), REVOKED);
    const second = good(await open(other));
    one.ended(first, REVOKED);
    expect(good(await open(one)).shown).toBe(second.shown);
    expect(world.asked).toHaveLength(2);
  });
});

describe('a clock that differs', () => {
  test.each([
    ['years ahead', 5 * 365 * DAY_MS],
    ['years behind', -5 * 365 * DAY_MS],
  ])('by %s does not make an agent enrol at each link', async (_what, offset) => {
    const agentsClock = await createEnrolmentWorld(world.clock.now() + offset);
    agentsClock.authority = {
      ...world.authority,
      issue: (request, { names, uri }) =>
        world.authority.issue(request, {
          ...(names === undefined ? {} : { names }),
          ...(uri === undefined ? {} : { uri }),
          from: world.clock.now(),
          to: world.clock.now() + LIFE_MS,
        }),
    };
    const trust = agentsClock.agent();
    const first = good(await open(trust));
    expect(good(await open(trust)).shown).toBe(first.shown);
    expect(agentsClock.asked).toHaveLength(1);
    expect(trust.expiresAt()).toBe(agentsClock.clock.now() + LIFE_MS);
  });
});

describe('saving', () => {
  test('precedes showing; an issued certificate that cannot be saved is kept for the next attempt', async () => {
    const trust = world.agent();
    const store = world.memory;
    await trust.open(FLEET, AbortSignal.abort());
    expect(store.saved).toHaveLength(1);

    world = await createEnrolmentWorld();
    const other = world.agent();
    world.refusal = undefined;
    world.memory.problem = 'the disk is full';
    expect(await open(other)).toMatchObject({ reason: 'CredentialsUnreadable', message: 'memory: the disk is full' });
    world.memory.problem = undefined;
    const { authority } = world;
    world.authority = {
      ...authority,
      issue: (request, certificate) => {
        world.memory.problem = 'the disk is full';
        return authority.issue(request, certificate);
      },
    };
    expect(await open(other)).toMatchObject({ reason: 'CredentialsUnsaved', message: /the disk is full/ });
    expect(world.dialled, 'nothing is shown that was not saved').toHaveLength(1);
    expect(await open(other)).toMatchObject({ reason: 'CredentialsUnsaved' });
    world.memory.problem = undefined;
    expect(good(await open(other)).shown).toBe(held().certificate);
    expect(world.asked).toHaveLength(1);
  });

  test('is not needed where the store went away after it was read', async () => {
    const trust = world.agent();
    const first = good(await open(trust));
    trust.ended(first, REVOKED);
    world.memory.problem = 'away';
    world.refusal = NOT_OFFERED;
    expect(good(await open(trust)).metadata).toEqual(TOKEN);
  });

  test('a process that ends between the answer and the save leaves the stored certificate as it was', async () => {
    good(await open(world.agent()));
    const before = held();
    await world.clock.advance(LIFE_MS * 0.7);
    world.memory.problem = 'the process is gone';
    await open(world.agent());
    world.memory.problem = undefined;
    expect(good(await open(world.agent())).shown).toBe(before.certificate);
  });
});

describe('renewing', () => {
  async function renewed(count: number): Promise<void> {
    await eventually(`${count} sets were saved`, () => world.memory.saved.length === count);
  }

  test('happens at two thirds of the life, with the certificate instead of the token, as often as it is due', async () => {
    const trust = world.agent();
    const over = new AbortController();
    trust.keep(good(await open(trust)), over.signal);
    await world.clock.advance(LIFE_MS * 0.66);
    expect(world.asked).toHaveLength(1);
    await world.clock.advance(LIFE_MS * 0.01);
    await renewed(2);
    expect(world.asked[1]).toMatchObject({ metadata: NO_TOKEN, shown: { identity: {} } });
    expect(trust.expiresAt()).toBe(new X509Certificate(held().certificate).validToDate.getTime());
    expect(good(await open(trust)).shown).toBe(held().certificate);
    await world.clock.advance(LIFE_MS * 0.67);
    await renewed(3);
    over.abort();
    await world.clock.advance(LIFE_MS);
    expect(world.asked).toHaveLength(3);
    expect(world.clock.waiting()).toBe(0);
  });

  test('is due at once on a link of a process that found an older pair', async () => {
    good(await open(world.agent()));
    await world.clock.advance(LIFE_MS * 0.8);
    const trust = world.agent();
    const over = new AbortController();
    trust.keep(good(await open(trust)), over.signal);
    await renewed(2);
    over.abort();
  });

  test('is retried with growing pauses, and warned of once a day and reason; the old pair stays', async () => {
    const trust = world.agent();
    const over = new AbortController();
    const first = good(await open(trust));
    trust.keep(first, over.signal);
    world.prepared = await createCertificateRequests().create();
    world.refusal = { code: 'unavailable', reason: 'RateLimited', message: 'too many' };
    await world.clock.advance(LIFE_MS * 0.66);
    await world.clock.advance(LIFE_MS * 0.3);
    const tries = world.asked.length - 1;
    // At most one an hour, after the first ones.
    expect(tries).toBeGreaterThan(20);
    expect(tries).toBeLessThan((1.4 * LIFE_MS * 0.3) / (60 * 60 * 1000) + 10);
    const days = (LIFE_MS * 0.3) / DAY_MS;
    expect(said('the client certificate could not be renewed')).toBeGreaterThanOrEqual(Math.floor(days) - 1);
    expect(said('the client certificate could not be renewed')).toBeLessThanOrEqual(days + 1);
    expect(held().certificate).toBe(first.shown);
    expect(good(await open(trust)).shown).toBe(first.shown);
    world.refusal = undefined;
    world.prepared = undefined;
    await world.clock.advance(LIFE_MS * 0.02);
    await renewed(2);
    over.abort();
  });

  test('of a short life it is tried often enough, and never in a storm', async () => {
    world.lifeMs = 30_000;
    const trust = world.agent();
    const over = new AbortController();
    trust.keep(good(await open(trust)), over.signal);
    world.prepared = await createCertificateRequests().create();
    world.refusal = { code: 'lost', reason: 'ConnectionLost', message: '' };
    await world.clock.advance(29_000);
    expect(world.asked.length - 1).toBeGreaterThanOrEqual(3);
    await world.clock.advance(600_000);
    expect(world.asked.length - 1).toBeLessThan(1_000);
    over.abort();
  });

  test('does not happen with a token alone', async () => {
    world.refusal = NOT_OFFERED;
    const trust = world.agent();
    trust.keep(good(await open(trust)), NEVER);
    await world.clock.advance(10 * LIFE_MS);
    expect(world.asked).toHaveLength(1);
  });
});

describe('roots', () => {
  async function take(trust: ClientTrust, roots: string): Promise<void> {
    trust.takeRoots(good(await open(trust)), roots);
    await trust.settled();
  }

  test('are taken if the server that names them is believed by them, and replace those before', async () => {
    const trust = world.agent();
    good(await open(trust));
    const next = await createTestAuthority(world.clock.now(), world.clock.now() + 400 * DAY_MS);
    const both = `${world.authority.root}${next.root}`;
    await take(trust, both);
    expect(held().roots).toBe(both);
    expect(world.dialled.at(-1)).toMatchObject({ roots: world.authority.root });
    good(await open(trust));
    expect(world.dialled.at(-1)).toMatchObject({ roots: both });
    // The server goes over to its new root, and drops the old one.
    world.chain = [await next.server(world.clock.now(), world.clock.now() + DAY_MS)];
    await take(trust, next.root);
    expect(held().roots).toBe(next.root);
  });

  test.each(['other', 'expired', 'garbage', 'empty', 'leaf'])('%s ones are not', async (which) => {
    const trust = world.agent();
    good(await open(trust));
    const { now } = world.clock;
    const roots = {
      other: (await createTestAuthority(now(), now() + DAY_MS)).root,
      expired: (await createTestAuthority(now() - 2 * DAY_MS, now() - DAY_MS)).root,
      garbage: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      empty: ' ',
      leaf: held().certificate,
    }[which];
    await take(trust, roots ?? '');
    expect(held().roots).toBe(world.authority.root);
    expect(world.memory.saved).toHaveLength(1);
    expect(said('they are ignored')).toBe(which === 'empty' ? 0 : 1);
  });

  test('in an answer that does not fit leave those before; the certificate counts', async () => {
    world.roots = (await createTestAuthority(world.clock.now(), world.clock.now() + DAY_MS)).root;
    const { shown } = good(await open(world.agent()));
    expect(held()).toMatchObject({ certificate: shown, roots: '' });
    expect(said('those known before stay')).toBe(1);
  });

  test('are kept without a certificate as well', async () => {
    world.refusal = NOT_OFFERED;
    const trust = world.agent();
    await take(trust, world.authority.root);
    expect(held()).toMatchObject({ key: '', certificate: '', roots: world.authority.root });
    good(await open(world.agent()));
    expect(world.dialled.at(-1)).toEqual({ roots: world.authority.root });
  });

  test('that arrive while a certificate is renewed are not lost, in either order', async () => {
    const trust = world.agent();
    const opened = good(await open(trust));
    const next = await createTestAuthority(world.clock.now(), world.clock.now() + 400 * DAY_MS);
    const both = `${world.authority.root}${next.root}`;
    world.roots = '';
    const over = new AbortController();
    trust.keep(opened, over.signal);
    await world.clock.advance(LIFE_MS * 0.67);
    trust.takeRoots(opened, both);
    await eventually('both were saved', () => world.memory.saved.length === 3);
    over.abort();
    expect(held()).toMatchObject({ roots: both });
    expect(held().certificate).not.toBe(opened.shown);
  });

  test('an authority between the root and the server is followed', async () => {
    const { now } = world.clock;
    const between = await world.authority.below(now() - 1, now() + DAY_MS);
    const intermediate = new X509Certificate(between.root).raw;
    world.chain = [await between.server(now() - 1, now() + DAY_MS), intermediate];
    const next = await createTestAuthority(now(), now() + DAY_MS);
    const trust = world.agent();
    await take(trust, `${next.root}${world.authority.root}`);
    expect(held().roots).toContain(next.root);
    // Without its own root an authority ends no chain: the platform would not believe it either.
    await take(trust, between.root);
    expect(held().roots).toContain(next.root);
  });
});
