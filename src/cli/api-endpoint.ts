import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isLoopback } from '../http/loopback.ts';
import { socketIn } from '../server/listen-address.ts';
import { localTokenPath } from '../server/local-token.ts';
import { CliError, EXIT } from './exit-codes.ts';

/** Where a server is asked. */
export interface Endpoint {
  /** Its address, for people. */
  readonly shown: string;
  /** Requests are below it. */
  readonly base: URL;
  /** Path of the Unix socket to ask over; absent: the URL says where. */
  readonly socketPath?: string;
}

/** Parses a URL without credentials, or `unix:PATH`. Throws a usage error. */
export function parseEndpoint(text: string, cwd: string): Endpoint {
  const socket = socketIn(text);
  if (socket?.ok === true) {
    const socketPath = resolve(cwd, socket.value);
    return { shown: `unix:${socketPath}`, base: new URL('http://localhost/'), socketPath };
  }
  const base = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = base !== undefined && base.username === '' && base.password === '';
  if (!isPlain || !['http:', 'https:'].includes(base.protocol)) {
    const example = 'a plain URL such as http://127.0.0.1:9980, or unix:PATH';
    throw new CliError(EXIT.usage, `the server's address must be ${example}`);
  }
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return { shown: base.origin, base };
}

/** True if what is sent there does not leave this machine. */
export function isLocal({ base, socketPath }: Endpoint): boolean {
  return socketPath !== undefined || isLoopback(hostOf(base));
}

/** True if what is sent there can be read on the way. */
export function isOverheard(endpoint: Endpoint): boolean {
  return endpoint.base.protocol === 'http:' && !isLocal(endpoint);
}

/** The token of a server without configured people, and the IP address that it is for. */
export interface LocalToken {
  readonly token: string;
  readonly address: string;
}

/**
 * Finds the token that a server of this user has left for its loopback address. Undefined: there is none. The token belongs to
 * one of the addresses of `localhost`, and must not be sent to the other: a server of another user could listen there.
 */
export async function findLocalToken(
  endpoint: Endpoint,
  env: Readonly<Record<string, string | undefined>>,
): Promise<LocalToken | undefined> {
  const { base, socketPath } = endpoint;
  if (socketPath !== undefined || !isLocal(endpoint)) return undefined;
  const host = hostOf(base);
  const port = Number(base.port === '' ? (base.protocol === 'https:' ? 443 : 80) : base.port);
  for (const address of host === 'localhost' ? ['127.0.0.1', '::1'] : [host]) {
    const path = localTokenPath(env, { host: address, port });
    // A file that cannot be read belongs to a server of another user.
    const text = path === undefined ? '' : await readFile(path, 'utf8').catch(() => '');
    if (/^[!-~]+\n?$/.test(text)) return { token: text.trim(), address };
  }
  return undefined;
}

function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/[[\]]/g, '');
}
