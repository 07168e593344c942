import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { CertificateRequestFacts } from '../../../src/ports/certificate-authority.ts';
import type { RegistrationAnswer, StreamEnd } from '../../../src/ports/transport.ts';
import type { RelayLimits } from '../../../src/relay/limits.ts';
import type { RelayServerOptions } from '../../../src/relay/server-state.ts';
import type { RegistrationRequest } from '../../../src/relay/session.ts';
import { BACKDATE_MS } from '../../../src/relay/trust/certificates.ts';
import type { TokenGenerations } from '../../../src/relay/trust/tokens.ts';
import { registerRequestBytes } from '../../../src/relay/wire/frames.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import type { Identity } from '../../support/enrolled.ts';
import { createRelayHarness, EAST, type RelayHarness, SECRET } from '../../support/relay-harness.ts';
import { createFakeOwner, FLEET } from '../../support/relay-world.ts';
import {
  createScriptedAuthority,
  createScriptedRoots,
  type ScriptedAuthority,
} from '../../support/scripted-authority.ts';
import { createScriptedGenerations } from '../../support/scripted-generations.ts';
import { DAY_MS } from '../../support/test-authority.ts';
import { lastingToken } from '../../support/tokens.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const OTHER_SECRET = new Uint8Array(32).fill(9);
const URI = `spiffe://${FLEET}/cluster/east/id/east-id`;
const TOKEN = lastingToken(SECRET, EAST);

let authority: ScriptedAuthority;
let harness: RelayHarness;
let log: ReturnType<typeof createRecordingLog>;
let generations: TokenGenerations;

async function start(limits: Partial<RelayLimits> = {}, options: Partial<RelayServerOptions> = {}): Promise<void> {
  const roots = createScriptedRoots('the roots');
  log = createRecordingLog();
  generations = createScriptedGenerations();
  const given = { mode: 'mtls', ...options } as const;
  harness = await createRelayHarness(limits, createFakeOwner(), log, given, { authority, roots, generations });
}

beforeEach(async () => {
  authority = await createScriptedAuthority(createVirtualClock());
  await start();
});

interface Asking {
  readonly cluster?: string;
  /** What the message says, if that is another one. */
  readonly named?: string;
  readonly id?: string;
  readonly token?: string;
  readonly identity?: Identity;
  readonly request?: Uint8Array;
}

function ask({
  cluster = 'east',
  named = cluster,
  id = 'east-id',
  token,
  identity,
  request,
}: Asking): Promise<RegistrationAnswer> {
  const connection = harness.network.client.dial(identity === undefined ? undefined : { identity, roots: '' });
  const certificateRequest = request ?? Uint8Array.of(1);
  const bytes = registerRequestBytes({ cluster: named, clusterId: id, version: '1.0.0', certificateRequest });
  return connection.register(bytes, {
    'fleetrelay-cluster': cluster,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  });
}

/** Asks and lets so much time pass. */
async function refusalOf(asking: Asking, milliseconds = 1_000): Promise<StreamEnd> {
  const answering = ask(asking);
  await harness.clock.advance(milliseconds);
  const answer = await answering;
  if ('response' in answer) throw new Error('a certificate was issued');
  return answer.refused;
}

function requests(): RegistrationRequest[] {
  const heard: RegistrationRequest[] = [];
  harness.owner.registration = (request) => {
    heard.push(request);
    return { type: 'admitted' };
  };
  return heard;
}

