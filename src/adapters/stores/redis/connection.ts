import type { Redis, RedisOptions } from 'ioredis';
import { errorText } from '../../../model/messages.ts';
import type { Clock } from '../../../ports/clock.ts';
import { LostCommand, RefusedCommand, refusalText } from './errors.ts';
import type { RedisAccess, RedisStoreOptions, RedisTimeouts } from './options.ts';
import type { Script } from './scripts.ts';

export type Argument = string | number | Uint8Array;

/** One connection to one server. It never reconnects; the caller dials a new one. */
export interface Connection {
  /**
   * Rejects with RefusedCommand if the server answers with an error. Rejects with LostCommand, and ends the connection, if
   * no answer arrives in time. Answers hold texts as Buffer.
   */
  send(command: string, ...args: readonly Argument[]): Promise<unknown>;
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
  /** Resolves with the reason when the connection has ended. */
  readonly over: Promise<string>;
  close(): void;
}

export interface DialDeps {
  readonly clock: Clock;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

export interface DialOptions {
  readonly store: RedisStoreOptions;
  readonly access: RedisAccess;
  readonly timeouts: RedisTimeouts;
}

/** Rejects with the error of the library or of the server. */
export async function dial({ clock, signal }: DialDeps, options: DialOptions): Promise<Connection> {
  // Imported here: only a process with such a store loads it. A bundle offers only the default export of a CommonJS package.
  const { default: ioredis } = await import('ioredis');
  const client = new ioredis.Redis(clientOptions(options));
  const connection = over(client, clock, options.timeouts.command);
  signal.addEventListener('abort', connection.close);
  try {
    signal.throwIfAborted();
    await within(clock, options.timeouts.connect, Promise.race([client.connect(), connection.failed]));
    return connection;
  } catch (error) {
    connection.close();
    throw connection.problem() ?? error;
  } finally {
    signal.removeEventListener('abort', connection.close);
  }
}

/** Reconnecting, queueing and resending by the client are off: the caller must know that a command was lost. */
function clientOptions({ store, access, timeouts }: DialOptions): Omit<RedisOptions, 'replyMapping'> {
  const { username, password, sentinelUsername, sentinelPassword, tls: material } = access;
  const tls = material === undefined ? undefined : tlsOptions(material);
  const [node] = store.nodes;
  return {
    ...(store.sentinel === undefined
      ? { ...node }
      : {
          sentinels: [...store.nodes],
          name: store.sentinel.master,
          sentinelRetryStrategy: () => null,
          sentinelCommandTimeout: timeouts.command,
          ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
          ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
          ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
        }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
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
}

function tlsOptions({ ca, cert, key, serverName }: NonNullable<RedisAccess['tls']>): NonNullable<RedisOptions['tls']> {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}

interface Dialled extends Connection {
  /** Rejects with the first error of the connection. */
  readonly failed: Promise<never>;
  problem(): unknown;
}

function over(client: Redis, clock: Clock, commandMs: number): Dialled {
  let problem: unknown;
  let isOver = false;
  const ended = Promise.withResolvers<string>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  client.on('error', (error: unknown) => {
    problem ??= error;
    failed.reject(error);
  });
  // The client does not report a sentinel without an answer as an error; its later error has less detail.
  client.on('sentinelError', (error: unknown) => {
    problem ??= error;
  });
  client.on('end', () => end('the connection was closed'));
  return {
    send,
    run,
    subscribe,
    over: ended.promise,
    close: () => end('the store is closed'),
    failed: failed.promise,
    problem: () => problem,
  };

  function end(reason: string): void {
    if (isOver) return;
    isOver = true;
    ended.resolve(problem instanceof Error ? `${reason}: ${problem.message}` : reason);
    client.disconnect();
  }

  async function send(command: string, ...args: readonly Argument[]): Promise<unknown> {
    if (isOver) throw new LostCommand('the connection to the store is over');
    const sent = client.callBuffer(command, ...args.map((arg) => (arg instanceof Uint8Array ? bufferOf(arg) : arg)));
    try {
      return await within(clock, commandMs, sent);
    } catch (error) {
      if (error instanceof Error && error.name === 'ReplyError') {
        // The server is no longer the master; the next session finds the new one.
        if (/^(READONLY|MASTERDOWN|LOADING)\b/.test(error.message)) end(error.message);
        throw new RefusedCommand(refusalText(error.message), { cause: error });
      }
      sent.catch(() => undefined);
      const reason = errorText(error);
      end(reason);
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
      if (error instanceof Error && error.name === 'ReplyError') throw new RefusedCommand(refusalText(error.message));
      throw new LostCommand(errorText(error));
    }
  }
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
