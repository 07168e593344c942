import { parseRedisNode } from '../manifest/relay-store.ts';
import type { StoreConfig } from '../model/relay-config.ts';
import { ok, problem, type Result } from '../model/result.ts';

const REDIS = /^(rediss?):\/\/(?:([^/@]*)@)?([^/?#@]*)(?:\/(\d{1,5})?)?$/;
const FORMS = 'memory, sqlite:PATH, redis://HOST:PORT or rediss://HOST:PORT, with /NUMBER for another database than 0';

/** What `--store` says. The problem never repeats the address: there may be a password in it. */
export function parseStoreAddress(text: string): Result<StoreConfig> {
  if (text === 'memory') return ok({ type: 'memory' });
  if (text === 'sqlite') return ok({ type: 'sqlite' });
  if (/^sqlite:./.test(text)) return ok({ type: 'sqlite', path: text.slice('sqlite:'.length) });
  const match = REDIS.exec(text);
  if (match === null) return problem(`--store must be ${FORMS}`);
  const [, scheme, user = '', host = '', database = '0'] = match;
  if (user.includes(':'))
    return problem('the address in --store holds a password: put it into a --store-password-file');
  const node = parseRedisNode(host);
  if (node === undefined)
    return problem('--store names no HOST:PORT of a Redis server; several are named in a RelayConfig');
  return ok({
    type: 'redis',
    nodes: [node],
    ...(user === '' ? {} : { username: { type: 'text', text: user } }),
    database: Number(database),
    ...(scheme === 'rediss' ? { tls: {} } : {}),
    prefix: 'fleetrelay',
  });
}
