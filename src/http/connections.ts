import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { ofFullestNetworks } from '../model/limits/fullest-networks.ts';
import { networkOf } from '../model/text/ip-address.ts';

/** An open connection. */
interface Connection {
  readonly socket: Socket;
  readonly network: string;
  hasAsked: boolean;
  /** Requests that are not answered yet. */
  readonly requests: Set<IncomingMessage>;
}

/**
 * Keeps the number of open connections of an HTTP server within a limit. Above it, the network with the most connections loses
 * one: the oldest that has asked nothing yet, else the oldest idle one, else the oldest with an incomplete request. Several networks
 * with the most count as one. Connections that wait for an answer come last: a new one does not displace one of its own network.
 */
export function limitConnections(server: Server, most: number): void {
  /** By address and port of the caller, which Node gives for TLS as well; by socket if it has none. The oldest first. */
  const open = new Map<string | Socket, Connection>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    const added: Connection = {
      socket,
      network: networkOf(socket.remoteAddress ?? ''),
      hasAsked: false,
      requests: new Set(),
    };
    open.set(key, added);
    socket.once('close', () => {
      if (open.get(key) === added) open.delete(key);
    });
    if (open.size > most) surplus(open.values().toArray(), added).socket.destroy();
  });
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = open.get(keyOf(request.socket));
    if (connection === undefined) return;
    connection.hasAsked = true;
    connection.requests.add(request);
    response.once('close', () => connection.requests.delete(request));
  });
}

function keyOf(socket: Socket): string | Socket {
  return socket.remotePort === undefined ? socket : `${socket.remoteAddress}:${socket.remotePort}`;
}

function surplus(open: readonly Connection[], added: Connection): Connection {
  const { items } = ofFullestNetworks(open, ({ network }) => network);
  const [first, ...others] = items.filter((one) => one !== added);
  if (first === undefined) return added;
  const least = others.reduce((lowest, one) => (claimOf(one) < claimOf(lowest) ? one : lowest), first);
  return claimOf(least) === ANSWERED && items.includes(added) ? added : least;
}

/** A connection that waits for the answer to a request that has arrived. */
const ANSWERED = 3;

/** How much a connection is in use: the least first. */
function claimOf({ hasAsked, requests }: Connection): number {
  if (requests.size === 0) return hasAsked ? 1 : 0;
  return [...requests].some(({ complete }) => complete) ? ANSWERED : 2;
}
