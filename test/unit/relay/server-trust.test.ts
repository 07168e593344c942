import { beforeEach, describe, expect, test } from 'vitest';
import { TAKES_ROOTS } from '../../../src/model/agent/agent.ts';
import type { RegistrationAnswer, ServerTransport, TransportListener } from '../../../src/ports/transport.ts';
import { createRelayServer } from '../../../src/relay/server.ts';
import type { RelayServerOptions } from '../../../src/relay/server-state.ts';
import type { AgentCertificate } from '../../../src/relay/session.ts';
import { createStepTags } from '../../../src/relay/trust/step-tags.ts';
import type { TokenGenerations } from '../../../src/relay/trust/tokens.ts';
import { connectionToken } from '../../../src/relay/trust/tokens.ts';
import { registerRequestBytes } from '../../../src/relay/wire/frames.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import type { Identity } from '../../support/enrolled.ts';
import { createRelayHarness, type RelayHarness, SECRET, type Stranger } from '../../support/relay-harness.ts';
import { createFakeOwner, FLEET } from '../../support/relay-world.ts';
import {
  createScriptedAuthority,
  createScriptedRoots,
  type ScriptedAuthority,
} from '../../support/scripted-authority.ts';
import { createScriptedGenerations } from '../../support/scripted-generations.ts';
import { silentLog } from '../../support/silent-log.ts';
import { DAY_MS } from '../../support/test-authority.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

let authority: ScriptedAuthority;
let roots: ReturnType<typeof createScriptedRoots>;
let harness: RelayHarness;
let generations: TokenGenerations;
let shown: (AgentCertificate | undefined)[];

async function start(options: Partial<RelayServerOptions> = {}, issuing = true): Promise<void> {
  roots = createScriptedRoots('first');
  shown = [];
  generations = createScriptedGenerations();
  const owner = createFakeOwner();
  owner.admission = (_hello, certificate) => {
    shown.push(certificate);
    return { type: 'admitted' };
  };
  const deps = issuing ? { authority, roots, generations } : { roots, generations };
  harness = await createRelayHarness({}, owner, silentLog, { mode: 'mtls', ...options }, deps);
}

beforeEach(async () => {
  authority = await createScriptedAuthority(createVirtualClock());
  await start();
});

/** Opens a stream with what is shown and says hello. */
async function greet(identity: Identity, changes: Parameters<Stranger['hello']>[0] = {}): Promise<Stranger> {
  const stranger = harness.stranger('Pull', { identity });
  await stranger.hello(changes);
  await harness.clock.settle();
  return stranger;
}

async function endOf(stranger: Stranger): Promise<string> {
  await harness.clock.settle();
  return (await stranger.ended).reason;
}

/** Returns the end of a stranger with a wrong token, which the server delays. */
async function lateEndOf(stranger: Stranger): Promise<string> {
  await harness.clock.advance(1_000);
  return endOf(stranger);
}

describe('with mtls', () => {
  test('a certificate of the cluster and its id opens a stream, and the listener gets it', async () => {
    const stranger = await greet(await authority.certificate());
    expect((await stranger.hear())?.case).toBe('welcome');
    expect(shown).toMatchObject([{ issuedAt: harness.clock.now(), expiresAt: harness.clock.now() + 90 * DAY_MS }]);
  });

  test('a token opens none, also not the right one', async () => {
    for (const token of [connectionToken(SECRET, 'east'), 'frt1_wrong', null]) {
      const stranger = harness.stranger('Pull', { token });
      expect(await stranger.ended).toMatchObject({ code: 'unauthenticated', reason: 'CertificateNeeded' });
    }
    expect(harness.server.stats()).toMatchObject({ wrongTokens: 0, ended: { CertificateNeeded: 3 } });
  });

  test.each<[string, Parameters<ScriptedAuthority['certificate']>[0]]>([
    ['of another cluster', { cluster: 'west' }],
    ['of another cluster with the same id', { cluster: 'west', id: 'east-id' }],
    ['of another fleet', { fleet: 'other' }],
  ])('a certificate %s opens none', async (_what, options) => {
    const stranger = harness.stranger('Pull', { identity: await authority.certificate(options) });
    expect(await stranger.ended).toMatchObject({ code: 'unauthenticated', reason: 'CertificateMismatch' });
    expect(shown).toEqual([]);
  });

  test('nor one of another id, as the hello shows', async () => {
    const stranger = await greet(await authority.certificate({ id: 'other-id' }));
    expect(await stranger.ended).toMatchObject({ code: 'unauthenticated', reason: 'CertificateMismatch' });
    expect(shown).toEqual([]);
  });

  test('nor one whose time is over by the clock of the relay', async () => {
    const from = harness.clock.now() - 10_000;
    const stranger = await greet(await authority.certificate({ from, to: from + 10_000 }));
    expect(await stranger.ended).toMatchObject({ code: 'unauthenticated', reason: 'CertificateExpired' });
    expect(shown).toEqual([]);
  });

  test('an agent that the listener calls unproven enrols again', async () => {
    harness.owner.admission = () => ({ type: 'unproven', reason: 'CertificateRevoked', message: 'too old' });
    const stranger = await greet(await authority.certificate());
    expect(await stranger.ended).toEqual({ code: 'unauthenticated', reason: 'CertificateRevoked', message: 'too old' });
  });

  test('certificates of other authorities need only the name', async () => {
    await start({}, false);
    const stranger = await greet(await authority.certificate({ cluster: 'east' }));
    expect((await stranger.hear())?.case).toBe('welcome');
  });
});

