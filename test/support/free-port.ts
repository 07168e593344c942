import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems assign by themselves (from 32,768 on) to processes that dial or listen on any port. */
const PORTS = [10_000, 32_767] as const;
const TRIES = 100;

/** Returns a port that no process listens on and that the system assigns to none, also while its listener restarts. */
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
