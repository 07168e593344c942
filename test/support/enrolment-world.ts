import { createCertificateRequests } from '../../src/adapters/tls/certificate-requests.ts';
import type { CertificateRequest } from '../../src/ports/certificate-requests.ts';
import type { CredentialStore } from '../../src/ports/credentials.ts';
import type {
  ClientConnection,
  ClientTransport,
  DialCredentials,
  RegistrationAnswer,
  StreamEnd,
  StreamMetadata,
} from '../../src/ports/transport.ts';
import type { ClientTrust, TrustedConnection } from '../../src/relay/trust/client-trust.ts';
import { createEnrolment } from '../../src/relay/trust/enrolment.ts';
import { readRegisterRequest, registerResponseBytes } from '../../src/relay/wire/frames.ts';
import { createRecordingLog } from './agent-log.ts';
import { createMemoryCredentials, type MemoryCredentials } from './memory-credentials.ts';
import { clusterId, clusterName } from './relay-world.ts';
import { createTestAuthority, DAY_MS, type TestAuthority } from './test-authority.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export const LIFE_MS = 90 * DAY_MS;

/** A request for a certificate, as the server receives it. */
export interface Asked {
  readonly metadata: StreamMetadata;
  readonly shown: DialCredentials | undefined;
}

/** A server that answers as it is told to, and the agent's end of trust against it. */
export interface EnrolmentWorld {
  readonly clock: VirtualClock;
  readonly log: ReturnType<typeof createRecordingLog>;
  readonly memory: MemoryCredentials;
  /** Every question, in order. */
  readonly asked: Asked[];
  readonly dialled: (DialCredentials | undefined)[];
  authority: TestAuthority;
  /** What the server shows to those who dial. */
  chain: readonly Uint8Array[];
  /** Instead of a certificate. */
  refusal: StreamEnd | undefined;
  /** Contents of a certificate in place of the right ones. */
  wrongly: { readonly names?: readonly string[]; readonly uri?: string; readonly garbage?: true };
  /** The roots that an answer names. */
  roots: string;
  lifeMs: number;
  token: string | Error;
  /** Every request is this one, so that making it takes no real time, which a virtual clock would not wait for. */
  prepared: CertificateRequest | undefined;
  fleet: string;
  /** The agent as a new process. */
  agent(store?: CredentialStore): ClientTrust;
}

export async function createEnrolmentWorld(startAt?: number): Promise<EnrolmentWorld> {
  const clock = createVirtualClock(startAt);
  const authority = await createTestAuthority(clock.now() - DAY_MS, clock.now() + 3650 * DAY_MS);
  const log = createRecordingLog();
  const memory = createMemoryCredentials();
  const requests = createCertificateRequests();
  const world: EnrolmentWorld = {
    clock,
    log,
    memory,
    asked: [],
    dialled: [],
    authority,
    chain: [await authority.server(clock.now() - DAY_MS, clock.now() + 365 * DAY_MS)],
    refusal: undefined,
    wrongly: {},
    roots: authority.root,
    lifeMs: LIFE_MS,
    token: 'frt1_token',
    prepared: undefined,
    fleet: 'fleet',
    agent: (store = memory.open()) =>
      createEnrolment(
        {
          ...{ clock, log, store, transport: transportOf(world) },
          ...{
            requests: {
              create: async () => world.prepared ?? requests.create(),
              again: async (key) => (world.prepared?.key === key ? world.prepared : requests.again(key)),
            },
            random: { next: () => 0, id: () => 'x' },
          },
        },
        {
          ...{ cluster: clusterName('east'), clusterId: clusterId('east-id'), version: '1.0.0' },
          token: () => {
            if (world.token instanceof Error) throw world.token;
            return world.token;
          },
        },
      ),
  };
  return world;
}

function transportOf(world: EnrolmentWorld): ClientTransport {
  return {
    server: 'scripted:1',
    dial(shown): ClientConnection {
      world.dialled.push(shown);
      return {
        open: () => {
          throw new Error('no streams here');
        },
        register: (request, metadata) => {
          world.asked.push({ metadata, shown });
          return answer(world, request);
        },
        serverChain: () => world.chain,
        close: () => {},
      };
    },
  };
}

async function answer(world: EnrolmentWorld, bytes: Uint8Array): Promise<RegistrationAnswer> {
  const { refusal, authority, clock, wrongly, roots } = world;
  if (refusal !== undefined) return { refused: refusal };
  if (wrongly.garbage === true) return { response: Uint8Array.of(255, 255, 255) };
  const { cluster, clusterId: id, certificateRequest } = readRegisterRequest(bytes);
  const certificate = await authority.issue(certificateRequest, {
    names: wrongly.names ?? [cluster],
    uri: wrongly.uri ?? `spiffe://${world.fleet}/cluster/${cluster}/id/${id}`,
    from: clock.now() - 60 * 60 * 1000,
    to: clock.now() + world.lifeMs,
  });
  return { response: registerResponseBytes({ certificate, roots }) };
}

/** The connection of an attempt that went well. */
export function good(opened: TrustedConnection | StreamEnd): TrustedConnection {
  if ('code' in opened) throw new Error(`refused: ${JSON.stringify(opened)}`);
  return opened;
}
