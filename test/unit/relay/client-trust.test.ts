import { X509Certificate } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import { TAKES_ROOTS } from '../../../src/model/agent/agent.ts';
import type { FleetName } from '../../../src/model/fleet/ids.ts';
import { snapshotDigest } from '../../../src/model/text/digest.ts';
import type { IncomingStream, RegistrationAnswer, StreamEnd } from '../../../src/ports/transport.ts';
import {
  type ClientCertificateSource,
  createRelayClient,
  type ObservedRelayClient,
} from '../../../src/relay/client.ts';
import { DEFAULT_LIMITS } from '../../../src/relay/limits.ts';
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  limitsInit,
  readRegisterRequest,
  registerResponseBytes,
} from '../../../src/relay/wire/frames.ts';
import { digestBytes } from '../../../src/relay/wire/scalars.ts';
import { createMemoryCredentials, type MemoryCredentials } from '../../support/memory-credentials.ts';
import { eventually } from '../../support/relay-poll.ts';
import { createMemoryNetwork, type MemoryNetwork } from '../../support/relay-transport.ts';
import { clusterId, clusterName, createFakeAgent, type FakeAgent, FLEET } from '../../support/relay-world.ts';
import { silentLog as log } from '../../support/silent-log.ts';
import { createTestAuthority, DAY_MS, type TestAuthority } from '../../support/test-authority.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const EAST = clusterName('east');
const random = { next: () => 0.5, id: () => 'x' };
const requests = createCertificateRequests();

let network: MemoryNetwork;
let clock: VirtualClock;
let memory: MemoryCredentials;
let authority: TestAuthority;
let agent: FakeAgent;
let streams: IncomingStream[];
let hellos: Extract<Frame, { case: 'hello' }>['value'][];
let registrations: number;
/** What the server does to a stream instead of welcoming it. */
let refusal: StreamEnd | undefined;
let registering: (() => Promise<RegistrationAnswer>) | undefined;
let gate: Promise<void>;
let fleet: FleetName;
/** Said right behind the welcome of Pull. */
let roots: string | undefined;

beforeEach(async () => {
  network = createMemoryNetwork();
  clock = createVirtualClock();
  memory = createMemoryCredentials();
  authority = await createTestAuthority(clock.now() - DAY_MS, clock.now() + 3650 * DAY_MS);
  network.serverChain = [await authority.server(clock.now() - DAY_MS, clock.now() + 365 * DAY_MS)];
  agent = createFakeAgent();
  [streams, hellos, registrations] = [[], [], 0];
  [refusal, registering, roots, fleet] = [undefined, undefined, undefined, FLEET];
  gate = Promise.resolve();
  await network.server.start({
    stream: (stream) => void serve(stream),
    async register({ read }) {
      registrations += 1;
      await gate;
      if (registering !== undefined) return registering();
      const { cluster, clusterId: id, certificateRequest } = readRegisterRequest((await read()) ?? new Uint8Array());
      const uri = `spiffe://${FLEET}/cluster/${cluster}/id/${id}`;
      const times = { from: clock.now() - 1_000, to: clock.now() + 90 * DAY_MS };
      const certificate = await authority.issue(certificateRequest, { names: [cluster], uri, ...times });
      return { response: registerResponseBytes({ certificate, roots: authority.root }) };
    },
  });
});

async function serve(stream: IncomingStream): Promise<void> {
  streams.push(stream);
  if (refusal !== undefined) return stream.end(refusal);
  for (let bytes = await stream.read(); bytes !== undefined; bytes = await stream.read()) {
    const frame = decodeFrame(bytes);
    if (frame.case !== 'hello') continue;
    hellos.push(frame.value);
    const common = { protocol: 1, version: '1.0.0', fleet, capabilities: [], limits: limitsInit(DEFAULT_LIMITS) };
    const value = { ...common, inputDigest: digestBytes(snapshotDigest([])) };
    await stream.write(encodeFrame({ case: 'welcome', value }));
    if (stream.method === 'Pull' && roots !== undefined) {
      await stream.write(encodeFrame({ case: 'roots', value: { roots } }));
    }
  }
  stream.end({ code: 'done', reason: 'Closed', message: '' });
}

