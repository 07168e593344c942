import type { Server } from 'node:net';
import type { HttpAddress, ListenAddress, SocketAddress } from './listen-address.ts';

/**
 * Calls `listen`, which binds the path, so that the new socket is its owner's alone. The file of a server that has ended is
 * removed first. Rejects if the path is something else than a socket.
 */
export type BindSocket = (path: string, listen: () => void) => Promise<void>;

/** Where a server listens. */
export type Listening = ListenAddress | (SocketAddress & { readonly bind: BindSocket });

/** Resolves with the bound address. Rejects if it cannot be bound. */
export async function listenOn(server: Server, at: Listening): Promise<HttpAddress> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  if ('socket' in at) await at.bind(at.socket, () => server.listen(at.socket, resolve));
  else server.listen({ host: at.host, port: at.port }, resolve);
  await promise;
  server.off('error', reject);
  const bound = server.address();
  if ('socket' in at) return { socket: at.socket };
  if (bound === null || typeof bound === 'string') return at;
  // The name may stand for several addresses, of which this is the one.
  return { host: at.host === 'localhost' ? bound.address : at.host, port: bound.port };
}
