import { isIPv6, type Server, type Socket } from 'node:net';

/**
 * Keeps the number of open connections of a server within a limit. Of too many, the network with the most of them loses its
 * oldest one, or the new one if it is its own: a caller that only occupies connections displaces its own, and not others.
 */
export function limitConnections(server: Server, most: number): void {
  /** The oldest before the others. */
  const open = new Map<Socket, string>();
  server.on('connection', (socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    open.set(socket, network);
    socket.once('close', () => open.delete(socket));
    if (open.size > most) surplus(open, socket, network).destroy();
  });
}

function surplus(open: ReadonlyMap<Socket, string>, added: Socket, network: string): Socket {
  const networks = Map.groupBy(open.keys(), (socket) => open.get(socket));
  const fullest = [...networks.values()].reduce((most, next) => (next.length > most.length ? next : most));
  const own = networks.get(network)?.length ?? 0;
  const [oldest] = fullest;
  return oldest === undefined || own >= fullest.length ? added : oldest;
}

/** The address, or of IPv6 its first 64 bits: one machine has as many of those addresses as it likes. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address.replace(/^::ffff:/, '');
  const [before = '', after] = address.replace(/%.*$/, '').split('::');
  const groups = (text: string): readonly string[] => text.split(':').filter((group) => group !== '');
  const [first, last] = [groups(before), groups(after ?? '')];
  const zeros = after === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':');
}
