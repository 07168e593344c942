import {
  type ClientConnection,
  type ClientTransport,
  type IncomingStream,
  MAX_MESSAGE_BYTES,
  type MessageStream,
  type ServerTransport,
  type StreamEnd,
  type StreamMetadata,
  type StreamMethod,
  type TransportListener,
} from '../../../src/ports/transport.ts';
import type { Dice } from '../core/dice.ts';
import type { SimProcess } from '../core/process.ts';
import type { SimTime } from '../core/time.ts';
import { createPipe, type Pipe } from './pipe.ts';

/** Delays and faults between one agent and the servers. */
export interface Weather {
  /** Least milliseconds that a message takes, and most that it takes beyond them. */
  latencyMs: number;
  jitterMs: number;
  /** While false dialling fails; what is open is not touched. */
  reachable: boolean;
}

/** One open stream, as faults see it. */
export interface Wire {
  readonly client: SimProcess;
  readonly server: SimProcess;
  readonly method: StreamMethod;
  /** The connection has broken, and both ends notice. */
  cut(): void;
  /** Nothing arrives any more in these directions, and neither end is notified. */
  freeze(directions: { readonly up: boolean; readonly down: boolean }): void;
}

/** The network between agents and servers. */
export interface SimNetwork {
  /** The listening end of a server. */
  server(process: SimProcess): ServerTransport;
  /** The dialling end of an agent; any server that listens may answer. */
  client(process: SimProcess, weather: Weather): ClientTransport;
  wires(): readonly Wire[];
}

interface Network {
  readonly time: SimTime;
  readonly dice: Dice;
  readonly wires: Set<Wire>;
  readonly listening: Map<SimProcess, TransportListener>;
}

const LOST: StreamEnd = { code: 'lost', reason: 'ConnectionLost', message: 'the connection has broken' };
const UNREACHABLE: StreamEnd = { code: 'lost', reason: 'Unreachable', message: 'no server listens' };

export function createSimNetwork(time: SimTime, dice: Dice): SimNetwork {
  const network: Network = { time, dice, wires: new Set(), listening: new Map() };
  return {
    wires: () => [...network.wires],
    server: (process) => {
      process.atDeath(() => {
        network.listening.delete(process);
        bury(network, process);
      });
      return {
        start: async (listener) => {
          network.listening.set(process, listener);
          return { host: process.name, port: 1 };
        },
        stop: async () => {
          network.listening.delete(process);
          for (const wire of [...network.wires]) if (wire.server === process) wire.cut();
        },
      };
    },
    client: (process, weather) => {
      process.atDeath(() => bury(network, process));
      return { server: 'fleet:1', dial: () => dial(network, process, weather) };
    },
  };
}

/** A process has died: its machine resets its connections, or has died too and sends nothing. */
function bury({ wires, dice }: Network, process: SimProcess): void {
  const isSilent = dice.chance(0.3);
  for (const wire of [...wires]) {
    if (wire.client !== process && wire.server !== process) continue;
    if (isSilent) wire.freeze({ up: true, down: true });
    else wire.cut();
  }
}

function dial(network: Network, process: SimProcess, weather: Weather): ClientConnection {
  const { dice, listening } = network;
  const servers = [...listening].filter(([server]) => server.state() !== 'dead');
  const target = servers.length === 0 ? undefined : dice.pick(servers);
  const mine: Wire[] = [];
  const reached = (): readonly [SimProcess, TransportListener] | undefined =>
    weather.reachable && target !== undefined && listening.has(target[0]) ? target : undefined;
  return {
    open: (method, metadata) => {
      const to = reached();
      if (to === undefined) return closedStream(process, network.time);
      const { wire, stream } = openWire(network, { process, weather, to, method, metadata });
      mine.push(wire);
      return stream;
    },
    register: (request, metadata) =>
      process.call(weather.latencyMs, async () => {
        const to = reached();
        if (to === undefined) return { refused: UNREACHABLE };
        return to[1].register({ read: async () => request.slice(), metadata: { ...metadata }, peer: process.name });
      }),
    serverChain: () => [],
    close: () => {
      for (const wire of mine) wire.cut();
    },
  };
}

