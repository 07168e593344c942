import type { Socket } from 'node:net';
import { networkOf } from '../../model/text/ip-address.ts';
import type { StreamEnd } from '../../ports/transport.ts';

/** How many connections may be in each phase at once. */
export interface ConnectionLimits {
  /** With an unfinished TLS handshake. */
  readonly handshakes: number;
  /** Without a call. An agent makes its first call within a round trip. */
  readonly idle: number;
  /** With calls. The relay authenticates each call, and ends those that fail soon. */
  readonly busy: number;
}

/** Suits a fleet of thousands of agents that reconnect at the same time, also from one address. */
export const CONNECTION_LIMITS: ConnectionLimits = { handshakes: 6_000, idle: 2_048, busy: 16_384 };

interface Connection {
  readonly socket: Socket;
  /** `address:port`. */
  readonly peer: string;
  readonly network: string;
  phase: 'handshake' | 'idle' | 'busy' | 'closed';
  calls: number;
  /** Why each of its calls is refused. */
  refused: StreamEnd | undefined;
}

const TOO_MANY_IDLE: StreamEnd = {
  code: 'exhausted',
  reason: 'TooManyIdleConnections',
  message: 'too many connections are open on which nothing is asked: one of the longest was closed',
};

/** The open connections of a port, by peer (`address:port`). */
export type Connections = ReturnType<typeof createConnections>;

/**
 * Keeps the number of connections within limits. Too many handshakes, or too many idle connections: the network with the most of
 * them loses its oldest, so a caller that only occupies connections displaces its own. Too many busy ones: a new call is refused.
 * `turnedAway` is called with each idle connection that is closed.
 */
export function createConnections(limits: ConnectionLimits, turnedAway: (refusal: StreamEnd, peer: string) => void) {
  const known = new Map<string, Connection>();
  const phases = { handshake: createPhase(), idle: createPhase(), busy: createPhase() };

  const enter = (connection: Connection, phase: Connection['phase']): void => {
    if (connection.phase !== 'closed') phases[connection.phase].delete(connection);
    connection.phase = phase;
    if (phase !== 'closed') phases[phase].add(connection);
  };
  const close = (connection: Connection): void => {
    enter(connection, 'closed');
    connection.socket.destroy();
  };
  const rest = (connection: Connection): void => {
    enter(connection, 'idle');
    const oldest = phases.idle.size() > limits.idle ? phases.idle.oldestOfFullest() : undefined;
    if (oldest === undefined) return;
    close(oldest);
    turnedAway(TOO_MANY_IDLE, oldest.peer);
  };

  return {
    /** A connection begins its handshake. */
    begin(socket: Socket): void {
      const [peer, network] = [peerOf(socket), networkOf(socket.remoteAddress ?? '')];
      const connection: Connection = { socket, peer, network, phase: 'closed', calls: 0, refused: undefined };
      known.set(peer, connection);
      enter(connection, 'handshake');
      socket.once('close', () => {
        enter(connection, 'closed');
        if (known.get(peer) === connection) known.delete(peer);
      });
      const oldest = phases.handshake.size() > limits.handshakes ? phases.handshake.oldestOfFullest() : undefined;
      if (oldest !== undefined) close(oldest);
    },
    /** Its handshake is complete. `refused`: why its calls are refused. */
    opened(socket: Socket, refused: StreamEnd | undefined): void {
      const connection = known.get(peerOf(socket));
      if (connection === undefined || connection.socket.destroyed) return;
      connection.refused = refused;
      rest(connection);
    },
    /** A call begins; returns why it is refused, if it is. */
    admit(peer: string): StreamEnd | undefined {
      const connection = known.get(peer);
      if (connection === undefined || connection.refused !== undefined) return connection?.refused;
      if (connection.calls === 0 && phases.busy.size() >= limits.busy) return tooMany(limits.busy);
      if (connection.calls === 0) enter(connection, 'busy');
      connection.calls += 1;
      return undefined;
    },
    /** An admitted call has ended. */
    ended(peer: string): void {
      const connection = known.get(peer);
      if (connection === undefined || connection.calls === 0) return;
      connection.calls -= 1;
      if (connection.calls === 0) rest(connection);
    },
    closeAll(): void {
      for (const { socket } of known.values()) socket.destroy();
    },
  };
}

/** The connections of a phase by network, those that entered it first before the others. */
function createPhase() {
  const networks = new Map<string, Set<Connection>>();
  let size = 0;
  return {
    size: () => size,
    add(connection: Connection): void {
      const own = networks.get(connection.network) ?? new Set();
      networks.set(connection.network, own.add(connection));
      size += 1;
    },
    delete(connection: Connection): void {
      const own = networks.get(connection.network);
      if (own?.delete(connection) !== true) return;
      size -= 1;
      if (own.size === 0) networks.delete(connection.network);
    },
    /** The oldest connection of the network with the most; of the first such network if there are several. */
    oldestOfFullest(): Connection | undefined {
      let fullest: ReadonlySet<Connection> | undefined;
      for (const own of networks.values()) if (fullest === undefined || own.size > fullest.size) fullest = own;
      return fullest?.values().next().value;
    },
  };
}

function tooMany(most: number): StreamEnd {
  const message = `this server serves ${most} connections already; come again later, or run more servers`;
  return { code: 'unavailable', reason: 'TooManyConnections', message };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
