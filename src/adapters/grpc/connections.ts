import type { Socket } from 'node:net';
import type { StreamEnd } from '../../ports/transport.ts';

/** How many connections may be open at once whose handshake is over. */
export interface ConnectionLimits {
  /** With calls. Each of these has proven something: whoever proves nothing is not kept waiting for long. */
  readonly busy: number;
  /** Without any, in all. Who dials to some purpose calls within a round trip. */
  readonly idle: number;
}

/** Fits a fleet of thousands of agents that come back all at once, also from behind one address. */
export const CONNECTION_LIMITS: ConnectionLimits = { busy: 16_384, idle: 2_048 };

/** The books of connections whose handshake is over. A peer is `address:port`. */
export interface Connections {
  opened(socket: Socket): void;
  /** A call begins; why it may not, if it may not. */
  begin(peer: string): StreamEnd | undefined;
  /** A call that had begun is over. */
  end(peer: string): void;
}

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  readonly address: string;
  calls: number;
}

const TOO_MANY_IDLE: StreamEnd = {
  code: 'exhausted',
  reason: 'TooManyIdleConnections',
  message: 'too many connections are open on which nothing is asked: one of the longest was closed',
};

/**
 * Keeps the number of connections within limits. Of too many without a call, the address that has the most of them loses
 * the one that has waited longest; so whoever only takes up room takes it from nobody else. `closed`: hears of each.
 */
export function createConnections(
  { busy: mostBusy, idle: mostIdle }: ConnectionLimits,
  closed: (refusal: StreamEnd, peer: string) => void,
): Connections {
  const known = new Map<string, Connection>();
  const idle = new Map<string, Set<Connection>>();
  let waiting = 0;

  const rest = (connection: Connection): void => {
    const there = idle.get(connection.address) ?? new Set();
    idle.set(connection.address, there.add(connection));
    waiting += 1;
  };
  const leave = (connection: Connection): void => {
    const there = idle.get(connection.address);
    if (there?.delete(connection) !== true) return;
    waiting -= 1;
    if (there.size === 0) idle.delete(connection.address);
  };
  const makeRoom = (): void => {
    if (waiting <= mostIdle) return;
    const [fullest] = [...idle.values()].sort((a, b) => b.size - a.size);
    for (const connection of fullest ?? []) {
      leave(connection);
      connection.socket.destroy();
      closed(TOO_MANY_IDLE, connection.peer);
      return;
    }
  };

  return {
    opened(socket) {
      if (socket.destroyed) return;
      const peer = peerOf(socket);
      const connection: Connection = { socket, peer, address: socket.remoteAddress ?? '', calls: 0 };
      known.set(peer, connection);
      socket.once('close', () => {
        leave(connection);
        if (known.get(peer) === connection) known.delete(peer);
      });
      rest(connection);
      makeRoom();
    },
    begin(peer) {
      const connection = known.get(peer);
      if (connection === undefined) return undefined;
      if (connection.calls === 0 && known.size - waiting >= mostBusy) return tooMany(mostBusy);
      leave(connection);
      connection.calls += 1;
      return undefined;
    },
    end(peer) {
      const connection = known.get(peer);
      if (connection === undefined || connection.calls === 0) return;
      connection.calls -= 1;
      if (connection.calls > 0) return;
      rest(connection);
      makeRoom();
    },
  };
}

function tooMany(most: number): StreamEnd {
  const message = `this server serves ${most} connections already; come again later, or run more servers`;
  return { code: 'unavailable', reason: 'TooManyConnections', message };
}

/** `address:port`; of a closed socket it is not known any more. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