describe('a token', () => {
  test('becomes a certificate whose every word is the choice of the server', async () => {
    const heard = requests();
    const answer = await ask({ token: TOKEN });
    expect(Buffer.from('response' in answer ? answer.response : '').toString()).toContain(`certificate of ${URI}`);
    expect(Buffer.from('response' in answer ? answer.response : '').toString()).toContain('the roots');
    const { publicKey } = authority.facts;
    const validFrom = harness.clock.now() - BACKDATE_MS;
    expect(authority.orders).toEqual([
      { publicKey, commonName: 'fleetrelay-agent', dnsName: 'east', uri: URI, validFrom },
    ]);
    const key = createHash('sha256').update(publicKey).digest('hex');
    expect(heard).toEqual([{ cluster: 'east', clusterId: 'east-id', proof: 'token', key }]);
    expect(harness.server.stats()).toMatchObject({ registrations: { Issued: 1 }, wrongTokens: 0 });
  });

  test('of either secret counts while there are two, and of one that was taken away no more', async () => {
    await start({}, { tokens: [OTHER_SECRET, SECRET] });
    expect(await ask({ token: TOKEN })).toHaveProperty('response');
    expect(await ask({ token: lastingToken(OTHER_SECRET, 'east') })).toHaveProperty('response');
    await start({}, { tokens: [OTHER_SECRET] });
    expect((await refusalOf({ token: TOKEN })).reason).toBe('WrongToken');
  });

  test.each<[string, Asking]>([
    ['of another cluster', { token: lastingToken(SECRET, 'west') }],
    ['of another cluster, for a name that is none', { cluster: 'Not A Name', token: TOKEN }],
    ['that is made up', { token: 'frt1_made-up' }],
    ['that is not there', {}],
  ])('%s costs time, is counted, and is refused in the same words', async (_what, asking) => {
    let refused: RegistrationAnswer | undefined;
    void ask(asking).then((answer) => {
      refused = answer;
    });
    await harness.clock.advance(999);
    expect(refused).toBeUndefined();
    await harness.clock.advance(1);
    const message = 'the token does not belong to this cluster name';
    expect(refused).toEqual({ refused: { code: 'unauthenticated', reason: 'WrongToken', message } });
    expect(harness.server.stats()).toMatchObject({ registrations: { WrongToken: 1 }, wrongTokens: 1 });
    expect(authority.orders).toEqual([]);
    expect(JSON.stringify(log.lines)).not.toContain('made-up');
  });

  test('that was renewed costs time, is counted, and is refused by name; the newest one enrols', async () => {
    await generations.renew('east');
    const refused = await refusalOf({ token: TOKEN });
    expect(refused).toMatchObject({
      code: 'unauthenticated',
      reason: 'TokenRenewed',
      message: expect.stringMatching(
        /was renewed.*fleetrelay cluster token east --data-dir DIR \(or .* --generation 1\)/,
      ),
    });
    expect(harness.server.stats()).toMatchObject({ registrations: { TokenRenewed: 1 }, wrongTokens: 1 });
    expect(await ask({ token: lastingToken(SECRET, EAST, 1) })).toHaveProperty('response');
    expect(await ask({ cluster: 'west', id: 'west-id', token: lastingToken(SECRET, 'west') })).toHaveProperty(
      'response',
    );
    await generations.renew('east');
    expect((await refusalOf({ token: lastingToken(SECRET, EAST, 1) })).reason).toBe('TokenRenewed');
  });

  test('of a renewal that was forgotten makes the earlier ones worthless again', async () => {
    expect(await ask({ token: TOKEN })).toHaveProperty('response');
    expect(await ask({ token: lastingToken(SECRET, EAST, 7) })).toHaveProperty('response');
    expect(generations.current('east')).toBe(7);
    expect((await refusalOf({ token: TOKEN })).reason).toBe('TokenRenewed');
  });

  test('of an invented generation reveals no renewal', async () => {
    await generations.renew('east');
    for (const token of ['frt1_made-up', TOKEN.replace('fre1_0_', 'fre1_2_'), TOKEN.replace('fre1_0_4', 'fre1_0_5')]) {
      expect((await refusalOf({ token })).reason).toBe('WrongToken');
    }
    expect(generations.current('east')).toBe(1);
  });

  test('that was renewed does not affect an agent with a certificate, also when it renews the certificate', async () => {
    const identity = await authority.certificate();
    await generations.renew('east');
    expect(await ask({ identity })).toHaveProperty('response');
  });

  test('that is wrong keeps a bounded number of callers waiting', async () => {
    await start({ wrongTokensWaiting: 2 });
    const wrong = { token: 'frt1_wrong' };
    const waiting = [ask(wrong), ask(wrong)];
    expect(await refusalOf(wrong, 0)).toMatchObject({ code: 'unavailable', reason: 'Busy' });
    await harness.clock.advance(1_000);
    expect(await Promise.all(waiting)).toMatchObject([
      { refused: { reason: 'WrongToken' } },
      { refused: { reason: 'WrongToken' } },
    ]);
    expect(harness.server.stats().wrongTokens).toBe(3);
    expect((await refusalOf(wrong)).reason).toBe('WrongToken');
  });

  test('that all clusters share is reported as the shared one', async () => {
    await start({}, { sharedToken: 'gloo shared'.replace(' ', '-') });
    const heard = requests();
    await ask({ token: 'gloo-shared' });
    await ask({ cluster: 'west', id: 'west-id', token: 'gloo-shared' });
    await ask({ token: TOKEN });
    expect(heard.map(({ cluster, proof }) => `${cluster} ${proof}`)).toEqual([
      'east shared',
      'west shared',
      'east token',
    ]);
    expect((await refusalOf({ token: 'gloo-share' })).reason).toBe('WrongToken');
  });
});

