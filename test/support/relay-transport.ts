import { X509Certificate } from 'node:crypto';
import {
  type ClientConnection,
  type ClientTransport,
  type DialCredentials,
  type IncomingStream,
  MAX_MESSAGE_BYTES,
  type MessageStream,
  type ServerTransport,
  type StreamEnd,
  type StreamMetadata,
  type StreamMethod,
  type TransportListener,
} from '../../src/ports/transport.ts';

/** Messages that wait in one direction before a writer has to. */
const CAPACITY = 4;

/** One direction of a stream. */
interface Pipe {
  write(message: Uint8Array): Promise<boolean>;
  read(): Promise<Uint8Array | undefined>;
  /** No more is written; what waits is still read. */
  finish(): void;
  /** Everything is gone. */
  cut(): void;
  /** While frozen, nothing is delivered and neither end is notified. */
  freeze(frozen: boolean): void;
}

function createPipe(): Pipe {
  const queue: Uint8Array[] = [];
  let frozen = false;
  let finished = false;
  let broken = false;
  let reader: ((message: Uint8Array | undefined) => void) | undefined;
  let writers: ((open: boolean) => void)[] = [];
  function move(): void {
    if (reader !== undefined && !frozen && (queue.length > 0 || finished || broken)) {
      const answer = reader;
      reader = undefined;
      answer(queue.shift());
    }
    while (writers.length > 0 && (broken || queue.length < CAPACITY)) writers.shift()?.(!broken);
  }
  return {
    write(message) {
      if (finished || broken) return Promise.resolve(false);
      queue.push(message.slice());
      const { promise, resolve } = Promise.withResolvers<boolean>();
      writers.push(resolve);
      move();
      return promise;
    },
    read() {
      const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
      reader = resolve;
      move();
      return promise;
    },
    finish() {
      finished = true;
      move();
    },
    cut() {
      broken = true;
      frozen = false;
      queue.length = 0;
      move();
      writers = [];
    },
    freeze(to) {
      frozen = to;
      move();
    },
  };
}

interface Wire {
  readonly up: Pipe;
  readonly down: Pipe;
  readonly clientEnded: PromiseWithResolvers<StreamEnd>;
  readonly serverEnded: PromiseWithResolvers<StreamEnd>;
}

const LOST: StreamEnd = { code: 'lost', reason: 'ConnectionLost', message: 'the connection has broken' };

function breakWire(wire: Wire): void {
  wire.clientEnded.resolve(LOST);
  wire.serverEnded.resolve(LOST);
  wire.up.cut();
  wire.down.cut();
}

function createWriter(wire: Wire, pipe: Pipe): MessageStream['write'] {
  return (message) => {
    if (message.length <= 4 * MAX_MESSAGE_BYTES) return pipe.write(message);
    wire.clientEnded.resolve({ code: 'exhausted', reason: 'MessageTooLarge', message: 'far too large' });
    breakWire(wire);
    return Promise.resolve(false);
  };
}

function clientSide(wire: Wire): MessageStream {
  return {
    read: wire.down.read,
    write: createWriter(wire, wire.up),
    end: () => wire.up.finish(),
    ended: wire.clientEnded.promise,
  };
}

function serverSide(wire: Wire, method: StreamMethod, metadata: StreamMetadata): IncomingStream {
  let own = false;
  const write = createWriter(wire, wire.down);
  return {
    method,
    metadata,
    peer: 'memory:1',
    read: wire.up.read,
    write: (message) => (own ? Promise.resolve(false) : write(message)),
    end(end) {
      if (own) return;
      own = true;
      wire.clientEnded.resolve(end);
      wire.serverEnded.resolve(end);
      wire.up.cut();
      wire.down.finish();
    },
    ended: wire.serverEnded.promise,
  };
}

