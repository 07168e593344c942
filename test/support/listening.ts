import type { AddressInfo, Server, Socket } from 'node:net';

/** Ends what a test has opened. */
export type Closer = () => Promise<void>;

/** Listens with a server, and returns the address of a repository at it. Its closer ends its connections, too. */
export async function listening(closers: Closer[], server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/fleet.git`;
}
