import type { Log } from '../../src/ports/log.ts';
import type { MessageStream, StreamEnd, StreamMethod } from '../../src/ports/transport.ts';
import { createRelayClient, type RelayClientOptions } from '../../src/relay/client.ts';
import { DEFAULT_LIMITS, type RelayLimits } from '../../src/relay/limits.ts';
import { createRelayServer, type ObservedRelayServer } from '../../src/relay/server.ts';
import type { RelayServerDeps, RelayServerOptions } from '../../src/relay/server-state.ts';
import type { RelayClient } from '../../src/relay/session.ts';
import { createStepTags } from '../../src/relay/trust/step-tags.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { decodeFrame, encodeFrame, type Frame, type FrameInit, helloFrame } from '../../src/relay/wire/frames.ts';
import type { Identity } from './enrolled.ts';
import { createMemoryNetwork, type MemoryNetwork } from './relay-transport.ts';
import {
  clusterId,
  clusterName,
  createFakeAgent,
  createFakeOwner,
  type FakeAgent,
  type FakeOwner,
  FLEET,
} from './relay-world.ts';
import { silentLog } from './silent-log.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export const SECRET = new Uint8Array(32).fill(7);
export const EAST = clusterName('east');

/** One agent of the world. */
export interface ConnectedAgent {
  readonly client: RelayClient;
  readonly agent: FakeAgent;
}

/** A server and any number of agents in memory, on virtual time. */
export interface RelayHarness {
  readonly clock: VirtualClock;
  readonly network: MemoryNetwork;
  readonly owner: FakeOwner;
  readonly server: ObservedRelayServer;
  /** Starts an agent of cluster `east` and lets it connect. */
  connect(options?: Partial<RelayClientOptions>, agent?: FakeAgent): Promise<ConnectedAgent>;
  /** A peer that sends what the test tells it to, and reads nothing by itself. */
  stranger(method: StreamMethod, options?: StrangerOptions): Stranger;
}

/** The credentials that a stranger shows when it connects. */
export interface StrangerOptions {
  readonly cluster?: string;
  /** Null: no token is sent. */
  readonly token?: string | null;
  /** Shown on the connection; then no token is, unless one is given. */
  readonly identity?: Identity;
}

/** A raw stream to the server. */
export interface Stranger {
  readonly stream: MessageStream;
  say(frame: FrameInit): Promise<boolean>;
  sayBytes(bytes: Uint8Array): Promise<boolean>;
  hello(changes?: Partial<ReturnType<typeof helloFrame>['value']>): Promise<boolean>;
  /** The next frame from the server; undefined when there is none any more. */
  hear(): Promise<Frame | undefined>;
  readonly ended: Promise<StreamEnd>;
}

/** Starts the server. */
export async function createRelayHarness(
  limits: Partial<RelayLimits> = {},
  owner: FakeOwner = createFakeOwner(),
  log: Log = silentLog,
  options: Partial<RelayServerOptions> = {},
  deps: Partial<Pick<RelayServerDeps, 'authority' | 'roots' | 'generations' | 'tags'>> = {},
): Promise<RelayHarness> {
  const clock = createVirtualClock();
  const network = createMemoryNetwork();
  const server = createRelayServer(
    { transport: network.server, clock, log, tags: createStepTags([SECRET]), ...deps },
    { fleet: FLEET, tokens: [SECRET], version: '1.0.0', limits, ...options },
  );
  await server.start(owner);
  let instances = 0;
  return {
    clock,
    network,
    owner,
    server,
    stranger: (method, options = {}) => createStranger(network, method, options),
    async connect(options = {}, agent = createFakeAgent()) {
      instances += 1;
      const cluster = options.cluster ?? EAST;
      const client = createRelayClient(
        { transport: network.client, clock, random: { next: () => 0.5, id: () => 'x' }, log },
        {
          cluster,
          clusterId: clusterId(`${cluster}-id`),
          instance: `instance-${instances}`,
          token: () => connectionToken(SECRET, cluster),
          version: '1.0.0',
          capabilities: [],
          ...options,
        },
      );
      client.start(agent);
      await clock.settle();
      return { client, agent };
    },
  };
}

function createStranger(network: MemoryNetwork, method: StreamMethod, options: StrangerOptions): Stranger {
  const { cluster = 'east', identity } = options;
  const usual = identity === undefined ? connectionToken(SECRET, cluster) : null;
  const token = options.token === undefined ? usual : options.token;
  const connection = network.client.dial(identity === undefined ? undefined : { identity, roots: '' });
  const stream = connection.open(method, {
    'fleetrelay-cluster': cluster,
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  });
  return {
    stream,
    say: (frame) => stream.write(encodeFrame(frame)),
    sayBytes: (bytes) => stream.write(bytes),
    hello(changes = {}) {
      const identity = { cluster: clusterName('east'), clusterId: clusterId('east-id'), instance: 'stranger-1' };
      const { value } = helloFrame({ ...identity, version: '1.0.0', capabilities: [] }, DEFAULT_LIMITS);
      return stream.write(encodeFrame({ case: 'hello', value: { ...value, ...changes } }));
    },
    async hear() {
      const bytes = await stream.read();
      return bytes === undefined ? undefined : decodeFrame(bytes);
    },
    ended: stream.ended,
  };
}
