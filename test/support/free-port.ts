import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what systems hand out by themselves (from 32,768 on), to whoever dials or listens on any port. */
const PORTS = [10_000, 32_767] as const;
const TRIES = 100;

/** Nobody listens on it now, and nobody is given it unasked before it is used, nor while what listens on it restarts. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = randomInt(...PORTS);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`none of ${TRIES} ports was free`);
}
