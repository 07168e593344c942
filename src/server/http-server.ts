import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { ok, problem, type Result } from '../model/result.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { ServerApi } from './api.ts';
import { apiRoutes } from './api-routes.ts';
import { type Health, healthRoutes } from './health-routes.ts';
import { type GitHooks, hookRoutes } from './hook-routes.ts';
import { refuse } from './http-error.ts';
import { displayAddress, isLoopback, type ListenAddress } from './listen-address.ts';

/** What the HTTP server shows. Each part that is left out has no routes. */
export interface HttpServerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly health: Health;
  /** Text in the Prometheus format. */
  readonly metrics?: () => Promise<string>;
  readonly api?: ServerApi;
  readonly hooks?: GitHooks;
}

/** Where the server listens and what a caller of the API must know. */
export interface HttpServerOptions {
  readonly listen: ListenAddress;
  /** Bearer token of the API. May be left out only if `listen` is a loopback address. */
  readonly token?: string;
}

/** A server for health, metrics, hooks and the API. */
export interface HttpServer {
  /** Rejects if the address cannot be listened on. Resolves with the bound address. */
  start(): Promise<ListenAddress>;
  /** Takes no new requests, lets those under way end (at most five seconds) and closes. */
  stop(): Promise<void>;
}

const DRAIN_MS = 5_000;
const LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  maxHeaderSize: 16_384,
  connectionsCheckingInterval: 2_000,
} as const;
const MAX_CONNECTIONS = 256;

/**
 * Makes the server without listening yet. A problem if the API would be open to other machines: on an address that is
 * not loopback it needs a token of at least 16 characters.
 */
export function createHttpServer(deps: HttpServerDeps, options: HttpServerOptions): Result<HttpServer> {
  const { listen, token } = options;
  const local = isLoopback(listen.host);
  if (deps.api !== undefined && !local && token === undefined) {
    return problem(
      `the HTTP API would be open to other machines on ${displayAddress(listen)}: give it a token (--api-token-file), or a loopback address such as 127.0.0.1:${listen.port}`,
    );
  }
  if (token !== undefined && !/^[!-~]{16,}$/.test(token)) {
    return problem('the token of the HTTP API must be at least 16 printable characters without spaces');
  }
  const app = createApp(deps, local, token);
  const server = createServer(LIMITS, getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  server.maxConnections = MAX_CONNECTIONS;
  return ok({ start: () => start(server, listen), stop: () => stop(server, deps.clock) });
}

function createApp(deps: HttpServerDeps, local: boolean, token: string | undefined): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    context.header('Cache-Control', 'no-store');
    context.header('X-Content-Type-Options', 'nosniff');
  });
  app.onError((error, context) => {
    deps.log.error('an HTTP request failed', { method: context.req.method, path: context.req.path, error });
    return refuse(context, 'Internal', 'an internal error; the log of the server says more');
  });
  app.notFound((context) => refuse(context, 'NotFound', `there is nothing at ${context.req.path.slice(0, 200)}`));
  app.route('/', healthRoutes(deps.health, deps.metrics));
  if (deps.hooks !== undefined) app.route('/hooks', hookRoutes(deps.hooks, deps.log, local));
  if (deps.api !== undefined) app.route('/api/v1', apiRoutes(deps.api, token));
  return app;
}

function start(server: Server, listen: ListenAddress): Promise<ListenAddress> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: listen.host, port: listen.port }, () => {
      server.off('error', reject);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? { host: listen.host, port: bound.port } : listen);
    });
  });
}

async function stop(server: Server, clock: Clock): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cancel = clock.schedule(DRAIN_MS, () => server.closeAllConnections());
  await closed;
  cancel();
}
