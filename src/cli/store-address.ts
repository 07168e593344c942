import { parseRedisNode } from '../manifest/server-address.ts';
import type { JsonObject } from '../model/text/json.ts';
import { ok, problem, type Result } from '../model/values/result.ts';

const REDIS = /^(rediss?):\/\/(?:([^/@]*)@)?([^/?#@]*)(?:\/(\d{1,5})?)?$/;
const FORMS = 'memory, sqlite:PATH, redis://HOST:PORT or rediss://HOST:PORT, with /NUMBER for another database than 0';

/** Parses `--store` into `store` of a RelayConfig. The problem never repeats the address, which may hold a password. */
export function parseStoreAddress(text: string): Result<JsonObject> {
  if (text === 'memory' || text === 'sqlite') return ok({ type: text });
  if (/^sqlite:./.test(text)) return ok({ type: 'sqlite', path: text.slice('sqlite:'.length) });
  const match = REDIS.exec(text);
  if (match === null) return problem(`--store must be ${FORMS}`);
  const [, scheme, user = '', host = '', database = '0'] = match;
  if (user.includes(':'))
    return problem('the address in --store holds a password: put it into a --store-password-file');
  if (parseRedisNode(host) === undefined)
    return problem('--store names no HOST:PORT of a Redis server; several are named in a RelayConfig');
  const redis = { nodes: [host], database: Number(database) };
  const named = { ...redis, ...(user !== '' && { username: user }), ...(scheme === 'rediss' && { tls: {} }) };
  return ok({ type: 'redis', redis: named });
}
