import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { finished } from 'node:stream';
import { killGroup, spawnGroup } from '../../src/adapters/git/git-command.ts';

/** A request for a repository, for {@link SmartHttpServerOptions.authenticate}. */
export interface GitHttpRequest {
  /** Path as in the URL, without `.git`. */
  readonly repository: string;
  readonly service: 'fetch' | 'push';
  readonly username: string | undefined;
  readonly password: string | undefined;
}

export interface SmartHttpServerOptions {
  /** Folder of bare repositories, each `NAME.git`. */
  readonly root: string;
  /** `PATH` of git and of the repositories' hooks. */
  readonly searchPath: string;
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** A free port by default. */
  readonly port?: number;
  /** Whether the request is allowed; by default every request is. */
  readonly authenticate?: (request: GitHttpRequest) => boolean | Promise<boolean>;
  /** Called after the answer to a push, which may have refused some branches. */
  readonly pushed?: (repository: string) => void;
  /** Largest request body, in bytes as sent; 1 GiB by default. */
  readonly maxRequestBytes?: number;
  /** Requests at one time; 64 by default. */
  readonly maxConcurrent?: number;
}

export interface SmartHttpServer {
  /** Resolves when the server listens; `url` has no slash at its end. */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Aborts the requests under way, and stops listening. */
  stop(): Promise<void>;
}

const ROUTE =
  /^\/((?:[A-Za-z0-9_][A-Za-z0-9._-]*\/)*[A-Za-z0-9_][A-Za-z0-9._-]*?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/;
const REQUEST_DEADLINE_MS = 15 * 60_000;

/**
 * Serves bare repositories over git's smart HTTP protocol: `git http-backend` answers each request. Bodies are streamed.
 * Hooks of the repositories run; git settings of the user and of the machine are ignored.
 */
export function createSmartHttpServer(options: SmartHttpServerOptions): SmartHttpServer {
  const active = new Set<() => void>();
  const server: Server = createServer({ requestTimeout: REQUEST_DEADLINE_MS, headersTimeout: 30_000 });
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    answer(options, active, request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'the request could not be handled');
    });
  };
  server.on('request', handle);
  // A refusal is sent before the client sends the body of its push.
  server.on('checkContinue', handle);
  return {
    start: async () => {
      const host = options.host ?? '127.0.0.1';
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(options.port ?? 0, host, resolve);
      });
      const { port } = server.address() as AddressInfo;
      return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, port };
    },
    stop: async () => {
      for (const end of active) end();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  options: SmartHttpServerOptions,
  active: Set<() => void>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const route = ROUTE.exec(url.pathname);
  const [, name = '', action = ''] = route ?? [];
  const service = action === 'info/refs' ? url.searchParams.get('service') : action;
  const known = service === 'git-upload-pack' || service === 'git-receive-pack';
  if (route === null || !known) return refuse(response, route === null ? 404 : 403, 'only smart HTTP is served here');
  if (request.method !== (action === 'info/refs' ? 'GET' : 'POST')) return refuse(response, 405, 'wrong method');
  const asked = { repository: name, service: service === 'git-upload-pack' ? 'fetch' : 'push' } as const;
  const { username, password } = basicCredentials(request.headers.authorization);
  if (options.authenticate !== undefined && !(await options.authenticate({ ...asked, username, password }))) {
    response.setHeader('www-authenticate', 'Basic realm="git", charset="UTF-8"');
    return refuse(response, 401, 'the credentials are missing or wrong');
  }
  const exists = (await stat(join(options.root, `${name}.git`, 'HEAD')).catch(() => undefined)) !== undefined;
  if (!exists) return refuse(response, 404, 'there is no such repository');
  if (active.size >= (options.maxConcurrent ?? 64)) return refuse(response, 503, 'too many requests at one time');
  const limit = options.maxRequestBytes ?? 1024 ** 3;
  if (Number(request.headers['content-length'] ?? 0) > limit) return refuse(response, 413, 'the request is too large');
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
  const environment = cgiEnvironment(options, request, {
    path: `/${name}.git/${action}`,
    query: url.search.slice(1),
    username,
  });
  const succeeded = await bridge(environment, { root: options.root, limit, active }, request, response);
  // Before a large push, git sends one flush packet to learn whether it is authorized.
  const probe = request.headers['content-length'] === '4';
  if (succeeded && action === 'git-receive-pack' && !probe) options.pushed?.(name);
}

