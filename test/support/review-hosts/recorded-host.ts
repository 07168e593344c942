import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject, JsonValue } from '../../../src/model/text/json.ts';

/** A comment at the host. */
export interface HostedComment {
  readonly id: number;
  readonly author: number;
  readonly system?: boolean;
  body: string;
}

export interface HostedPullRequest {
  base: string;
  branch: string;
  commit: string;
  /** The number of the repository that the change comes from; undefined: it was deleted. */
  from: number | undefined;
  open: boolean;
  readonly comments: HostedComment[];
}

export interface HostedStatus {
  readonly commit: string;
  readonly state: string;
  readonly context: string;
  readonly description: string;
  readonly ref?: string;
}

/** What a host has, as a test sees and changes it. */
export interface HostState {
  /** The number of the repository of the pull requests. */
  readonly repositoryId: number;
  readonly repository: string;
  readonly account: number;
  readonly pullRequests: Map<number, HostedPullRequest>;
  readonly statuses: HostedStatus[];
  /** What a comment made the host do. */
  readonly executed: string[];
  nextComment: number;
}

/** An answer of a host. */
export interface HostReply {
  readonly status: number;
  readonly body: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HostCall {
  readonly state: HostState;
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly body: JsonObject;
  /** Address of the call, for links to other pages. */
  readonly url: URL;
}

/** The API of a host: which calls it answers, and what it refuses. */
export interface HostApi {
  readonly name: 'github' | 'gitlab' | 'gitea';
  /** Path below which the API is. */
  readonly prefix: string;
  /** Why a call is refused before its route is looked for. */
  readonly admit: (request: IncomingMessage, token: string) => HostReply | undefined;
  readonly routes: readonly (readonly [method: string, path: RegExp, answer: (call: HostCall) => HostReply])[];
  readonly notFound: HostReply;
}

export interface RecordedHost {
  readonly apiUrl: string;
  readonly token: string;
  readonly state: HostState;
  /** Method and path of each call. */
  readonly calls: string[];
  /** Answers a number of the next calls (default: one) with this reply. */
  interrupt(reply: HostReply, calls?: number): void;
  /** Answers as the API again. */
  resume(): void;
  close(): Promise<void>;
}

const REPOSITORY_ID = 1_296_269;
const TOKEN = 'host-token-0123456789';

/** Serves the API on a port of the system's choice. `tls`: with this key and certificate. */
export async function startRecordedHost(
  api: HostApi,
  options: { readonly repository?: string; readonly tls?: { readonly key: string; readonly cert: string } } = {},
): Promise<RecordedHost> {
  const { repository = 'acme/fleet', tls } = options;
  const state: HostState = {
    ...{ repositoryId: REPOSITORY_ID, repository, account: 1, nextComment: 100 },
    ...{ pullRequests: new Map(), statuses: [], executed: [] },
  };
  const calls: string[] = [];
  const interruptions: HostReply[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOfRequest(request);
    calls.push(`${request.method} ${request.url}`);
    const reply = interruptions.shift() ?? answer(api, state, request, text);
    response.writeHead(reply.status, { 'content-type': 'application/json; charset=utf-8', ...reply.headers });
    response.end(JSON.stringify(reply.body));
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => void handle(request, response);
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    apiUrl: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}${api.prefix}`,
    token: TOKEN,
    state,
    calls,
    interrupt: (reply, count = 1) => void interruptions.push(...Array<HostReply>(count).fill(reply)),
    resume: () => void interruptions.splice(0),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(api: HostApi, state: HostState, request: IncomingMessage, text: string): HostReply {
  const refused = api.admit(request, TOKEN);
  if (refused !== undefined) return refused;
  const url = new URL(request.url ?? '', `http://${request.headers.host}`);
  const body = text === '' ? {} : (JSON.parse(text) as JsonObject);
  for (const [method, path, reply] of api.routes) {
    const match = method === request.method ? path.exec(url.pathname.slice(api.prefix.length)) : null;
    if (match === null || !url.pathname.startsWith(api.prefix)) continue;
    const params = match.slice(1).map(decodeURIComponent);
    if (params[0] !== undefined && params[0] !== state.repository) return api.notFound;
    return reply({ state, params: params.slice(1), query: url.searchParams, body, url });
  }
  return api.notFound;
}

async function textOfRequest(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Adds a pull request from the repository itself. */
export function addPullRequest(
  { pullRequests, repositoryId }: HostState,
  number: number,
  request: Partial<HostedPullRequest> & Pick<HostedPullRequest, 'commit'>,
): HostedPullRequest {
  const made = { base: 'main', branch: 'topic', from: repositoryId, open: true, comments: [], ...request };
  pullRequests.set(number, made);
  return made;
}

/** Adds a comment of the account that has the token, or of another one. */
export function addComment(state: HostState, pullRequest: number, body: string, author = state.account): HostedComment {
  const comment = { id: state.nextComment, author, body };
  state.nextComment += 1;
  state.pullRequests.get(pullRequest)?.comments.push(comment);
  return comment;
}

export function findComment(state: HostState, id: number): HostedComment | undefined {
  return [...state.pullRequests.values()].flatMap(({ comments }) => comments).find((comment) => comment.id === id);
}

/** The commits that the repository of the pull requests has. */
export function hasCommit({ pullRequests }: HostState, commit: string): boolean {
  return [...pullRequests.values()].some((request) => request.commit === commit);
}

/** A part of a list by `page`, and the number of the next page. */
export function pageOf<Item>(
  items: readonly Item[],
  query: URLSearchParams,
  defaultSize: number,
): { readonly items: readonly Item[]; readonly next: number | undefined } {
  const size = Math.min(100, Number(query.get('per_page') ?? defaultSize));
  const page = Number(query.get('page') ?? 1);
  return {
    items: items.slice((page - 1) * size, page * size),
    next: page * size < items.length ? page + 1 : undefined,
  };
}
