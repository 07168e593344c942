import type { Redis, RedisOptions } from 'ioredis';
import { errorText } from '../../../model/text/messages.ts';
import type { Clock } from '../../../ports/clock.ts';
import { LostCommand, RefusedCommand, withAdvice } from './errors.ts';
import type { RedisAccess, RedisStoreOptions, RedisTimeouts } from './options.ts';
import type { Script } from './scripts.ts';

export type Argument = string | number | Uint8Array;

export type Connection = ReturnType<typeof connectionOver>;

export interface DialOptions {
  readonly store: RedisStoreOptions;
  readonly access: RedisAccess;
  readonly timeouts: RedisTimeouts;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** Opens one connection to one server. Rejects with the error of the library or of the server. */
export async function dial(clock: Clock, options: DialOptions): Promise<Connection> {
  const { signal, timeouts } = options;
  // Imported here: only a process with such a store loads it. A bundle offers only the default export of a CommonJS package.
  const { default: ioredis } = await import('ioredis');
  const client = new ioredis.Redis(clientOptions(options));
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  let problem: unknown;
  client.on('error', (error: unknown) => {
    problem ??= error;
    failed.reject(error);
  });
  // The client does not report a sentinel without an answer as an error; its later error has less detail.
  client.on('sentinelError', (error: unknown) => {
    problem ??= error;
  });
  const connection = connectionOver(client, clock, timeouts.command, () => problem);
  signal.addEventListener('abort', connection.close);
  try {
    signal.throwIfAborted();
    await within(clock, timeouts.connect, Promise.race([client.connect(), failed.promise]));
    return connection;
  } catch (error) {
    connection.close();
    throw problem ?? error;
  } finally {
    signal.removeEventListener('abort', connection.close);
  }
}

/** Reconnecting, queueing and resending by the client are off: the caller must know that a command was lost. */
function clientOptions({ store, access, timeouts }: DialOptions): Omit<RedisOptions, 'replyMapping'> {
  const { tls: { serverName: servername, ...material } = {}, ...names } = access;
  const tls = access.tls === undefined ? undefined : { ...material, servername };
  // The client treats a member that is undefined as absent, unlike its type.
  const members = {
    ...(store.sentinel === undefined
      ? store.nodes[0]
      : {
          sentinels: [...store.nodes],
          name: store.sentinel.master,
          sentinelRetryStrategy: () => null,
          sentinelCommandTimeout: timeouts.command,
          sentinelTLS: tls,
          enableTLSForSentinelMode: tls !== undefined,
        }),
    ...names,
    tls,
    lazyConnect: true,
    retryStrategy: () => null,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResubscribe: false,
    disableClientInfo: true,
    connectionName: 'fleetrelay',
    protocol: 2,
    connectTimeout: timeouts.connect,
    disconnectTimeout: 200,
  };
  return members as Omit<RedisOptions, 'replyMapping'>;
}

/** A connection never reconnects; the caller dials a new one. `problem`: the first error of the client. */
function connectionOver(client: Redis, clock: Clock, commandMs: number, problem: () => unknown) {
  let isOver = false;
  const ended = Promise.withResolvers<string>();
  client.on('end', () => end('the connection was closed'));
  return {
    send,
    run,
    subscribe,
    /** Resolves with the reason when the connection has ended. */
    over: ended.promise,
    close: () => end('the store is closed'),
  };

  function end(reason: string): void {
    if (isOver) return;
    isOver = true;
    const cause = problem();
    ended.resolve(cause instanceof Error ? `${reason}: ${cause.message}` : reason);
    client.disconnect();
  }

  /**
   * Rejects with RefusedCommand if the server answers with an error. Rejects with LostCommand, and ends the connection, if
   * no answer arrives in time. Answers hold texts as Buffer.
   */
  async function send(command: string, ...args: readonly Argument[]): Promise<unknown> {
    if (isOver) throw new LostCommand('the connection to the store is over');
    const sent = client.callBuffer(command, ...args.map((arg) => (arg instanceof Uint8Array ? bufferOf(arg) : arg)));
    try {
      return await within(clock, commandMs + transferMs(args), sent);
    } catch (error) {
      sent.catch(() => undefined);
      const reason = errorText(error);
      const isAnswer = isReply(error);
      // After these answers the server is not the master any more; the next session finds the new one.
      if (!isAnswer || /^(READONLY|MASTERDOWN|LOADING)\b/.test(reason)) end(reason);
      if (isAnswer) throw new RefusedCommand(withAdvice(reason), { cause: error });
      throw new LostCommand(`the store does not answer: ${reason}`);
    }
  }

  async function run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    try {
      return await send('EVALSHA', script.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof RefusedCommand) || !error.message.startsWith('NOSCRIPT')) throw error;
      return send('EVAL', script.source, keys.length, ...keys, ...args);
    }
  }

  async function subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    client.on('message', (from: string, message: string) => {
      if (from === channel) listener(message);
    });
    try {
      await within(clock, commandMs, client.subscribe(channel));
    } catch (error) {
      const text = errorText(error);
      throw isReply(error) ? new RefusedCommand(withAdvice(text)) : new LostCommand(text);
    }
  }
}

/** The time that the arguments need on a slow connection, at 1 MB per second. */
function transferMs(args: readonly Argument[]): number {
  let bytes = 0;
  for (const arg of args) if (arg instanceof Uint8Array) bytes += arg.byteLength;
  return bytes / 1000;
}

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Rejects after the time. After a long block of the event loop a timer fires before an answer that has already arrived is
 * read, so the timer waits two turns for such an answer.
 */
async function within<Value>(clock: Clock, milliseconds: number, work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.schedule(milliseconds, () => {
    setImmediate(() => setImmediate(() => late.reject(new Error(`no answer within ${milliseconds / 1000} s`))));
  });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
