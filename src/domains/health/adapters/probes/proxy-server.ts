import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { limitConnections } from '../../../../http/connections.ts';
import { given } from '../../../../model/values/given.ts';
import type { Log } from '../../../../ports/log.ts';
import { PROBE_HEADER_PREFIX } from '../../probes/headers.ts';
import { answerOf, type ProbeOutcome } from '../../probes/outcome.ts';
import type { ProbeList } from '../../probes/probe-list.ts';
import type { createProbeMetrics } from '../../probes/probe-metrics.ts';
import { readProbeRequest } from '../../probes/probe-request.ts';
import type { ProbeTarget } from '../../probes/target.ts';
import type { RawHeaders } from './http-probe.ts';
import type { ProbeCall, Prober } from './prober.ts';

/** What both listeners of a probe proxy need. */
export interface ProbeProxyDeps {
  readonly prober: Prober;
  readonly metrics: ReturnType<typeof createProbeMetrics>;
  readonly log: Log;
  /** For applications, if the probe names no `User-Agent`. */
  readonly userAgent: string;
}

/** A listener on all addresses of the Pod. */
export interface ProbeListener {
  readonly port: number;
  /** Accepts no new connections, and ends those that are open. */
  stop(): Promise<void>;
}

const LIMITS = {
  maxHeaderSize: 64 * 1024,
  requireHostHeader: false,
  // A timer for each connection does what these do, and does not wake up a process that rests.
  headersTimeout: 0,
  requestTimeout: 0,
  connectionsCheckingInterval: 2 ** 31 - 1,
} as const;
/** The kubelet sends a request at once. */
const HEADERS_MS = 1_000;
/** Shared by address: the kubelet is not kept away by others. */
const MAX_CONNECTIONS = 2_048;

/**
 * The requests of the Application Probe Proxy: probes, `/ready` and `/metrics`. With a list only its probes are passed on.
 * `isTerminating`: whether the process is about to end.
 */
export function proxyRequests(
  deps: ProbeProxyDeps,
  list: ProbeList | undefined,
  isTerminating: () => boolean,
): RequestListener {
  return (request, response) => {
    const { url = '' } = request;
    const [path] = url.split('?', 1);
    if (path === '/ready') {
      return isTerminating() ? answer(response, 503, 'TERMINATING') : answer(response, 200, 'READY');
    }
    if (path === '/metrics') {
      response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
      response.end(deps.metrics.text());
      return undefined;
    }
    const asked = readProbeRequest(url, (name) => headerOf(request, name));
    const { type, target } = asked;
    const listed = target === undefined || list === undefined ? undefined : list.timeoutOf(inUtf8(target));
    const isAllowed = list === undefined || listed !== undefined;
    if (target === undefined || !isAllowed) return conclude(deps, response, type, { type: 'unknown', status: 503 });
    const timeoutSeconds = Math.min(asked.timeoutSeconds, listed ?? asked.timeoutSeconds);
    return pass(deps, request, response, { target, timeoutSeconds });
  };
}

/** The requests of the listed Virtual Probes; there is nothing else at this port. */
export function virtualRequests(deps: ProbeProxyDeps, list: ProbeList): RequestListener {
  return (request, response) => {
    const { url = '' } = request;
    const virtual = list.virtual(utf8(url));
    if (virtual === undefined) return conclude(deps, response, 'http', { type: 'unknown', status: 404 });
    const { port, host, timeoutSeconds } = virtual;
    const path = url.slice(`/${port}`.length);
    const target = { type: 'http', port, path, scheme: 'HTTP', ...given({ host }) } as const;
    return pass(deps, request, response, { target, timeoutSeconds });
  };
}

function pass(
  deps: ProbeProxyDeps,
  request: IncomingMessage,
  response: ServerResponse,
  { target, timeoutSeconds }: Pick<ProbeCall, 'target' | 'timeoutSeconds'>,
): void {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const headers = passedHeaders(request, deps.userAgent);
  // Node gives header bytes as Latin-1; a gRPC message is UTF-8.
  const asked = target.type === 'grpc' ? inUtf8(target) : target;
  deps
    .prober({ target: asked, headers, timeoutSeconds, signal: gone.signal })
    .then((outcome) => conclude(deps, response, target.type, outcome, target))
    .catch((error: unknown) => deps.log.error('a probe could not be answered', { error }));
}

function conclude(
  { metrics, log }: ProbeProxyDeps,
  response: ServerResponse,
  type: ProbeTarget['type'],
  outcome: ProbeOutcome,
  target?: ProbeTarget,
): void {
  metrics.count(type, outcome.type);
  if (outcome.type !== 'healthy') log.debug('a probe was answered', { outcome, target });
  const { status, word } = answerOf(outcome);
  answer(response, status, word);
}

function answer(response: ServerResponse, status: number, word: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(`${word}\n`);
}

/** Belong to one connection, or to a body, which is not passed on. */
const HOP_HEADERS = [
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'content-length',
];

function passedHeaders({ rawHeaders, headers }: IncomingMessage, userAgent: string): RawHeaders {
  const passed: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const lower = name.toLowerCase();
    if (lower.startsWith(PROBE_HEADER_PREFIX) || HOP_HEADERS.includes(lower)) continue;
    passed.push(name, rawHeaders[at + 1] ?? '');
  }
  return headers['user-agent'] === undefined ? [...passed, 'User-Agent', userAgent] : passed;
}

/** The first value of a header. */
function headerOf({ headersDistinct }: IncomingMessage, name: string): string | undefined {
  return headersDistinct[name.toLowerCase()]?.[0];
}

/** The target with its texts in UTF-8, as they are written in the Pod. */
function inUtf8<Target extends ProbeTarget>(target: Target): Target {
  const entries = Object.entries(target).map(([key, value]) => [key, typeof value === 'string' ? utf8(value) : value]);
  return Object.fromEntries(entries) as Target;
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

/** Starts a listener; port 0 lets the system choose. Rejects if the port cannot be bound. */
export async function listenForProbes(port: number, requests: RequestListener): Promise<ProbeListener> {
  const server = createServer(LIMITS, requests);
  limitConnections(server, MAX_CONNECTIONS);
  cutOffSlowClients(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Ends a connection whose request is not there in time, and allows only one request for each connection. */
function cutOffSlowClients(server: Server): void {
  const timers = new WeakMap<Socket, NodeJS.Timeout>();
  server.on('connection', (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), HEADERS_MS);
    timers.set(socket, timer);
    socket.once('close', () => clearTimeout(timer));
  });
  server.prependListener('request', ({ socket }, response) => {
    clearTimeout(timers.get(socket));
    response.shouldKeepAlive = false;
  });
}
