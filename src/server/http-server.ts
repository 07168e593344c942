import { constants, randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  createServer as createSecureServer,
  type Server as SecureServer,
  type ServerOptions as SecureServerOptions,
} from 'node:https';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { limitConnections } from '../http/connections.ts';
import { createLimitedLog } from '../http/limited-log.ts';
import { isLoopback } from '../http/loopback.ts';
import { ok, problem, type Result } from '../model/values/result.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { createActs } from './acts.ts';
import { apiRoutes } from './api-routes.ts';
import { createAudit } from './audit.ts';
import type { ApiAccess } from './authorize.ts';
import { type GitHooks, hookRoutes } from './hook-routes.ts';
import { refuse } from './http-error.ts';
import { type Listening, listenOn } from './listen.ts';
import { displayAddress, type HttpAddress } from './listen-address.ts';
import { createPeople, type Person } from './people.ts';
import type { PeopleApi } from './people-api.ts';

/** Whether the process can do its work. Read at each request, so it must be cheap. */
export interface Health {
  /** `reasons`: sentences; at most one if the process is ready, which names its role. Every caller can read them: they hold no secret. */
  ready(): { readonly ok: boolean; readonly reasons: readonly string[] };
}

/** The parts of the HTTP server. A part that is absent has no routes. */
export interface HttpServerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly health?: Health;
  /** Returns the metrics in the Prometheus text format. */
  readonly metrics?: () => Promise<string>;
  readonly api?: PeopleApi;
  /** What the API has changed is gone with the process, because its store is. */
  readonly storeForgets?: boolean;
  /** The audit log of the API, which needs it. */
  readonly audit?: AuditLog;
  readonly hooks?: GitHooks;
}

/** The address of the server, and who may use the API. */
export interface HttpServerOptions {
  readonly listen: Listening;
  readonly people?: readonly Person[];
  /** Token of callers on this machine who can read the server's files; absent: there is none. */
  readonly localToken?: string;
  /** Absent: plain text. */
  readonly tls?: HttpTls;
  /** Requests wait until it has resolved; absent: they are answered at once. */
  readonly opened?: Promise<void>;
}

/** Certificates and key as PEM. */
export interface HttpTls {
  readonly certificate: string;
  readonly key: string;
  /** CA of people who show a certificate instead of a token. */
  readonly clientCa?: string;
}

/** A server for health, metrics, hooks and the API. */
export interface HttpServer {
  /** Resolves with the bound address. Rejects if it cannot be bound. */
  start(): Promise<HttpAddress>;
  /** Uses other certificates for new connections. Throws if they are not valid PEM. */
  renew(tls: HttpTls): void;
  /** Accepts no new requests, waits up to five seconds for those under way, and closes. */
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
const HANDSHAKE_MS = 5_000;
const MAX_CONNECTIONS = 256;

/**
 * Makes the server, which does not listen yet. A problem if the API would know no caller: on loopback it needs people with
 * tokens of at least 16 characters, client certificates, or a local token; on another address people or client certificates.
 */
export function createHttpServer(deps: HttpServerDeps, options: HttpServerOptions): Result<HttpServer> {
  const { listen, tls, opened } = options;
  const people = createPeople(options.people ?? [], options.localToken);
  if (!people.ok) return people;
  const access: ApiAccess = {
    people: people.value,
    certificates: tls?.clientCa !== undefined,
    socket: 'socket' in listen,
    now: deps.clock.now,
  };
  const local = 'socket' in listen || isLoopback(listen.host);
  const isKnown = access.socket || access.certificates || (local ? !people.value.isEmpty : options.people?.length);
  if (deps.api !== undefined && !isKnown) {
    return problem(
      `the HTTP API would know no caller on ${displayAddress(listen)}: give it a token (--api-token-file, or http.people in a RelayConfig), or a loopback address such as 127.0.0.1:9980`,
    );
  }
  const app = createApp(deps, access);
  const answer = answering(getRequestListener(app.fetch, { overrideGlobalObjects: false }), opened);
  const secure =
    tls === undefined
      ? undefined
      : createSecureServer({ ...LIMITS, handshakeTimeout: HANDSHAKE_MS, ...tlsOptions(tls) }, answer);
  const server = secure ?? createServer(LIMITS, answer);
  limitConnections(server, MAX_CONNECTIONS);
  return ok({
    start: () => listenOn(server, listen),
    renew: (renewed) => secure?.setSecureContext(tlsOptions(renewed)),
    stop: () => stop(server, deps.clock),
  });
}

/** Answers from when it is opened on. Those who ask before wait. */
function answering(answer: RequestListener, opened: Promise<void> | undefined): RequestListener {
  let answerNow = opened === undefined;
  void opened?.then(() => {
    answerNow = true;
  });
  return (request, response) => {
    if (answerNow) answer(request, response);
    else void opened?.then(() => answer(request, response));
  };
}

/** A client certificate that is not valid does not break the connection: the API answers with the reason. */
function tlsOptions({ certificate, key, clientCa }: HttpTls): SecureServerOptions {
  const asked = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false };
  return {
    cert: certificate,
    key,
    minVersion: 'TLSv1.2',
    // A client could renegotiate with another certificate, which Node would not verify.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...asked,
  };
}

function createApp(deps: HttpServerDeps, access: ApiAccess): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const strangers = createLimitedLog(deps.log, deps.clock);
  app.use(async (context, next) => {
    await next();
    context.header('Cache-Control', 'no-store');
    context.header('X-Content-Type-Options', 'nosniff');
  });
  app.onError((error, context) => {
    strangers.error('an HTTP request failed', { method: context.req.method, path: context.req.path, error });
    return refuse(context, 'Internal', 'an internal error; the log of the server says more');
  });
  app.notFound((context) => refuse(context, 'NotFound', `there is nothing at ${context.req.path.slice(0, 200)}`));
  if (deps.health !== undefined) app.route('/', healthRoutes(deps.health, deps.metrics));
  if (deps.hooks !== undefined) app.route('/hooks', hookRoutes(deps.hooks, { api: access, strangers }, deps.log));
  if (deps.api !== undefined && deps.audit !== undefined) {
    const { audit: log } = deps;
    const audit = createAudit({ ...deps, audit: log, id: () => randomUUID() });
    const carryOut = createActs(deps, { storeForgets: deps.storeForgets ?? false });
    app.route('/api/v1', apiRoutes(deps.api, access, audit, log, carryOut));
  }
  return app;
}

/** `/healthz`, `/readyz` with the reasons, and `/metrics` if there are any. */
function healthRoutes(health: Health, metrics: (() => Promise<string>) | undefined): Hono {
  const routes = new Hono();
  routes.get('/healthz', (context) => context.text('ok\n'));
  routes.get('/readyz', (context) => {
    const { ok: isReady, reasons } = health.ready();
    const lines = isReady ? [reasons[0] ?? 'ready'] : ['not ready', ...reasons.map((reason) => `- ${reason}`)];
    return context.text(`${lines.join('\n')}\n`, isReady ? 200 : 503);
  });
  const type = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };
  if (metrics !== undefined) routes.get('/metrics', async (context) => context.body(await metrics(), 200, type));
  return routes;
}

async function stop(server: Server | SecureServer, clock: Clock): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cancel = clock.schedule(DRAIN_MS, () => server.closeAllConnections());
  await closed;
  cancel();
}
