import { BlockList, isIP } from 'node:net';
import { quote } from '../model/ids.ts';
import { ok, problem, type Result } from '../model/result.ts';

/** An address to listen on or to connect to. Listening on port 0 lets the system choose one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Parses `HOST:PORT`, `[IPV6]:PORT`, `:PORT` (all addresses) or `PORT` (loopback). */
export function parseListenAddress(text: string): Result<ListenAddress> {
  const match = /^(?:(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:]*)):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    return problem(`listen address ${quote(text)} is not HOST:PORT (for example 127.0.0.1:9980 or [::1]:9980)`);
  }
  const ipv6 = match[1];
  if (ipv6 !== undefined && isIP(ipv6) !== 6) return problem(`listen address ${quote(text)}: no IPv6 address in "[]"`);
  const host = ipv6 ?? match[2] ?? '127.0.0.1';
  return ok({ host: host === '' ? '0.0.0.0' : host, port });
}

/** Formats as `HOST:PORT`, as in a URL. */
export function displayAddress({ host, port }: ListenAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True if only this machine can reach the host: `localhost`, 127.0.0.0/8 or ::1. Other names may resolve to any address. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