function refuse(response: ServerResponse, status: number, text: string): void {
  // The connection is closed, because the rest of the body is not read.
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${text}\n`);
}

function basicCredentials(header: string | undefined): { readonly username?: string; readonly password?: string } {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return {};
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? {} : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function cgiEnvironment(
  options: SmartHttpServerOptions,
  request: IncomingMessage,
  target: { readonly path: string; readonly query: string; readonly username: string | undefined },
): Record<string, string> {
  const { headers } = request;
  const { root, searchPath } = options;
  const optional = (name: string, value: string | undefined): Record<string, string> =>
    value === undefined ? {} : { [name]: value };
  return {
    PATH: searchPath,
    LC_ALL: 'C',
    HOME: root,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.receivepack',
    GIT_CONFIG_VALUE_0: 'true',
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    GATEWAY_INTERFACE: 'CGI/1.1',
    SERVER_PROTOCOL: 'HTTP/1.1',
    REQUEST_METHOD: request.method ?? 'GET',
    PATH_INFO: target.path,
    QUERY_STRING: target.query,
    REMOTE_ADDR: request.socket.remoteAddress ?? '',
    ...optional('REMOTE_USER', target.username),
    ...optional('CONTENT_TYPE', headers['content-type']),
    ...optional('CONTENT_LENGTH', headers['content-length']),
    ...optional('HTTP_CONTENT_ENCODING', headers['content-encoding']),
    ...optional('GIT_PROTOCOL', protocolHeader(headers['git-protocol'])),
  };
}

function protocolHeader(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[a-z0-9=:]{1,100}$/.test(value) ? value : undefined;
}

/** Answers one request by `git http-backend`. Resolves, when the response is over, with whether git and the response succeeded. */
function bridge(
  environment: Record<string, string>,
  limits: { readonly root: string; readonly limit: number; readonly active: Set<() => void> },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const child = spawnGroup({ program: 'git', args: ['http-backend'], environment, directory: limits.root });
  const end = (): void => killGroup(child);
  limits.active.add(end);
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > limits.limit) {
      end();
      request.destroy();
    }
  });
  child.stdin.on('error', () => undefined);
  child.stderr.on('data', () => undefined);
  request.pipe(child.stdin);
  const parse = createCgiParser();
  child.stdout.on('data', (chunk: Buffer) => {
    const parsed = parse(chunk);
    if (parsed === undefined) return;
    if (parsed === 'malformed') return end();
    if (parsed.head !== undefined) response.writeHead(parsed.head.status, parsed.head.headers);
    if (parsed.body.length > 0 && !response.write(parsed.body)) {
      child.stdout.pause();
      response.once('drain', () => child.stdout.resume());
    }
  });
  // The client has disconnected.
  response.once('close', () => {
    if (!response.writableFinished) end();
  });
  return new Promise((resolve) => {
    const finish = (code: number | null): void => {
      limits.active.delete(end);
      if (!response.headersSent) refuse(response, 500, 'git gave no answer');
      response.end();
      const succeeded = code === 0 && response.statusCode === 200;
      finished(response, (error) => resolve(succeeded && error == null));
    };
    child.once('error', () => finish(null));
    child.once('close', finish);
  });
}

/** A part of a CGI program's output: the head, once, and bytes of the body. */
interface CgiPart {
  readonly head: { readonly status: number; readonly headers: Record<string, string> } | undefined;
  readonly body: Buffer;
}

const MAX_HEAD_BYTES = 64 * 1024;

/** Separates head and body of a CGI program's output; undefined while the head is not complete. */
function createCgiParser(): (chunk: Buffer) => CgiPart | 'malformed' | undefined {
  let pending: Buffer = Buffer.alloc(0);
  let inBody = false;
  return (chunk) => {
    if (inBody) return { head: undefined, body: chunk };
    pending = Buffer.concat([pending, chunk]);
    const end = /\r?\n\r?\n/.exec(pending.toString('latin1', 0, MAX_HEAD_BYTES));
    if (end === null) return pending.length > MAX_HEAD_BYTES ? 'malformed' : undefined;
    inBody = true;
    const head = pending.toString('latin1', 0, end.index);
    const body = pending.subarray(end.index + end[0].length);
    pending = Buffer.alloc(0);
    return { head: parseHead(head), body };
  };
}

function parseHead(text: string): { readonly status: number; readonly headers: Record<string, string> } {
  const headers: Record<string, string> = {};
  let status = 200;
  for (const line of text.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10) || 500;
    else if (name !== '') headers[name] = value;
  }
  return { status, headers };
}
