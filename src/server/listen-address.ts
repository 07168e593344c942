import { isIP } from 'node:net';
import { quote } from '../model/fleet/ids.ts';
import { ok, problem, type Result } from '../model/values/result.ts';

/** An address to listen on or to connect to. Listening on port 0 lets the system choose one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A Unix socket: an absolute path. The mode of its file says who may open it. */
export interface SocketAddress {
  readonly socket: string;
}

/** An address of the HTTP API. */
export type HttpAddress = ListenAddress | SocketAddress;

const SOCKET_SCHEME = 'unix:';

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

/** Parses `unix:PATH`, whose path may be relative, or what {@link parseListenAddress} does. */
export function parseHttpAddress(text: string): Result<HttpAddress> {
  const socket = socketIn(text);
  return socket === undefined ? parseListenAddress(text) : socket.ok ? ok({ socket: socket.value }) : socket;
}

/** The path in `unix:PATH`; undefined: the text does not begin with `unix:`. */
export function socketIn(text: string): Result<string> | undefined {
  if (!text.startsWith(SOCKET_SCHEME)) return undefined;
  const path = text.slice(SOCKET_SCHEME.length);
  return path === '' || /\p{C}/u.test(path)
    ? problem(`${quote(text)} is not unix:PATH (for example unix:/run/fleetrelay/api.sock)`)
    : ok(path);
}

/** The host in the address of an API: a URL, or `unix:PATH`, which is this machine. */
export function apiHost(address: string): string {
  return address.startsWith(SOCKET_SCHEME) ? '127.0.0.1' : new URL(address).hostname.replaceAll(/[[\]]/g, '');
}

/** Formats as `HOST:PORT`, as in a URL, or as `unix:PATH`. */
export function displayAddress(address: HttpAddress): string {
  if ('socket' in address) return `${SOCKET_SCHEME}${address.socket}`;
  const { host, port } = address;
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
