import { beforeEach, describe, expect, test } from 'vitest';
import type { RegistrationAnswer } from '../../src/ports/transport.ts';
import { type OpenedAcceptances, openAcceptances } from '../../src/relay/trust/acceptances.ts';
import { enrolmentToken } from '../../src/relay/trust/enrolment-tokens.ts';
import type { PrivateFile } from '../../src/relay/trust/joined-record.ts';
import { type OpenedRevokedCertificates, openRevokedCertificates } from '../../src/relay/trust/revoked-certificates.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { type OpenedUsedTokens, openUsedTokens } from '../../src/relay/trust/used-tokens.ts';
import { registerRequestBytes } from '../../src/relay/wire/frames.ts';
import { createRelayHarness, EAST, type RelayHarness, SECRET } from '../support/relay-harness.ts';
import { createFakeOwner } from '../support/relay-world.ts';
import { createScriptedAuthority, type ScriptedAuthority } from '../support/scripted-authority.ts';
import { createSharedMemory, type SharedMemory } from '../support/shared-memory-store.ts';
import { silentLog } from '../support/silent-log.ts';
import { lastingToken } from '../support/tokens.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const DAY_SECONDS = 24 * 60 * 60;
const SHARED = 'a-token-that-all-clusters-share';

interface Records {
  readonly usedTokens: OpenedUsedTokens;
  readonly revoked: OpenedRevokedCertificates;
  readonly acceptances: OpenedAcceptances;
}

let clock: VirtualClock;
let memory: SharedMemory;
let authority: ScriptedAuthority;
let records: Records;
let harness: RelayHarness;

/** A file that is only in memory. */
function fileInMemory(): PrivateFile {
  let content: Uint8Array | undefined;
  return {
    path: 'memory',
    read: async () => content,
    write: async (bytes) => {
      content = bytes;
    },
  };
}

async function openRecords(): Promise<Records> {
  const deps = () => ({ file: fileInMemory(), store: memory.open(), clock, log: silentLog });
  return {
    usedTokens: await openUsedTokens(deps()),
    revoked: await openRevokedCertificates(deps()),
    acceptances: await openAcceptances(deps()),
  };
}

/** A replica that shares the store. */
async function startReplica(): Promise<{ readonly harness: RelayHarness; readonly records: Records }> {
  const own = await openRecords();
  const options = { mode: 'mtls', sharedToken: SHARED } as const;
  const replica = await createRelayHarness({}, createFakeOwner(), silentLog, options, { authority, ...own });
  return { harness: replica, records: own };
}

beforeEach(async () => {
  clock = createVirtualClock();
  memory = createSharedMemory();
  authority = await createScriptedAuthority(clock);
  ({ harness, records } = await startReplica());
});

/** Makes the next requests be for this key. */
function withKey(key: Uint8Array): void {
  authority.facts = { ...authority.facts, publicKey: key };
}

async function ask(token: string, at = harness): Promise<RegistrationAnswer> {
  const connection = at.network.client.dial();
  const bytes = registerRequestBytes({
    ...{ cluster: EAST, clusterId: 'east-id', version: '1.0.0', certificateRequest: Uint8Array.of(1) },
  });
  const answering = connection.register(bytes, { 'fleetrelay-cluster': EAST, authorization: `Bearer ${token}` });
  await at.clock.advance(1_000);
  await clock.settle();
  return answering;
}

async function outcome(token: string, at = harness): Promise<string> {
  const answer = await ask(token, at);
  return 'refused' in answer ? answer.refused.reason : 'issued';
}

function expiresIn(seconds: number): number {
  return Math.floor(harness.clock.now() / 1000) + seconds;
}

describe('an enrolment token', () => {
  test('enrols until it expires, and not after', async () => {
    const token = enrolmentToken(SECRET, EAST, { generation: 0, expiresAt: expiresIn(DAY_SECONDS) });
    expect(await outcome(token)).toBe('issued');
    await harness.clock.advance(DAY_SECONDS * 1000 - 2_000);
    expect(await outcome(token)).toBe('issued');
    await harness.clock.advance(2_000);
    expect(await outcome(token)).toBe('TokenExpired');
  });

  test('with another expiry, cluster or id than it was made for is wrong', async () => {
    const expired = enrolmentToken(SECRET, EAST, { generation: 0, expiresAt: expiresIn(-1) });
    const at = expired.split('_')[2] ?? '';
    expect(await outcome(expired.replace(at, String(Number(at) + DAY_SECONDS)))).toBe('WrongToken');
    expect(await outcome(lastingToken(SECRET, 'west'))).toBe('WrongToken');
    const single = enrolmentToken(SECRET, EAST, {
      generation: 0,
      expiresAt: expiresIn(60),
      singleUseId: 'a'.repeat(32),
    });
    expect(await outcome(single.replace('a'.repeat(32), ''))).toBe('WrongToken');
  });

  test('is needed where certificates open streams: a connection token, which never expires, enrols no agent', async () => {
    expect(await outcome(connectionToken(SECRET, EAST))).toBe('ConnectionToken');
  });
});

