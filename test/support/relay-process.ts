// One end of a relay as a process of its own, so that it can be stopped and killed. Started as
//   node relay-process.ts server DIR PORT            prints "listening PORT", then "connected" and "disconnected REASON"
//   node relay-process.ts agent DIR HOST:PORT        prints the states of its connection
// DIR holds the certificates and the relay secret.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGrpcClientTransport } from '../../src/adapters/grpc/client.ts';
import { createGrpcServerTransport } from '../../src/adapters/grpc/server.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { ensureRelaySecret } from '../../src/adapters/tls/relay-secret.ts';
import { createRelayClient } from '../../src/relay/client.ts';
import { createRelayServer } from '../../src/relay/server.ts';
import { createStepTags } from '../../src/relay/trust/step-tags.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { clusterId, clusterName, createFakeAgent, createFakeOwner, FLEET } from './relay-world.ts';
import { ensureServerCertificate } from './server-certificate.ts';
import { silentLog } from './silent-log.ts';

const [role = '', dir = '', address = ''] = process.argv.slice(2);
const clock = createSystemClock();
const random = createSystemRandom();
const secret = await ensureRelaySecret(dir);
/** As everywhere, only in less time; but a process that waits for a busy machine is not silent. */
const limits = { pingMs: 500, silenceMs: 5_000, probeMs: 5_000 };

if (role === 'server') {
  const { certificate, key } = await ensureServerCertificate(dir, { names: [], ips: [] }, clock.now());
  const security = { type: 'tls', material: { current: () => ({ certificate, key }) } } as const;
  const transport = createGrpcServerTransport({ host: '127.0.0.1', port: Number(address), security });
  const owner = createFakeOwner();
  const { connected, disconnected } = owner;
  owner.connected = (session, holding) => {
    connected(session, holding);
    console.log('connected');
  };
  owner.disconnected = (session, reason) => {
    disconnected(session, reason);
    console.log(`disconnected ${reason.split(':')[0]}`);
  };
  const server = createRelayServer(
    { transport, clock, log: silentLog, tags: createStepTags([secret]) },
    { fleet: FLEET, tokens: [secret], version: '1.0.0', limits },
  );
  const { port } = await server.start(owner);
  console.log(`listening ${port}`);
} else {
  const security = { type: 'tls', ca: () => readFileSync(join(dir, 'ca.crt')) } as const;
  const transport = createGrpcClientTransport({ server: address, security });
  const cluster = clusterName('east');
  const client = createRelayClient(
    { transport, clock, random, log: silentLog },
    {
      cluster,
      clusterId: clusterId('east-id'),
      instance: random.id(),
      token: () => connectionToken(secret, cluster),
      version: '1.0.0',
      capabilities: [],
      limits,
    },
  );
  const agent = createFakeAgent();
  agent.connection = (state) => console.log(state.type === 'waiting' ? `waiting ${state.reason}` : state.type);
  client.start(agent);
}