describe('with tls', () => {
  beforeEach(() => start({ mode: 'tls', sharedToken: 'gloo-shared' }));

  test('the token of the cluster opens a stream, the shared one does not, a certificate does', async () => {
    const own = harness.stranger('Pull');
    await own.hello();
    expect((await own.hear())?.case).toBe('welcome');
    const shared = harness.stranger('Pull', { token: 'gloo-shared' });
    expect(await lateEndOf(shared)).toBe('WrongToken');
    expect(harness.server.stats().wrongTokens).toBe(1);
    expect((await (await greet(await authority.certificate())).hear())?.case).toBe('welcome');
  });

  test('a token that is wrong costs time and is counted at once; a bounded number is kept waiting', async () => {
    await start({ mode: 'tls', limits: { wrongTokensWaiting: 2 } });
    const strangers = [1, 2, 3].map(() => harness.stranger('Pull', { token: 'frt1_wrong' }));
    const ends: string[] = [];
    for (const { ended } of strangers) void ended.then(({ reason }) => ends.push(reason));
    await harness.clock.advance(999);
    expect(ends).toEqual(['Busy']);
    expect(harness.server.stats().wrongTokens).toBe(3);
    await harness.clock.advance(1);
    expect(ends).toEqual(['Busy', 'WrongToken', 'WrongToken']);
    expect(await lateEndOf(harness.stranger('Pull', { token: 'frt1_wrong' }))).toBe('WrongToken');
  });

  test('a certificate that is shown has to be right although a token would do', async () => {
    const identity = await authority.certificate({ cluster: 'west' });
    const stranger = harness.stranger('Pull', { identity, token: connectionToken(SECRET, 'east') });
    expect(await endOf(stranger)).toBe('CertificateMismatch');
  });
});

describe('the time of a certificate', () => {
  async function renew(identity: Identity, expiresAt: number): Promise<RegistrationAnswer> {
    authority.expiresAt = expiresAt;
    const request = { cluster: 'east', clusterId: 'east-id', version: '1.0.0', certificateRequest: Uint8Array.of(1) };
    const connection = harness.network.client.dial({ identity, roots: '' });
    return connection.register(registerRequestBytes(request), { 'fleetrelay-cluster': 'east' });
  }

  /** An agent that keeps to the protocol, with a certificate of this number of days. */
  async function connected(days: number): Promise<Identity> {
    const identity = await authority.certificate({ to: harness.clock.now() + days * DAY_MS });
    await harness.connect({
      certificates: { type: 'given', read: () => identity },
    });
    expect(harness.owner.sessions.size).toBe(1);
    return identity;
  }

  test('ends the stream that it has opened', async () => {
    await connected(1);
    expect(harness.server.stats().clients[0]?.certificate?.expiresAt).toBe(harness.clock.now() + DAY_MS);
    await harness.clock.advance(DAY_MS - 1);
    expect(harness.server.stats().ended).toEqual({});
    await harness.clock.advance(1);
    expect(harness.server.stats().ended).toMatchObject({ CertificateExpired: expect.any(Number) });
  });

  test('is extended by a newer one of the same agent, and the stream stays open', async () => {
    const identity = await connected(1);
    await harness.clock.advance(DAY_MS / 2);
    expect(await renew(identity, harness.clock.now() + DAY_MS)).toHaveProperty('response');
    const { issuedAt = 0, expiresAt } = harness.server.stats().clients[0]?.certificate ?? {};
    expect(expiresAt).toBe(harness.clock.now() + DAY_MS);
    expect(issuedAt).toBeLessThanOrEqual(harness.clock.now());
    await harness.clock.advance(DAY_MS - 1);
    expect(harness.server.stats().ended).toEqual({});
    await harness.clock.advance(1);
    expect(harness.server.stats().ended).toMatchObject({ CertificateExpired: expect.any(Number) });
  });

  test('counts for the newer ones that follow over its connection, also when it is over itself', async () => {
    const identity = await connected(1);
    for (let day = 0; day < 4; day += 1) {
      await harness.clock.advance(DAY_MS / 2);
      expect(await renew(identity, harness.clock.now() + DAY_MS)).toHaveProperty('response');
    }
    expect(harness.server.stats().ended).toEqual({});
    await harness.clock.advance(DAY_MS);
    expect(await renew(identity, harness.clock.now() + DAY_MS)).toMatchObject({
      refused: { reason: 'CertificateExpired' },
    });
  });

  test('leaves no timer behind when the stream ends before', async () => {
    const before = harness.clock.waiting();
    const stranger = await greet(await authority.certificate());
    expect(harness.clock.waiting()).toBeGreaterThan(before);
    harness.network.cut();
    await stranger.ended;
    await harness.clock.settle();
    expect(harness.clock.waiting()).toBe(before);
  });
});