/** A network in memory, with faults at will. */
export interface MemoryNetwork {
  readonly server: ServerTransport;
  readonly client: ClientTransport;
  /** Breaks every stream that is open; both ends notice. */
  cut(): void;
  /** Stops delivering in these directions of all open streams and notifies neither end. */
  freeze(directions: { readonly up: boolean; readonly down: boolean }): void;
  /** While false, dialling fails. */
  reachable: boolean;
  /** While false, a client that requests a certificate sends its metadata, and then nothing. */
  questionsArrive: boolean;
  /** Streams that are open. */
  open(): number;
  /** What the server shows to those who dial. */
  serverChain: readonly Uint8Array[];
  /** What was shown at each dial. */
  readonly dialled: (DialCredentials | undefined)[];
  /** Sees every message that is written, and may lose everything by calling {@link cut}. */
  onMessage: (direction: 'up' | 'down', message: Uint8Array) => void;
}

/** A network with one server. */
export function createMemoryNetwork(): MemoryNetwork {
  const wires = new Set<Wire>();
  let accept: TransportListener | undefined;
  const network: MemoryNetwork = {
    reachable: true,
    questionsArrive: true,
    serverChain: [],
    dialled: [],
    onMessage: () => undefined,
    open: () => wires.size,
    cut() {
      for (const wire of wires) breakWire(wire);
    },
    freeze({ up, down }) {
      for (const wire of wires) {
        wire.up.freeze(up);
        wire.down.freeze(down);
      }
    },
    server: {
      start(listener) {
        accept = listener;
        return Promise.resolve({ host: 'memory', port: 1 });
      },
      stop() {
        accept = undefined;
        network.cut();
        return Promise.resolve();
      },
    },
    client: {
      server: 'memory:1',
      dial: (credentials) => {
        network.dialled.push(credentials);
        return dial(network, wires, () => accept, certificateOf(credentials));
      },
    },
  };
  return network;
}

function certificateOf(credentials: DialCredentials | undefined): Uint8Array | undefined {
  const pem = credentials?.identity?.certificate;
  return pem === undefined ? undefined : new X509Certificate(pem).raw;
}

function dial(
  network: MemoryNetwork,
  wires: Set<Wire>,
  accepting: () => TransportListener | undefined,
  certificate: Uint8Array | undefined,
): ClientConnection {
  const shown = certificate === undefined ? {} : { certificate };
  const mine = new Set<Wire>();
  return {
    open(method, metadata) {
      const wire: Wire = {
        up: createPipe(),
        down: createPipe(),
        clientEnded: Promise.withResolvers(),
        serverEnded: Promise.withResolvers(),
      };
      const accept = accepting();
      if (!network.reachable || accept === undefined) {
        wire.clientEnded.resolve({ code: 'lost', reason: 'Unreachable', message: 'no server listens' });
        wire.up.cut();
        wire.down.cut();
        return clientSide(wire);
      }
      wires.add(wire);
      mine.add(wire);
      void wire.serverEnded.promise.then(() => wires.delete(wire));
      accept.stream(observed(network, 'down', { ...serverSide(wire, method, { ...metadata }), ...shown }));
      return observed(network, 'up', clientSide(wire));
    },
    async register(request, metadata) {
      const accept = accepting();
      if (!network.reachable || accept === undefined) {
        return { refused: { code: 'lost', reason: 'Unreachable', message: 'no server listens' } };
      }
      const read = network.questionsArrive ? async () => request.slice() : () => new Promise<undefined>(() => {});
      return accept.register({ read, metadata: { ...metadata }, peer: 'memory:1', ...shown });
    },
    serverChain: () => network.serverChain,
    close() {
      for (const wire of mine) breakWire(wire);
    },
  };
}

function observed<Stream extends MessageStream>(
  network: MemoryNetwork,
  direction: 'up' | 'down',
  stream: Stream,
): Stream {
  return {
    ...stream,
    write(message: Uint8Array) {
      network.onMessage(direction, message);
      return stream.write(message);
    },
  };
}
