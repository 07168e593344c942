import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createGrpcClientTransport } from '../../../src/adapters/grpc/client.ts';
import { createGrpcServerTransport } from '../../../src/adapters/grpc/server.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import { openRelayTrust, type RelayTrust } from '../../../src/adapters/tls/relay-trust.ts';
import { TAKES_SETTINGS } from '../../../src/model/agent/agent.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { createRelayClient } from '../../../src/relay/client.ts';
import { createRelayServer, type ObservedRelayServer } from '../../../src/relay/server.ts';
import type { RelayClient } from '../../../src/relay/session.ts';
import { createStepTags } from '../../../src/relay/trust/step-tags.ts';
import { connectionToken } from '../../../src/relay/trust/tokens.ts';
import { createMemoryCredentials, type MemoryCredentials } from '../../support/memory-credentials.ts';
import { eventually } from '../../support/relay-poll.ts';
import {
  clusterId,
  clusterName,
  createFakeAgent,
  createFakeOwner,
  deltaOf,
  type FakeAgent,
  type FakeOwner,
  FLEET,
  inputOf,
  outputsDigest,
} from '../../support/relay-world.ts';
import { silentLog as log } from '../../support/silent-log.ts';
import { lastingToken } from '../../support/tokens.ts';

const EAST = clusterName('east');
const secret = randomBytes(32);
const clock = createSystemClock();

/** With a certificate of the server alone, and of both ends: only a client without a certificate sees a difference. */
const MODES = [
  { mode: 'tls', clients: undefined },
  { mode: 'mtls', clients: { type: 'issued', lifetimeSeconds: 24 * 60 * 60 } },
] as const;

describe.each(MODES)('the relay over gRPC with $mode', ({ mode, clients: issuing }) => {
  let dir: string;
  let memory: MemoryCredentials;
  let trusted: RelayTrust;
  let server: ObservedRelayServer;
  let owner: FakeOwner;
  let address: string;
  const clients: RelayClient[] = [];

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'relay-tls-'));
    memory = createMemoryCredentials();
    trusted = await trustIn(dir);
    const { material, stop: _, ...trust } = trusted;
    const security = { type: 'tls', material } as const;
    const transport = createGrpcServerTransport({ host: '127.0.0.1', port: 0, security });
    const options = { fleet: FLEET, tokens: [secret], mode, version: '1.0.0' };
    server = createRelayServer({ transport, clock, log, tags: createStepTags([secret]), ...trust }, options);
    owner = createFakeOwner();
    const { port } = await server.start(owner);
    address = `127.0.0.1:${port}`;
  });

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.stop()));
    await server.drain();
    trusted.stop();
    await rm(dir, { recursive: true });
  });

  function trustIn(folder: string): Promise<RelayTrust> {
    return openRelayTrust({ clock, log }, { folder, server: { type: 'generated', names: [] }, clients: issuing });
  }

  function connect(options: { readonly ca?: Uint8Array; readonly token?: string } = {}): {
    readonly agent: FakeAgent;
    readonly client: RelayClient;
  } {
    const agent = createFakeAgent();
    const security = { type: 'tls', ca: () => options.ca ?? Buffer.from(trusted.roots.current()) } as const;
    const transport = createGrpcClientTransport({ server: address, security });
    const client = createRelayClient(
      { transport, clock, random: createSystemRandom(), log },
      {
        cluster: EAST,
        clusterId: clusterId('east-id'),
        instance: randomBytes(8).toString('hex'),
        token: () => options.token ?? (mode === 'mtls' ? lastingToken(secret, EAST) : connectionToken(secret, EAST)),
        certificates: { type: 'enrolled', store: memory.open(), requests: createCertificateRequests() },
        version: '1.0.0',
        capabilities: [TAKES_SETTINGS],
      },
    );
    clients.push(client);
    client.start(agent);
    return { agent, client };
  }

  function waitingReason(agent: FakeAgent): string | undefined {
    return agent.states.flatMap((state) => (state.type === 'waiting' ? [state.reason] : []))[0];
  }

  test('an output is accepted, an input and results arrive', async () => {
    const { agent, client } = connect();
    client.publishInput(inputOf({ live: 'x' }));
    await eventually('connected', () => owner.sessions.has(EAST));
    const outputs = new Map([
      ['a', 'one'],
      ['big', 'x'.repeat(5_000_000)],
    ]);
    const session = owner.sessions.get(EAST)?.session;
    const outcome = await session?.send(deltaOf(new Map(), outputs, { epoch: 1, sequence: 1 }));
    expect(outcome).toEqual({ type: 'accepted' });
    expect(agent.holding().digest).toBe(outputsDigest(outputs));
    const [entry] = agent.entries.values();
    client.report([{ key: entry!.key, digest: entry!.digest, state: 'applied', reason: 'Applied', message: '' }]);
    await eventually('results', () => owner.received.length === 1);
    await eventually('input', () => owner.inputs.length === 1);
    session?.settings(NO_SETTINGS);
    await eventually('settings', () => agent.settingsHeard.length === 1);
    expect(agent.settingsHeard).toEqual([NO_SETTINGS]);
    expect(memory.held?.certificate ?? '').toMatch(mode === 'mtls' ? /BEGIN CERTIFICATE/ : /^$/);
    await eventually('roots', () => memory.held?.roots === trusted.roots.current());
  });

  test('a certificate of another authority is not believed', async () => {
    const other = await mkdtemp(join(tmpdir(), 'relay-tls-'));
    const elsewhere = await trustIn(other);
    elsewhere.stop();
    const ca = Buffer.from(elsewhere.roots.current());
    await rm(other, { recursive: true });
    const { agent } = connect({ ca });
    await eventually('refused', () => waitingReason(agent) !== undefined);
    expect(waitingReason(agent)).toBe('ServerCertificate');
    expect(owner.events).toEqual([]);
  });

  test.each([
    ['a wrong token', 'frt1_wrong'],
    ['no token', ''],
    ["another cluster's token", connectionToken(secret, 'west')],
  ])('%s is refused', async (_what, token) => {
    const { agent } = connect({ token });
    await eventually('refused', () => waitingReason(agent) !== undefined);
    expect(waitingReason(agent)).toBe('WrongToken');
    expect(server.stats().ended.WrongToken).toBeGreaterThan(0);
    expect(owner.events).toEqual([]);
  });

  test('a refusal carries its reason', async () => {
    owner.admission = () => ({ type: 'refused', reason: 'UnknownCluster', message: 'no KubernetesCluster named east' });
    const { agent } = connect();
    await eventually('refused', () => waitingReason(agent) !== undefined);
    const state = agent.states.find(({ type }) => type === 'waiting');
    expect(state).toMatchObject({ reason: 'UnknownCluster', message: 'no KubernetesCluster named east' });
  });
});