describe('roots', () => {
  const hear = async (stranger: Stranger): Promise<unknown> => {
    for (;;) {
      const frame = await stranger.hear();
      if (frame?.case !== 'ping') return frame?.case === 'roots' ? frame.value.roots : frame?.case;
    }
  };

  test('follow the welcome, and each change, to an agent that takes them', async () => {
    const stranger = await greet(await authority.certificate(), { capabilities: [TAKES_ROOTS] });
    expect(await hear(stranger)).toBe('welcome');
    expect(await hear(stranger)).toBe('first');
    roots.say('second');
    expect(await hear(stranger)).toBe('second');
  });

  test('are not sent to an agent without the capability', async () => {
    const stranger = await greet(await authority.certificate());
    expect(await hear(stranger)).toBe('welcome');
    roots.say('second');
    await harness.clock.advance(10_000);
    harness.network.cut();
    expect(await hear(stranger)).toBeUndefined();
  });

  test('that the agent has not read yet are replaced by newer ones', async () => {
    const stranger = await greet(await authority.certificate(), { capabilities: [TAKES_ROOTS] });
    for (let change = 0; change < 200; change += 1) roots.say(`roots ${change}`);
    let last: unknown;
    for (let read = 0; read < 8 && last !== 'roots 199'; read += 1) last = await hear(stranger);
    expect(last).toBe('roots 199');
  });
});

describe('a token that is renewed', () => {
  const east = (generation?: number) => connectionToken(SECRET, 'east', generation);

  async function greetWith(token: string): Promise<Stranger> {
    const stranger = harness.stranger('Pull', { token });
    await stranger.hello();
    await harness.clock.settle();
    return stranger;
  }

  test('ends the streams that an earlier one has opened, of this cluster alone, and opens none any more', async () => {
    await start({ mode: 'tls' }, false);
    const stranger = await greetWith(east());
    expect((await stranger.hear())?.case).toBe('welcome');
    await generations.renew('west');
    await harness.clock.settle();
    expect(harness.server.stats().streams).toBe(1);
    await generations.renew('east');
    expect(await endOf(stranger)).toBe('TokenRenewed');
    expect(await lateEndOf(await greetWith(east()))).toBe('TokenRenewed');
    expect(harness.server.stats()).toMatchObject({ wrongTokens: 1, ended: { TokenRenewed: 2 } });
    const newest = await greetWith(east(1));
    expect((await newest.hear())?.case).toBe('welcome');
  });

  test('ends no stream that a certificate has opened', async () => {
    const stranger = await greet(await authority.certificate());
    expect((await stranger.hear())?.case).toBe('welcome');
    await generations.renew('east');
    await harness.clock.settle();
    expect(harness.server.stats().streams).toBe(1);
  });

  test('is not believed without TLS either, where none is needed', async () => {
    await start({ mode: 'insecure' }, false);
    await generations.renew('east');
    expect(await lateEndOf(await greetWith(east()))).toBe('TokenRenewed');
  });
});

test('whom the transport turns away by itself is counted, and logged once a minute', async () => {
  let listener: TransportListener | undefined;
  const transport: ServerTransport = {
    start: async (given) => {
      listener = given;
      return { host: '', port: 0 };
    },
    stop: async () => undefined,
  };
  const log = createRecordingLog();
  const clock = createVirtualClock();
  const tags = createStepTags([SECRET]);
  const server = createRelayServer(
    { transport, clock, log, tags },
    { fleet: FLEET, tokens: [SECRET], version: '1.0.0' },
  );
  await server.start(createFakeOwner());
  const refusal = { code: 'unavailable', reason: 'TooManyConnections', message: 'no room' } as const;
  for (const port of [1, 2, 3]) listener?.turnedAway?.(refusal, `10.0.0.1:${port}`);
  listener?.turnedAway?.(refusal, '10.0.0.2:1');
  expect(server.stats().ended).toEqual({ TooManyConnections: 4 });
  expect(log.lines).toHaveLength(2);
  await server.drain();
});