test('the owner is told of every refusal: whose name, from where, why, and whether a token proves the name', async () => {
  await refusalOf({ token: 'frt1_made-up' });
  await refusalOf({ token: TOKEN, id: 'no id' });
  await refusalOf({ cluster: 'Not A Name', token: TOKEN });
  const told = harness.owner.refusals.map(({ message: _, ...refusal }) => refusal);
  const caller = { cluster: 'east', address: 'memory', wasConnected: false };
  expect(told).toEqual([
    { ...caller, reason: 'WrongToken', isProven: false },
    { ...caller, reason: 'MalformedRequest', isProven: true },
  ]);
});

describe('a caller that registers often', () => {
  test('is told to retry later, also with a right token, and may register again after some time', async () => {
    await start({ registrationsPerCluster: { burst: 2, perSecond: 0.5 } });
    await ask({ token: TOKEN });
    await refusalOf({ token: TOKEN, id: 'no id' });
    const refused = await refusalOf({ token: TOKEN }, 0);
    expect(refused).toMatchObject({ code: 'unavailable', reason: 'RateLimited' });
    expect(refused.message).toContain('1 s');
    await harness.clock.advance(1_000);
    expect(await ask({ token: TOKEN })).toHaveProperty('response');
    expect(harness.server.stats().registrations).toEqual({ Issued: 2, MalformedRequest: 1, RateLimited: 1 });
  });

  test('and is not admitted yet loses none of its registrations; a caller who asks without end does', async () => {
    const rate = { burst: 1, perSecond: 0.001 };
    const patience = { burst: 5, perSecond: 0.001 };
    await start({ registrationsPerCluster: rate, registrations: rate, registrationsNotAdmitted: patience });
    const { registration } = harness.owner;
    harness.owner.registration = () => ({ type: 'retry', reason: 'ServerStarting', message: 'not ready yet' });
    for (let time = 0; time < 5; time += 1) {
      expect(await refusalOf({ token: TOKEN }, 0)).toMatchObject({ reason: 'ServerStarting' });
    }
    harness.owner.registration = registration;
    expect(await ask({ token: TOKEN })).toHaveProperty('response');
    expect(await refusalOf({ token: TOKEN }, 0)).toMatchObject({ reason: 'RateLimited', retryAfterMs: 1_000_000 });
  });

  test('for another name takes nothing of the patience with this one', async () => {
    const rate = { burst: 1, perSecond: 0.001 };
    await start({ registrationsPerCluster: rate, registrationsNotAdmitted: rate });
    harness.owner.registration = () => ({ type: 'refused', reason: 'UnknownCluster', message: 'not declared' });
    const west = { cluster: 'west', id: 'west-id', token: lastingToken(SECRET, 'west') };
    const reasons = async (asking: Asking): Promise<readonly string[]> => [
      (await refusalOf(asking, 0)).reason,
      (await refusalOf(asking, 0)).reason,
      (await refusalOf(asking, 0)).reason,
    ];
    expect(await reasons({ token: TOKEN })).toEqual(['UnknownCluster', 'UnknownCluster', 'RateLimited']);
    expect(await reasons(west)).toEqual(['UnknownCluster', 'UnknownCluster', 'RateLimited']);
  });

  test('loses nothing to strangers at its own address, which complete fleets share behind a balancer', async () => {
    const rate = { burst: 2, perSecond: 0.001 };
    await start({ registrationsPerCluster: rate, registrationsPerAddress: rate });
    for (let stranger = 0; stranger < 5; stranger += 1) await refusalOf({ token: 'frt1_wrong' });
    expect(await refusalOf({ token: 'frt1_wrong' }, 0)).toMatchObject({ reason: 'RateLimited' });
    expect(await ask({ token: TOKEN })).toHaveProperty('response');
    expect(await ask({ identity: await authority.certificate() })).toHaveProperty('response');
    const west = { cluster: 'west', id: 'west-id', token: lastingToken(SECRET, 'west') };
    expect(await refusalOf({ token: TOKEN }, 0)).toMatchObject({ reason: 'RateLimited' });
    expect(await ask(west)).toHaveProperty('response');
  });

  test('and guesses the token that all share, does not learn that it was right', async () => {
    await start({ registrationsPerAddress: { burst: 2, perSecond: 0.001 } }, { sharedToken: 'guessable' });
    for (let guess = 0; guess < 2; guess += 1) await refusalOf({ token: 'guess' });
    expect(await refusalOf({ token: 'guessable' }, 0)).toMatchObject({ reason: 'RateLimited' });
  });

  test('for all together there is a limit too, which strangers do not use up', async () => {
    await start({ registrations: { burst: 1, perSecond: 0.1 } });
    for (let stranger = 0; stranger < 5; stranger += 1) await refusalOf({ token: 'frt1_wrong' });
    expect(await ask({ token: TOKEN })).toHaveProperty('response');
    expect(await refusalOf({ token: TOKEN }, 0)).toMatchObject({ code: 'unavailable', reason: 'RateLimited' });
  });
});