function start(certificates?: ClientCertificateSource): ObservedRelayClient {
  const client = createRelayClient(
    { transport: network.client, clock, random, log },
    {
      ...{ cluster: EAST, clusterId: clusterId('east-id'), instance: 'instance-1', version: '1.0.0' },
      ...{ token: () => 'frt1_x', capabilities: [] },
      ...(certificates === undefined ? {} : { certificates }),
    },
  );
  client.start(agent);
  return client;
}

const enrolled = (): ClientCertificateSource => ({ type: 'enrolled', store: memory.open(), requests });

async function connected(times = 1): Promise<void> {
  const count = (): number => agent.states.filter(({ type }) => type === 'connected').length;
  await eventually(`connected ${times} times`, () => count() >= times);
}

async function stop(client: ObservedRelayClient): Promise<void> {
  const stopped = client.stop();
  await clock.advance(2_000);
  await stopped;
}

test('both streams show the certificate and no token, and state the capability for roots', async () => {
  const client = start(enrolled());
  await connected();
  const shown = new X509Certificate(memory.held?.certificate ?? '').raw;
  expect(streams.map(({ method }) => method)).toEqual(['Pull', 'Push']);
  for (const { certificate, metadata } of streams) {
    expect(certificate).toEqual(shown);
    expect(metadata).toEqual({ 'fleetrelay-cluster': 'east' });
  }
  expect(hellos[0]?.capabilities).toContain(TAKES_ROOTS);
  expect(client.certificateExpiresAt()).toBe(new X509Certificate(memory.held?.certificate ?? '').validToDate.getTime());
  await stop(client);
});

test('an agent that is told when to come again does not come before, and does not wait for hours', async () => {
  const told = (retryAfterMs: number) => async (): Promise<RegistrationAnswer> => ({
    refused: { code: 'unavailable', reason: 'RateLimited', message: 'no', retryAfterMs },
  });
  registering = told(43_000);
  const client = start(enrolled());
  const waits = (): readonly number[] =>
    agent.states.flatMap((state) => (state.type === 'waiting' ? [state.retryInMs] : []));
  await eventually('it waits', () => waits().length === 1);
  // A twentieth more: a fleet that is told the same time does not come in step.
  expect(waits()).toEqual([45_150]);
  registering = told(3_600_000);
  await clock.advance(45_149);
  expect(registrations).toBe(1);
  await clock.advance(1);
  await eventually('it waits again', () => waits().length === 2);
  expect(waits()[1]).toBe(315_000);
  await stop(client);
});

test('where none are issued both streams show the token', async () => {
  registering = async () => ({ refused: { code: 'refused', reason: 'NotOffered', message: '' } });
  const client = start(enrolled());
  await connected();
  for (const { certificate, metadata } of streams) {
    expect(certificate).toBeUndefined();
    expect(metadata).toEqual({ 'fleetrelay-cluster': 'east', authorization: 'Bearer frt1_x' });
  }
  expect(network.dialled, 'the connection that asked is gone on with').toHaveLength(1);
  expect(client.certificateExpiresAt()).toBeUndefined();
  await stop(client);
});

test('without a way to certificates none are asked for, and roots have no place', async () => {
  roots = authority.root;
  const client = start();
  await eventually('the link ended', () => agent.states.some(({ type }) => type === 'waiting'));
  expect(agent.states.find(({ type }) => type === 'waiting')).toMatchObject({ reason: 'OutOfTurn' });
  expect(hellos[0]?.capabilities).not.toContain(TAKES_ROOTS);
  expect(registrations).toBe(0);
  await stop(client);
});

