import { isIPv6 } from 'node:net';

/** Formats as `host:port`, with the brackets that IPv6 needs. */
export function addressOf(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** The host of `host:port`, without brackets; undefined for any other text. */
export function hostOf(address: string): string | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(address);
  if (match === null || Number(match[3]) > 65_535) return undefined;
  return match[1] ?? match[2];
}
