import type { RedisNode } from '../model/fleet/relay-config.ts';

const REDIS_PORT = 6379;

/** The form of a replica's address, for messages. */
export const REPLICA_ADDRESS =
  'must be HOST:PORT, or an address that begins with http:// or https://, without user and password';

/** True for HOST:PORT and for the http(s) address of an API that has no part that could be a secret. */
export function isReplicaAddress(text: string): boolean {
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url === null || url.host === '') return false;
  return `${url.username}${url.password}${url.search}${url.hash}` === '' && url.pathname === '/';
}

/** Parses `HOST`, `HOST:PORT` or `[IPV6]:PORT`; undefined if the text is none of them. */
export function parseRedisNode(text: string): RedisNode | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? REDIS_PORT : Number(match[3]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}