test('one that was brought along is read at each dial, and shown with the token', async () => {
  const pairs = [await requests.create(), await requests.create()];
  const certificates = await Promise.all(
    pairs.map(({ request }) =>
      authority.issue(request, { names: ['east'], from: clock.now() - 1, to: clock.now() + DAY_MS }),
    ),
  );
  let current = 0;
  const read = () => ({ key: pairs[current]?.key ?? '', certificate: certificates[current] ?? '' });
  const client = start({ type: 'given', read });
  await connected();
  expect(streams[0]).toMatchObject({ metadata: { authorization: 'Bearer frt1_x' } });
  current = 1;
  network.cut();
  await eventually('it waits', () => agent.states.at(-1)?.type === 'waiting');
  await clock.advance(5_000);
  await connected(2);
  expect(streams.map(({ certificate }) => certificate)).toEqual(
    [0, 0, 1, 1].map((index) => new X509Certificate(certificates[index] ?? '').raw),
  );
  expect(registrations).toBe(0);
  await stop(client);
});

test('a key whose certificate does not exist yet is reported and retried', async () => {
  const [{ key }, other] = [await requests.create(), await requests.create()];
  const certificate = await authority.issue(other.request, { names: ['east'], from: 0, to: clock.now() + DAY_MS });
  const client = start({ type: 'given', read: () => ({ key, certificate }) });
  await eventually('it waits', () => agent.states.at(-1)?.type === 'waiting');
  expect(agent.states.at(-1)).toMatchObject({
    reason: 'BadSettings',
    message: 'the key does not belong to the client certificate',
  });
  await stop(client);
});

test('a refused certificate is replaced at the next dial', async () => {
  const client = start(enrolled());
  await connected();
  refusal = { code: 'unauthenticated', reason: 'CertificateRevoked', message: 'revoked' };
  network.cut();
  await eventually('it waits', () => agent.states.at(-1)?.type === 'waiting');
  await clock.advance(1_000);
  await eventually('it was refused', () =>
    agent.states.some((s) => s.type === 'waiting' && s.reason === 'CertificateRevoked'),
  );
  refusal = undefined;
  await clock.advance(5_000);
  await connected(2);
  expect(registrations).toBe(2);
  await stop(client);
});

test('roots directly after the welcome are taken once the fleet is verified', async () => {
  const next = await createTestAuthority(clock.now(), clock.now() + 365 * DAY_MS);
  roots = `${authority.root}${next.root}`;
  const client = start(enrolled());
  await connected();
  await eventually('they are held', () => memory.held?.roots === roots);
  await stop(client);
});

test('roots of a server of another fleet are not taken', async () => {
  const client = start(enrolled());
  await connected();
  await stop(client);
  const saved = memory.saved.length;
  const next = await createTestAuthority(clock.now(), clock.now() + 365 * DAY_MS);
  roots = `${authority.root}${next.root}`;
  fleet = 'another' as FleetName;
  agent.fleet = () => FLEET;
  const again = start(enrolled());
  await eventually('it left', () => agent.states.some((s) => s.type === 'waiting' && s.reason === 'OtherFleet'));
  await stop(again);
  expect(memory.saved).toHaveLength(saved);
});

test('an agent that is stopped while it waits for its certificate stops', async () => {
  const answer = Promise.withResolvers<RegistrationAnswer>();
  registering = () => answer.promise;
  const client = start(enrolled());
  await eventually('it asks', () => registrations === 1);
  const stopped = client.stop();
  // What a transport answers when its connection is closed.
  answer.resolve({ refused: { code: 'lost', reason: 'ConnectionLost', message: '' } });
  await stopped;
  expect(streams).toHaveLength(0);
});

test('a certificate that arrives while it is stopped is kept, and opens nothing', async () => {
  const held = Promise.withResolvers<void>();
  gate = held.promise;
  const client = start(enrolled());
  await eventually('it asks', () => registrations === 1);
  const stopped = client.stop();
  held.resolve();
  await stopped;
  expect(streams).toHaveLength(0);
  expect(memory.saved).toHaveLength(1);
});
