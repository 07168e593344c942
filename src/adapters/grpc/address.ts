import { isIPv6 } from 'node:net';

/** True if only this machine can reach the host: `localhost`, `::1` or 127.0.0.0/8. Other names are not resolved. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

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
