import { type ClientDuplexStream, Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import type { IncomingCall, MessageStream, StreamEnd, StreamMetadata } from '../../ports/transport.ts';
import { type Status, statusOf } from './status.ts';

/** A call at the server. */
export type ServerCall = ServerDuplexStream<Uint8Array, Uint8Array>;
/** A call at the client. */
export type ClientCall = ClientDuplexStream<Uint8Array, Uint8Array>;

/** The stream of a call at the server; its method is known to the caller. */
export function createServerStream(call: ServerCall, caller: Pick<IncomingCall, 'certificate'>): IncomingCall {
  const ended = Promise.withResolvers<StreamEnd>();
  const inbox = createInbox(call);
  const outbox = createOutbox(call);
  let own: StreamEnd | undefined;
  call.on('end', () => inbox.close(false));
  // This event always follows the end of the call: after its status was sent, or after it broke.
  call.on('cancelled', () => {
    ended.resolve(own ?? { code: 'lost', reason: 'ConnectionLost', message: 'the connection has broken' });
    inbox.close(true);
    outbox.close();
  });
  return {
    metadata: valuesOf(call.metadata),
    peer: call.getPeer(),
    ...caller,
    read: inbox.read,
    write: (message) => (own === undefined ? outbox.write(message) : Promise.resolve(false)),
    end(end) {
      if (own !== undefined) return;
      own = end;
      // In grpc-js this event sends a status: it flushes, sends it, and closes the call.
      if (!call.cancelled) call.emit('error', statusOf(end));
      // Later messages are dropped, so that the end of the peer is seen.
      call.removeAllListeners('data');
      call.resume();
    },
    ended: ended.promise,
  };
}

/** The stream of a call at the agent. `endOf` maps the final status. */
export function createClientStream(call: ClientCall, endOf: (status: Status) => StreamEnd): MessageStream {
  const ended = Promise.withResolvers<StreamEnd>();
  const inbox = createInbox(call);
  // The status of a call arrives after its messages.
  inbox.listen();
  const outbox = createOutbox(call);
  let over = false;
  let drained = false;
  const closeWhenBoth = (): void => {
    if (over && drained) inbox.close(false);
  };
  call.on('status', (status) => {
    over = true;
    ended.resolve(endOf(status));
    outbox.close();
    // A call that failed without a message emits no `end`.
    drained ||= call.readableLength === 0;
    closeWhenBoth();
  });
  call.on('end', () => {
    drained = true;
    closeWhenBoth();
  });
  // The status has the same content.
  call.on('error', () => {});
  let own = false;
  return {
    read: inbox.read,
    write: (message) => (own || over ? Promise.resolve(false) : outbox.write(message)),
    end() {
      if (own) return;
      own = true;
      call.end();
    },
    ended: ended.promise,
  };
}

/** The part of a gRPC call, at either end, that reading and writing need. */
export interface ByteCall {
  on(event: 'data', listener: (message: Uint8Array) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  write(message: Uint8Array, callback: (error?: Error | null) => void): unknown;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
}

/**
 * Reads a call one message at a time. Nothing is received before the first read, but for the window of HTTP/2; then at most one
 * message waits here, and more of them slow the peer down.
 */
function createInbox(call: ByteCall) {
  const queue: Uint8Array[] = [];
  let isListening = false;
  let closed = false;
  let waiting: ((message: Uint8Array | undefined) => void) | undefined;
  const answer = (): void => {
    if (waiting === undefined || (queue.length === 0 && !closed)) return;
    const resolve = waiting;
    waiting = undefined;
    resolve(queue.shift());
  };
  const listen = (): void => {
    if (isListening) return;
    isListening = true;
    call.on('data', (message: Uint8Array) => {
      queue.push(message);
      if (waiting === undefined) call.pause();
      answer();
    });
  };
  return {
    listen,
    read(): Promise<Uint8Array | undefined> {
      listen();
      const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
      waiting = resolve;
      if (queue.length === 0 && !closed) call.resume();
      answer();
      return promise;
    },
    /** No more messages follow. Those that have arrived are still returned unless `discard`. */
    close(discard: boolean): void {
      closed = true;
      if (discard) queue.length = 0;
      answer();
    },
  };
}

/** Writes a call. Keeps nothing of a written message, because a call lives for months. */
export function createOutbox(call: ByteCall) {
  const waiting = new Set<(open: boolean) => void>();
  let closed = false;
  return {
    /**
     * Writes one message. Resolves true when HTTP/2 has taken it, which flow control delays; false if the outbox is closed
     * first. The stream's own buffer counts messages instead of bytes, and is not used.
     */
    write(message: Uint8Array): Promise<boolean> {
      if (closed || call.destroyed || call.writableEnded) return Promise.resolve(false);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.add(resolve);
      call.write(message, (error) => {
        waiting.delete(resolve);
        resolve(error === null || error === undefined);
      });
      return promise;
    },
    /** Ends all writes. */
    close(): void {
      closed = true;
      for (const resolve of waiting) resolve(false);
      waiting.clear();
    },
  };
}

/** Messages stay bytes at this layer: serializer and deserializer of every method. */
export const BYTES = {
  serialize: (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
  deserialize: (bytes: Uint8Array): Uint8Array => bytes,
};

/** The metadata of gRPC with these values. */
export function metadataOf(values: StreamMetadata): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  return metadata;
}

function valuesOf(metadata: Metadata): StreamMetadata {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(metadata.getMap())) if (typeof value === 'string') values[name] = value;
  return values;
}