describe('a request', () => {
  const facts = (changes: Partial<CertificateRequestFacts>): void => {
    authority.facts = { ...authority.facts, ...changes };
  };

  test.each<[string, () => void, string]>([
    ['with another name', () => facts({ names: [{ type: 'DNS', value: 'west' }] }), 'OtherName'],
    ['with the CA bit', () => facts({ authority: true }), 'AuthorityAsked'],
    ['that its key has not signed', () => facts({ proven: false }), 'BadSignature'],
    ['with a key that is none', () => facts({ publicKey: Uint8Array.of(1, 2) }), 'WeakKey'],
  ])('%s is refused', async (_what, spoil, reason) => {
    spoil();
    expect(await refusalOf({ token: TOKEN })).toMatchObject({ code: 'invalid', reason });
    expect(authority.orders).toEqual([]);
    expect(harness.server.stats().registrations).toEqual({ [reason]: 1 });
  });

  test.each<[string, Asking, string]>([
    ['that is too large', { request: new Uint8Array(8 * 1024 + 1) }, 'RequestTooLarge'],
    ['that is far too large', { request: new Uint8Array(64 * 1024) }, 'RequestTooLarge'],
    ['with an id that is none', { id: 'no id' }, 'MalformedRequest'],
    ['for another cluster than its token', { named: 'west' }, 'CertificateMismatch'],
  ])('%s is refused', async (_what, asking, reason) => {
    expect((await refusalOf({ token: TOKEN, ...asking })).reason).toBe(reason);
    expect(authority.orders).toEqual([]);
  });

  test('that does not arrive is awaited for a short time, and not at all of a stranger', async () => {
    harness.network.questionsArrive = false;
    expect(await refusalOf({ token: 'frt1_wrong' }, 1_000)).toMatchObject({ reason: 'WrongToken' });
    expect(await refusalOf({ token: TOKEN }, 10_000)).toMatchObject({ code: 'invalid', reason: 'NoRequest' });
  });

  test('that is no message at all is refused', async () => {
    const connection = harness.network.client.dial();
    const metadata = { 'fleetrelay-cluster': 'east', authorization: `Bearer ${TOKEN}` };
    const answer = await connection.register(Buffer.from('nonsense'), metadata);
    expect(answer).toMatchObject({ refused: { code: 'invalid', reason: 'MalformedRequest' } });
  });
});

