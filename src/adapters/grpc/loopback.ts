import { isIPv6 } from 'node:net';

/** Is this host an address of this machine alone? Names other than `localhost` are not asked for. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** `host:port`, with the brackets that IPv6 needs. */
export function addressOf(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** The host of `host:port`, without brackets; undefined if it is not that. */
export function hostOf(address: string): string | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(address);
  if (match === null || Number(match[3]) > 65_535) return undefined;
  return match[1] ?? match[2];
}
