import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';

export interface RedisStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Addresses of the store, and credentials. */
export interface RedisStoreOptions {
  /** The server; with `sentinel`: the sentinels. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly sentinel?: {
    /** The name that the sentinels know the master by. */
    readonly master: string;
  };
  /** Called for each connection, so that rotated credentials take effect. */
  readonly access: () => RedisAccess | Promise<RedisAccess>;
  readonly database: number;
  /** Prefix of every key, without the separator; it becomes the hash tag. */
  readonly prefix: string;
  /** Milliseconds after which the wait for the first session ends with an error. Default: no limit. */
  readonly patienceMs?: number;
  /** Ends the wait for the first session; no effect afterwards. */
  readonly signal?: AbortSignal;
  /** Called with the reason after each failed attempt before the first session. */
  readonly waiting?: (reason: string) => void;
  readonly timeouts?: Partial<RedisTimeouts>;
}

/** Credentials that allow to read and write the store. */
export interface RedisAccess {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  /** If present, all connections use TLS, those to sentinels too. PEM texts; `ca` replaces the system's trusted CAs. */
  readonly tls?:
    | {
        readonly ca?: string | undefined;
        readonly cert?: string | undefined;
        readonly key?: string | undefined;
        /** The name in the server's certificate, if it is not the host name. */
        readonly serverName?: string | undefined;
      }
    | undefined;
}

/** Milliseconds. */
export interface RedisTimeouts {
  /** Until a connection is established and authenticated. */
  readonly connect: number;
  /** Until a command is answered. */
  readonly command: number;
  /** Between two checks that the store answers and is still the same. */
  readonly beat: number;
}

export const TIMEOUTS: RedisTimeouts = { connect: 5_000, command: 3_000, beat: 1_000 };
