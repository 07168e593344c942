/** What is used of a gRPC call, at either end. */
export interface ByteCall {
  on(event: 'data', listener: (message: Uint8Array) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  write(message: Uint8Array, callback: (error?: Error | null) => void): unknown;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
}

/** Reading of a gRPC call, one message at a time; at most one message waits here, the rest slows the peer down. */
export interface Inbox {
  read(): Promise<Uint8Array | undefined>;
  /** Nothing more will come; what has arrived is still given unless `discard`. */
  close(discard: boolean): void;
}

/** Starts reading a call whose messages are buffers. */
export function createInbox(call: ByteCall): Inbox {
  const queue: Uint8Array[] = [];
  let closed = false;
  let waiting: ((message: Uint8Array | undefined) => void) | undefined;
  const answer = (): void => {
    if (waiting === undefined || (queue.length === 0 && !closed)) return;
    const resolve = waiting;
    waiting = undefined;
    resolve(queue.shift());
  };
  call.on('data', (message: Uint8Array) => {
    queue.push(message);
    if (waiting === undefined) call.pause();
    answer();
  });
  return {
    read() {
      const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
      waiting = resolve;
      if (queue.length === 0 && !closed) call.resume();
      answer();
      return promise;
    },
    close(discard) {
      closed = true;
      if (discard) queue.length = 0;
      answer();
    },
  };
}

/**
 * Writes one message and resolves when HTTP/2 has taken it (which is when flow control lets it): true, or false if
 * `over` came first. The stream's own buffer counts messages, not bytes, and is not used.
 */
export function writeMessage(call: ByteCall, message: Uint8Array, over: Promise<unknown>): Promise<boolean> {
  if (call.destroyed || call.writableEnded) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  call.write(message, (error) => resolve(error === null || error === undefined));
  return Promise.race([promise, over.then(() => false)]);
}
