import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { privateFile } from '../../adapters/tls/files.ts';
import { isLoopback } from '../../http/loopback.ts';
import type { HttpConfig } from '../../model/fleet/relay-config.ts';
import { errorText } from '../../model/text/messages.ts';
import type { HttpAddress } from '../../server/listen-address.ts';
import { localTokenPath } from '../../server/local-token.ts';
import type { ProcessDeps } from './sources.ts';

/** The token of a server without configured people, for callers who can read its files. */
export interface LocalToken {
  readonly token: string;
  /**
   * Writes it where the server's user finds it: into the data directory, and where commands look for the token of the bound
   * address. Without a home to write to, the log says where the token is.
   */
  publish(bound: HttpAddress): Promise<void>;
  /** Removes what commands would send to the next process at this address. */
  withdraw(): Promise<void>;
}

const TOKEN_BYTES = 32;

/**
 * Makes a new token at each start: one that a process at the address of a server that has crashed has received opens
 * nothing. Undefined: callers have other means.
 */
export function createLocalToken(
  { listen, people, tls }: HttpConfig,
  dataDirectory: string,
  { env, log }: Pick<ProcessDeps, 'env' | 'log'>,
): LocalToken | undefined {
  const isNeeded = 'address' in listen && isLoopback(listen.address) && people.length === 0;
  if (!isNeeded || tls?.clientCaFile !== undefined) return undefined;
  const token = randomBytes(TOKEN_BYTES).toString('hex');
  const own = privateFile(join(dataDirectory, 'api-token'));
  let shared: string | undefined;
  return {
    token,
    publish: async (bound) => {
      await own.write(Buffer.from(`${token}\n`));
      const path = 'socket' in bound ? undefined : localTokenPath(env, bound);
      try {
        if (path === undefined) throw new Error('neither XDG_STATE_HOME nor HOME names a folder');
        await privateFile(path).write(Buffer.from(`${token}\n`));
        shared = path;
      } catch (error) {
        log.info('commands find the token of the API only if they are told where it is (--api-token-file)', {
          tokenFile: own.path,
          reason: errorText(error),
        });
      }
    },
    withdraw: async () => {
      if (shared === undefined) return;
      // Another server may have taken over the address.
      const isOwn = (await readFile(shared, 'utf8').catch(() => '')).trim() === token;
      if (isOwn) await rm(shared, { force: true }).catch(() => undefined);
    },
  };
}
