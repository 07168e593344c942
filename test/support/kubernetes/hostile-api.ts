import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** An API server on loopback, without TLS, that answers as it is told to. */
export interface HostileApi {
  readonly url: string;
  /** All requests so far. */
  readonly requests: readonly HostileRequest[];
  /** The next requests of this sort get these answers, one each, before what {@link always} says. */
  next(sort: RequestSort, ...answers: Answer[]): void;
  /** What requests of this sort get when nothing else is told; default: 404. */
  always(sort: RequestSort, answer: Answer): void;
  /** Sends to all watches that are open. */
  sendEvents(...events: readonly unknown[]): void;
  /** Ends all watches that are open in order, after this text. */
  endWatches(text?: string): void;
  /** Cuts all connections, as a crash does. */
  cutConnections(): void;
  /** Connections that have been opened so far. */
  connections(): number;
  /** Watches that are open now. */
  openWatches(): number;
  close(): Promise<void>;
}

/** `stream`: a watch that begins with a list. `other`: neither list nor watch (one object, discovery, writes). */
export type RequestSort = 'list' | 'stream' | 'watch' | 'other';

export interface HostileRequest {
  readonly sort: RequestSort;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
}

/** Writes an answer, or does not. */
export type Answer = (response: ServerResponse, request: HostileRequest) => void;

/** Starts one. A request without a name after the kind's plural counts as a list. */
export async function startHostileApi(): Promise<HostileApi> {
  const requests: HostileRequest[] = [];
  const queues: Record<RequestSort, Answer[]> = { list: [], stream: [], watch: [], other: [] };
  const defaults: Record<RequestSort, Answer> = { list: notFound, stream: notFound, watch: notFound, other: notFound };
  const sockets = new Set<Socket>();
  let connections = 0;
  const watches = new Set<ServerResponse>();
  const server = createServer((incoming, response) => {
    incoming.resume();
    incoming.on('error', () => undefined);
    response.on('error', () => undefined);
    const request = readRequest(incoming);
    requests.push(request);
    const answer = queues[request.sort].shift() ?? defaults[request.sort];
    if (request.sort === 'stream' || request.sort === 'watch') {
      watches.add(response);
      response.on('close', () => watches.delete(response));
    }
    answer(response, request);
  });
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  const cutConnections = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    next: (sort, ...answers) => void queues[sort].push(...answers),
    always: (sort, answer) => {
      defaults[sort] = answer;
    },
    sendEvents: (...events) => {
      for (const watch of watches) watch.write(lines(events));
    },
    endWatches: (text = '') => {
      for (const watch of watches) watch.end(text);
    },
    cutConnections,
    connections: () => connections,
    openWatches: () => [...watches].filter((watch) => watch.headersSent && !watch.writableEnded).length,
    close: async () => {
      cutConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A `Status`. */
export function refuse(code: number, reason: string, headers: Record<string, string> = {}, details?: unknown): Answer {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: `hostile ${reason}`,
    details,
  };
  return json(body, code, headers);
}

export function json(body: unknown, code = 200, headers: Record<string, string> = {}): Answer {
  return raw(JSON.stringify(body), code, { 'content-type': 'application/json', ...headers });
}

export function raw(body: string | Buffer, code = 200, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(code, headers);
    response.end(body);
  };
}

/** A page of a list of ConfigMaps. */
export function page(items: readonly unknown[], resourceVersion: string, token?: string): Answer {
  const metadata = { resourceVersion, ...(token === undefined ? {} : { continue: token }) };
  return json({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items });
}

/** Events, after which the answer stays open (`hold`), ends in order (`end`) or is cut (`reset`). */
export function events(list: readonly unknown[], then: 'hold' | 'end' | 'reset' = 'hold', rest = ''): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const text = lines(list) + rest;
    const after = (): void => {
      if (then === 'end') response.end();
      if (then === 'reset') response.socket?.resetAndDestroy();
    };
    if (text === '') after();
    else response.write(text, after);
  };
}

/** Says nothing at all. */
export const silence: Answer = () => undefined;

/** Cuts the connection instead of an answer. */
export const reset: Answer = (response) => void response.socket?.resetAndDestroy();

/** Sends `chunk` for as long as the client reads. */
export function endless(begin: string, chunk: () => string): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(begin);
    const more = (): void => {
      while (!response.destroyed && response.write(chunk()));
    };
    response.on('drain', more);
    more();
  };
}

/** A ConfigMap as it stands in a list or an event. */
export function configMap(name: string, resourceVersion: string, data: Record<string, string> = {}): object {
  const metadata = { name, namespace: 'default', uid: `uid-${name}`, resourceVersion };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
}

export function added(name: string, resourceVersion: string, data?: Record<string, string>): object {
  return { type: 'ADDED', object: configMap(name, resourceVersion, data) };
}

export function modified(name: string, resourceVersion: string, data?: Record<string, string>): object {
  return { type: 'MODIFIED', object: configMap(name, resourceVersion, data) };
}

export function deleted(name: string, resourceVersion: string): object {
  return { type: 'DELETED', object: configMap(name, resourceVersion) };
}

export function bookmark(resourceVersion: string, listEnd = false): object {
  const annotations = listEnd ? { 'k8s.io/initial-events-end': 'true' } : undefined;
  return {
    type: 'BOOKMARK',
    object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion, annotations } },
  };
}

/** An ERROR event. */
export function failure(code: number, reason: string): object {
  return {
    type: 'ERROR',
    object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason },
  };
}

const notFound: Answer = (response, request) => refuse(404, 'NotFound')(response, request);

function lines(list: readonly unknown[]): string {
  return list.map((event) => `${typeof event === 'string' ? event : JSON.stringify(event)}\n`).join('');
}

function readRequest({ method = '', url = '', headers }: IncomingMessage): HostileRequest {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const query = Object.fromEntries(searchParams);
  const collection = /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)(\/namespaces\/[^/]+)?\/[^/]+$/.test(pathname);
  return { sort: sortOf(method, collection, query), method, path: pathname, query, headers };
}

function sortOf(method: string, collection: boolean, query: Readonly<Record<string, string>>): RequestSort {
  if (method !== 'GET' || !collection) return 'other';
  if (query.watch !== 'true') return 'list';
  return query.sendInitialEvents === 'true' ? 'stream' : 'watch';
}