describe('the word of the listener', () => {
  test.each([
    ['retry', 'unavailable'],
    ['refused', 'refused'],
    ['unproven', 'unauthenticated'],
  ] as const)('"%s" reaches the agent', async (type, code) => {
    harness.owner.registration = () => ({ type, reason: 'BecauseOfTest', message: 'not now' });
    expect(await refusalOf({ token: TOKEN })).toEqual({ code, reason: 'BecauseOfTest', message: 'not now' });
    expect(authority.orders).toEqual([]);
  });
});

describe('a certificate instead of a token', () => {
  test('is renewed for the same cluster and id', async () => {
    const heard = requests();
    const identity = await authority.certificate();
    expect(await ask({ identity })).toHaveProperty('response');
    expect(heard).toMatchObject([{ cluster: 'east', clusterId: 'east-id', proof: 'certificate' }]);
    expect(heard[0]?.certificate).toMatchObject({
      issuedAt: harness.clock.now(),
      expiresAt: harness.clock.now() + 90 * DAY_MS,
    });
    expect(harness.server.stats().registrations).toEqual({ Renewed: 1 });
  });

  test.each<[string, Parameters<ScriptedAuthority['certificate']>[0], Asking]>([
    ['of another cluster', { cluster: 'west' }, {}],
    ['of another id', { id: 'other-id' }, {}],
    ['of another fleet', { fleet: 'other' }, {}],
    ['for another id', {}, { id: 'other-id' }],
    ['for another cluster', {}, { cluster: 'west' }],
    ['for another cluster in the message', {}, { named: 'west' }],
    // Even where a token would do.
    ['of another cluster beside a right token', { cluster: 'west' }, { token: TOKEN }],
  ])('%s is refused, at once', async (_what, options, asking) => {
    const identity = await authority.certificate(options);
    expect(await refusalOf({ identity, ...asking }, 0)).toMatchObject({
      code: 'unauthenticated',
      reason: 'CertificateMismatch',
    });
    expect(authority.orders).toEqual([]);
  });
});

describe('a certificate whose time is over', () => {
  test('is not renewed over a connection from before', async () => {
    const identity = await authority.certificate();
    await harness.clock.advance(90 * DAY_MS);
    expect(await refusalOf({ identity })).toMatchObject({ code: 'unauthenticated', reason: 'CertificateExpired' });
    expect(authority.orders).toEqual([]);
  });
});

describe('a server', () => {
  test('that issues no certificates answers NotOffered', async () => {
    harness = await createRelayHarness();
    expect(await refusalOf({ token: TOKEN }, 0)).toMatchObject({ code: 'refused', reason: 'NotOffered' });
  });

  test('that cannot sign reveals no details', async () => {
    authority.failure = new Error('the disk of /secret/place is gone');
    const refused = await refusalOf({ token: TOKEN });
    expect(refused).toMatchObject({ code: 'unavailable', reason: 'Internal' });
    expect(refused.message).not.toContain('secret');
    expect(log.lines.map(({ text }) => text)).toContain('error: relay: a registration failed');
  });
});
