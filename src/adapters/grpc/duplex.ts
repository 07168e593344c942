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

/** Writing of a gRPC call. Nothing of a message stays here once it is written: a call lives for months. */
export interface Outbox {
  /**
   * Writes one message and resolves when HTTP/2 has taken it (which is when flow control lets it): true, or false if the
   * outbox was closed first.
   */
  write(message: Uint8Array): Promise<boolean>;
  /** Nothing more is written. */
  close(): void;
}

/** The stream's own buffer counts messages, not bytes, and is not used. */
export function createOutbox(call: ByteCall): Outbox {
  const waiting = new Set<(open: boolean) => void>();
  let closed = false;
  return {
    write(message) {
      if (closed || call.destroyed || call.writableEnded) return Promise.resolve(false);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.add(resolve);
      call.write(message, (error) => {
        waiting.delete(resolve);
        resolve(error === null || error === undefined);
      });
      return promise;
    },
    close() {
      closed = true;
      for (const resolve of waiting) resolve(false);
      waiting.clear();
    },
  };
}