function closedStream(process: SimProcess, time: SimTime): MessageStream {
  const { promise, resolve } = Promise.withResolvers<StreamEnd>();
  time.in(1, () => process.enter(() => resolve(UNREACHABLE)));
  return {
    read: () => promise.then(() => undefined),
    write: () => promise.then(() => false),
    end: () => undefined,
    ended: promise,
  };
}

interface Opening {
  readonly process: SimProcess;
  readonly weather: Weather;
  readonly to: readonly [SimProcess, TransportListener];
  readonly method: StreamMethod;
  readonly metadata: StreamMetadata;
}

function openWire(network: Network, opening: Opening): { readonly wire: Wire; readonly stream: MessageStream } {
  const { time, dice, wires } = network;
  const { process: client, weather, to, method } = opening;
  const [server, listener] = to;
  const clientEnded = Promise.withResolvers<StreamEnd>();
  const serverEnded = Promise.withResolvers<StreamEnd>();
  const latency = (): number => weather.latencyMs + dice.int(weather.jitterMs + 1);
  const up = createPipe<true>({ time, from: client, to: server, latency, ended: () => undefined });
  const down = createPipe<StreamEnd>({ time, from: server, to: client, latency, ended: clientEnded.resolve });
  const wire: Wire = {
    client,
    server,
    method,
    cut: () => {
      wires.delete(wire);
      client.enter(() => clientEnded.resolve(LOST));
      server.enter(() => serverEnded.resolve(LOST));
      up.cut();
      down.cut();
    },
    freeze: (directions) => {
      up.freeze(directions.up);
      down.freeze(directions.down);
    },
  };
  wires.add(wire);
  const incoming = serverSide(opening, { up, down, wire, serverEnded, forget: () => wires.delete(wire) });
  time.in(latency(), () => server.enter(() => listener.stream(incoming)));
  const stream: MessageStream = {
    read: down.read,
    write: limited(up, wire, clientEnded),
    end: () => up.finish(true),
    ended: clientEnded.promise,
  };
  return { wire, stream };

  function serverSide({ method, metadata }: Opening, side: ServerSide): IncomingStream {
    return createServerSide({ method, metadata, peer: client.name }, side, clientEnded);
  }
}

interface ServerSide {
  readonly up: Pipe<true>;
  readonly down: Pipe<StreamEnd>;
  readonly wire: Wire;
  readonly serverEnded: PromiseWithResolvers<StreamEnd>;
  readonly forget: () => void;
}

function createServerSide(
  about: Pick<IncomingStream, 'method' | 'metadata' | 'peer'>,
  { up, down, wire, serverEnded, forget }: ServerSide,
  clientEnded: PromiseWithResolvers<StreamEnd>,
): IncomingStream {
  let own = false;
  const write = limited(down, wire, clientEnded);
  return {
    ...about,
    read: up.read,
    write: (message) => (own ? Promise.resolve(false) : write(message)),
    end: (end) => {
      if (own) return;
      own = true;
      down.finish(end);
      serverEnded.resolve(end);
      up.cut();
      forget();
    },
    ended: serverEnded.promise,
  };
}

function limited(
  pipe: Pipe<never> | Pipe<true> | Pipe<StreamEnd>,
  wire: Wire,
  clientEnded: PromiseWithResolvers<StreamEnd>,
): MessageStream['write'] {
  return (message) => {
    if (message.length <= 4 * MAX_MESSAGE_BYTES) return pipe.write(message);
    clientEnded.resolve({ code: 'exhausted', reason: 'MessageTooLarge', message: 'far too large' });
    wire.cut();
    return Promise.resolve(false);
  };
}