describe('a single-use token', () => {
  const single = (): string =>
    enrolmentToken(SECRET, EAST, {
      generation: 0,
      expiresAt: expiresIn(DAY_SECONDS),
      singleUseId: '0123456789abcdef'.repeat(2),
    });

  test('gives the same key the same answer for ten minutes, and another key nothing', async () => {
    const token = single();
    withKey(authority.facts.publicKey);
    const first = await ask(token);
    expect(await ask(token)).toEqual(first);
    expect(authority.orders).toHaveLength(1);
    const own = authority.facts.publicKey;
    withKey((await createScriptedAuthority(clock)).facts.publicKey);
    expect(await outcome(token)).toBe('TokenUsed');
    withKey(own);
    await clock.advance(10 * 60 * 1000 + 1);
    expect(await outcome(token)).toBe('TokenUsed');
  });

  test('is used at every replica at once, also by two thieves at two replicas', async () => {
    const token = single();
    const other = await startReplica();
    expect(await outcome(token)).toBe('issued');
    withKey((await createScriptedAuthority(clock)).facts.publicKey);
    expect(await outcome(token, other.harness)).toBe('TokenUsed');
    expect(authority.orders).toHaveLength(1);
  });

  test('stays used when the store is lost', async () => {
    const token = single();
    await ask(token);
    memory.evict('trust/used-tokens');
    withKey((await createScriptedAuthority(clock)).facts.publicKey);
    expect(await outcome(token)).toBe('TokenUsed');
  });
});

describe('the shared token', () => {
  test('gives no certificate before a person has accepted this cluster id and this key', async () => {
    expect(await outcome(SHARED)).toBe('WaitsForAcceptance');
    const [waiting] = records.acceptances.waiting(EAST);
    expect(waiting).toMatchObject({ clusterId: 'east-id', key: expect.stringMatching(/^[0-9a-f]{64}$/) });
    await records.acceptances.accept(EAST, waiting ?? { clusterId: '', key: '' });
    const own = authority.facts.publicKey;
    withKey((await createScriptedAuthority(clock)).facts.publicKey);
    expect(await outcome(SHARED), 'of an agent that claims the same id').toBe('WaitsForAcceptance');
    withKey(own);
    expect(await outcome(SHARED)).toBe('issued');
  });

  test('lets five agents wait for a name, however many keys ask', async () => {
    for (let key = 0; key < 20; key += 1) {
      records.acceptances.ask(EAST, { clusterId: `id-${key}`, key: String(key).padStart(64, '0') });
    }
    await clock.settle();
    expect(records.acceptances.waiting(EAST)).toHaveLength(5);
  });
});

describe('a revoked certificate', () => {
  const issued = { issuedAt: 1_000, expiresAt: 9_000 };

  test('is the one with this serial number, at every replica', async () => {
    const other = await startReplica();
    await records.revoked.revoke(EAST, 'abc');
    await clock.settle();
    expect(other.records.revoked.has(EAST, { ...issued, serial: 'abc' })).toBe(true);
    expect(other.records.revoked.has(EAST, { ...issued, serial: 'abd' })).toBe(false);
  });

  test('is each that was issued before, if no serial number is named, and of that cluster only', async () => {
    await records.revoked.revoke(EAST, undefined);
    const now = clock.now();
    expect(records.revoked.has(EAST, { ...issued, serial: 'a' })).toBe(true);
    expect(records.revoked.has(EAST, { ...issued, issuedAt: now + 1, serial: 'b' })).toBe(false);
    expect(records.revoked.has('west', { ...issued, serial: 'a' })).toBe(false);
  });
});

describe('a second enrolment', () => {
  test('of a bound cluster is counted by its name, and the listener hears of it', async () => {
    expect(await outcome(lastingToken(SECRET, EAST))).toBe('issued');
    expect(harness.server.stats()).toMatchObject({ registrations: { Issued: 1 }, ofClusters: { enrolledAgain: {} } });
    harness.owner.registration = () => ({ type: 'admitted', isBound: true });
    expect(await outcome(lastingToken(SECRET, EAST))).toBe('issued');
    expect(harness.server.stats()).toMatchObject({
      registrations: { Issued: 1, IssuedAgain: 1 },
      ofClusters: { enrolledAgain: { east: 1 } },
    });
    expect(harness.owner.events).toContainEqual(expect.stringMatching(/^enrolled again east/));
  });
});
