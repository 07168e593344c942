import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';

export interface RedisStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Where the store is and how to get in. */
export interface RedisStoreOptions {
  /** The server; with `sentinel`: the sentinels. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly sentinel?: {
    /** The name that the sentinels know the master by. */
    readonly master: string;
  };
  /** Read anew for each connection, so that what was rotated is taken over. */
  readonly access: () => RedisAccess | Promise<RedisAccess>;
  readonly database: number;
  /** Of every key, without the separator; it becomes the hash tag. */
  readonly prefix: string;
  /** Milliseconds that the first connection may take until the server is given up. Default: it is waited for. */
  readonly patienceMs?: number;
  /** Gives the server up that was not reached yet; later it means nothing. */
  readonly signal?: AbortSignal;
  /** The server could not be reached yet, for this reason; it is tried again. */
  readonly waiting?: (reason: string) => void;
  readonly timeouts?: Partial<RedisTimeouts>;
}

/** Whoever may read this may read and write the store. */
export interface RedisAccess {
  readonly username?: string;
  readonly password?: string;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  /** Present: the connection, those to sentinels too, is encrypted. PEM texts; `ca`: trusted instead of the machine's. */
  readonly tls?: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    /** The name in the server's certificate, if it is not the host that is dialled. */
    readonly serverName?: string;
  };
}

/** Milliseconds. */
export interface RedisTimeouts {
  /** Until a connection is made and has introduced itself. */
  readonly connect: number;
  /** Until a command is answered. */
  readonly command: number;
  /** Between two looks at whether the store is still there and still the same. */
  readonly beat: number;
}

export const TIMEOUTS: RedisTimeouts = { connect: 5_000, command: 3_000, beat: 1_000 };
