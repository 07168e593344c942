import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { userInfo } from 'node:os';
import type { DeltaView } from '../api/history-api.ts';
import type {
  ClusterView,
  DesiredView,
  ExplainRequest,
  Explanation,
  FleetView,
  HeldRemovalsView,
  OutputView,
  SourceView,
} from '../api/server-api.ts';
import type { ImpactRequest, ImpactView, WhyNotView } from '../api/why-api.ts';
import type { Diagnostic } from '../model/fleet/diagnostic.ts';
import type { ViewFilter } from '../model/fleet/view-filter.ts';
import type { PlanView } from '../model/plan/plan.ts';
import { type JsonObject, parseJson } from '../model/text/json.ts';
import { errorText } from '../model/text/messages.ts';
import { printable } from '../model/text/printable.ts';
import { HAS_EXPIRED, NOT_YET_VALID } from '../model/text/wrong-clock.ts';
import { given } from '../model/values/given.ts';
import type { AuditEntry } from '../ports/audit-log.ts';
import type { ErrorBody } from '../server/http-error.ts';
import { type Endpoint, findLocalToken, isLocal, isOverheard, type LocalToken, parseEndpoint } from './api-endpoint.ts';
import { type ApiOptions, addressOf } from './api-options.ts';
import { CliError, EXIT, type ExitCode } from './exit-codes.ts';
import type { TextOutput } from './output.ts';

/** The lists that a server has, by their path. */
interface Lists {
  readonly clusters: ClusterView;
  readonly outputs: OutputView;
  readonly desired: DesiredView;
  readonly sources: SourceView;
  readonly removals: HeldRemovalsView;
  readonly diagnostics: Diagnostic;
  /** The newest entries, oldest first. */
  readonly audit: AuditEntry;
  /** The newest first. */
  readonly history: DeltaView;
}

type Texts = Readonly<Record<string, string | undefined>>;

/** A running server, asked over HTTP. Every call rejects with a {@link CliError} if there is no answer. */
export interface Api {
  /** Its address as the caller gave it: a URL, or `unix:PATH`. */
  readonly address: string;
  status(): Promise<FleetView>;
  /** Members of the query that are undefined are left out. */
  list<Name extends keyof Lists>(name: Name, query?: Texts): Promise<readonly Lists[Name][]>;
  /** Rows of a view of the server that the filter selects. */
  view(name: string, filter?: ViewFilter): Promise<readonly JsonObject[]>;
  /** The answer of the server at a path of the API, such as `['dataplanes', 'default', 'db']`. */
  read<View>(path: readonly string[]): Promise<View>;
  explain(question: Record<keyof ExplainRequest, string | undefined>): Promise<Explanation>;
  whyNot(cluster: string, object: string): Promise<WhyNotView>;
  impact(question: Record<keyof ImpactRequest, string | undefined>): Promise<ImpactView>;
  /** What merging a ref would do. May take some minutes. */
  plan(ref: string, source: string | undefined): Promise<PlanView>;
  /** A recording of the inputs of the engine. Its bytes may end too early, which its lines show. */
  recording(): Promise<AsyncIterable<Uint8Array>>;
  /** Asks the server to act, in the caller's name. `path` is for example `['clusters', 'east', 'suspend']`. */
  act<View>(path: readonly string[], details?: Texts): Promise<View>;
}

/** What the server says of every act, beside its view. */
interface WithNote {
  readonly note?: string;
}

/** The part of the process that asking a server needs. */
interface ApiIo {
  readonly env: Texts;
  readonly cwd: string;
  readonly stderr: TextOutput;
}

const DEADLINE_SECONDS = 15;
/** For answers that take the server some work. */
const LONG_SECONDS = 240;
const MAX_ANSWER_BYTES = 512 << 20;
const MAX_TOKEN_BYTES = 4_096;
const MAX_PEM_BYTES = 1 << 20;
const MAX_NAME = 200;

const EXIT_OF_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.usage,
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.notFound,
  409: EXIT.refused,
};

/**
 * Finds the server's address and the caller's credentials in options and environment. Asks nothing yet. An answer must be here
 * within `seconds`, or {@link DEADLINE_SECONDS}.
 */
export async function connect(context: ApiIo, options: ApiOptions, seconds?: number): Promise<Api> {
  const { env } = context;
  const address = addressOf(context, options);
  const endpoint = parseEndpoint(address, context.cwd);
  const token =
    (options.apiTokenFile === undefined ? env.FLEETRELAY_API_TOKEN : undefined) ??
    (await tokenFrom(options.apiTokenFile ?? env.FLEETRELAY_API_TOKEN_FILE));
  if (token !== undefined && isOverheard(endpoint)) {
    context.stderr.write(`warning: the API token travels unencrypted to ${endpoint.base.host}; use https\n`);
  }
  const certFile = options.apiCertFile ?? env.FLEETRELAY_API_CERT_FILE;
  const keyFile = options.apiKeyFile ?? env.FLEETRELAY_API_KEY_FILE;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new CliError(EXIT.usage, '--api-cert-file and --api-key-file belong together');
  }
  const server: Server = {
    endpoint,
    env,
    token,
    ca: await pemFrom(options.apiCaFile ?? env.FLEETRELAY_API_CA_FILE, 'the CA of the server'),
    cert: await pemFrom(certFile, 'your client certificate'),
    key: await pemFrom(keyFile, 'the key of your client certificate'),
    ...given({ seconds }),
  };
  const by = (options.as ?? env.FLEETRELAY_USER ?? account()).slice(0, MAX_NAME);
  const list = async <Row>(path: string): Promise<readonly Row[]> =>
    (await call<{ readonly items: readonly Row[] }>(server, path)).items;
  return {
    address,
    status: () => call(server, 'status'),
    list: (name, query = {}) => list(`${name}${queryOf(query)}`),
    view: (name, filter = {}) => list(`views/${encodeURIComponent(name)}${queryOf(filter)}`),
    read: (path) => call(server, pathOf(path)),
    explain: (question) => call(server, `explain${queryOf(question)}`),
    whyNot: (cluster, object) => call(server, `why-not${queryOf({ cluster, object })}`),
    impact: (question) => call(server, `impact${queryOf(question)}`),
    plan: (ref, source) => call({ ...server, seconds: LONG_SECONDS }, `plan${queryOf({ ref, source })}`),
    recording: () => stream({ ...server, seconds: LONG_SECONDS }, 'recording'),
    act: async <View>(path: readonly string[], details: Texts = {}) => {
      const body = { ...details, by };
      const { note, ...view } = await call<View & WithNote>(server, pathOf(path), body);
      if (note !== undefined) context.stderr.write(`note: ${printable(note)}\n`);
      return view as View;
    },
  };
}

function pathOf(path: readonly string[]): string {
  return path.map(encodeURIComponent).join('/');
}

function account(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id that has no name.
    return 'unknown';
  }
}

function queryOf(query: { readonly [name: string]: string | readonly string[] | undefined }): string {
  const known = Object.entries(query).flatMap(([name, values = []]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return known.length === 0 ? '' : `?${new URLSearchParams(known)}`;
}

async function tokenFrom(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const token = (await textFrom(file, 'the API token')).trim();
  if (token !== '' && token.length <= MAX_TOKEN_BYTES) return token;
  throw new CliError(EXIT.usage, `${file} holds no API token`);
}

async function pemFrom(file: string | undefined, what: string): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = await textFrom(file, what);
  if (text.includes('-----BEGIN ') && text.length <= MAX_PEM_BYTES) return text;
  throw new CliError(EXIT.usage, `${file} should hold ${what} and is no PEM file`);
}

async function textFrom(file: string, what: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CliError(EXIT.usage, `cannot read ${what} from ${file}: ${reasonOf(cause)}`);
  });
}

/** A server, and the credentials that the caller shows it. Texts are PEM. */
interface Server {
  readonly endpoint: Endpoint;
  readonly env: Texts;
  /** Undefined: the one that a server of this user has left here, if there is one. */
  readonly token: string | undefined;
  /** Trusted instead of the machine's authorities. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Within which the answer must be here; absent: {@link DEADLINE_SECONDS}. */
  readonly seconds?: number;
}

/** One response; redirects are not followed. */
interface Response {
  readonly status: number;
  readonly statusText: string;
  /** Undefined if it is not JSON. */
  readonly body: unknown;
}

/** Asks the server; a command that only the leader carries out is sent to the leader, once. A body makes it a POST. */
async function call<Value>(server: Server, path: string, body?: Texts): Promise<Value> {
  const first = await ask(server, path, body);
  const leader = leaderIn(server, first);
  if (leader === undefined) return answerOf<Value>(server.endpoint, first);
  return answerOf<Value>(leader, await ask({ ...server, endpoint: leader }, path, body));
}

async function ask(server: Server, path: string, body?: Texts): Promise<Response> {
  return withDeadline(server, async (signal) => {
    const response = await request(server, path, body, signal);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
    }
    const { statusCode: status = 0, statusMessage: statusText = '' } = response;
    return { status, statusText, body: parseJson(Buffer.concat(chunks).toString('utf8')) };
  });
}

/** The bytes of an answer that is no JSON. */
async function stream(server: Server, path: string): Promise<AsyncIterable<Uint8Array>> {
  const response = await withDeadline(server, (signal) => request(server, path, undefined, signal));
  const { statusCode: status = 0, statusMessage: statusText = '' } = response;
  if (status === 200) return response;
  const text = Buffer.concat(await response.toArray()).toString('utf8');
  return answerOf(server.endpoint, { status, statusText, body: parseJson(text) });
}

async function withDeadline<Value>(
  { endpoint, seconds = DEADLINE_SECONDS }: Server,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const signal = AbortSignal.timeout(seconds * 1_000);
  try {
    return await work(signal);
  } catch (error) {
    throw signal.aborted
      ? new CliError(EXIT.unreachable, `the server at ${endpoint.shown} did not answer within ${seconds} s`)
      : unreachable(endpoint, reasonOf(error));
  }
}

/** Sends a request, and resolves with the beginning of the response. */
async function request(
  server: Server,
  path: string,
  body: Texts | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { endpoint, env } = server;
  if (server.token !== undefined) return send(server, path, body, signal);
  const found = await findLocalToken(endpoint, env);
  const response = await send(server, path, body, signal, found);
  if (response.statusCode !== 401) return response;
  // A server that starts leaves another token, before it answers its first request.
  const next = await findLocalToken(endpoint, env);
  if (next === undefined || next.token === found?.token) return response;
  response.resume();
  return send(server, path, body, signal, next);
}

async function send(
  server: Server,
  path: string,
  body: Texts | undefined,
  signal: AbortSignal,
  local?: LocalToken,
): Promise<IncomingMessage> {
  const { endpoint, ca, cert, key } = server;
  const url = new URL(`api/v1/${path}`, endpoint.base);
  const token = server.token ?? local?.token;
  const headers = {
    Accept: 'application/json',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  const options: RequestOptions = {
    method: body === undefined ? 'GET' : 'POST',
    headers,
    agent: false,
    signal,
    socketPath: endpoint.socketPath,
    ...(local && { lookup: lookupOf(local.address) }),
  };
  // An import of node:http reads all that it exports, and so loads fetch, HTTP/2 and TLS: twice the time of the rest of a command.
  const sent =
    url.protocol === 'https:'
      ? process.getBuiltinModule('node:https').request(url, { ...options, ca, cert, key })
      : process.getBuiltinModule('node:http').request(url, options);
  // After the response has begun, reading it throws the error.
  sent.on('error', () => undefined);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

/** Resolves every name to this IP address. */
function lookupOf(address: string): LookupFunction {
  const family = isIP(address);
  return (_name, { all }, found) => {
    if (all) found(null, [{ address, family }]);
    else found(null, address, family);
  };
}

function unreachable({ shown }: Endpoint, reason: string): CliError {
  const [, hint] = HINTS.find(([pattern]) => pattern.test(reason)) ?? [];
  const said = typeof hint === 'function' ? hint(shown) : hint;
  return new CliError(EXIT.unreachable, `no server answers at ${shown} (${reason})`, said ?? NO_SERVER);
}

const NO_SERVER = 'start one with `fleetrelay serve`, or name it with --api';

/** What to do about errors of a connection, by their code; the first that matches. */
const HINTS: readonly (readonly [code: RegExp, hint: string | ((shown: string) => string)])[] = [
  [
    /EPROTO|WRONG_VERSION|PACKET_LENGTH/,
    (shown) => `no TLS is spoken there: for a server without it, say --api ${shown.replace('https:', 'http:')}`,
  ],
  [
    /^HPE_|^ECONNRESET$|NO_APPLICATION_PROTOCOL|ALERT/,
    "something else than HTTP is spoken there: is it the agents' port? The API is what `serve` was told as --http (9980), not as --listen (9900)",
  ],
  [/NOT_YET_VALID/, `its certificate ${NOT_YET_VALID}`],
  [/HAS_EXPIRED/, `its certificate ${HAS_EXPIRED}; renew the one or set the other`],
  [
    /CERT|SIGNED|ISSUER|ALTNAME|SSL|TLS/,
    'trust its CA with --api-ca-file; the address must be one that its certificate is for',
  ],
];

/** The leader that a follower names; undefined if it names none, or if the token could be overheard on the way there. */
function leaderIn({ endpoint, token }: Server, response: Response): Endpoint | undefined {
  const { reason, leader } = errorIn(response);
  if (response.status !== 409 || reason !== 'NotLeader' || typeof leader !== 'string') return undefined;
  const { protocol } = endpoint.base;
  const address = /^https?:\/\//.test(leader) ? leader : `${protocol}//${leader}`;
  const found = URL.canParse(address) ? parseEndpoint(address, '/') : undefined;
  if (found === undefined || found.base.protocol === 'https:') return found;
  const isUnsafe = protocol === 'https:' || (token !== undefined && isLocal(endpoint) && !isLocal(found));
  return isUnsafe ? undefined : found;
}

function errorIn({ body }: Response): Partial<ErrorBody['error']> {
  return (body as Partial<ErrorBody> | null | undefined)?.error ?? {};
}

function answerOf<Value>({ shown }: Endpoint, response: Response): Value {
  const { status, statusText, body } = response;
  if (body === undefined) {
    throw new CliError(EXIT.unreachable, `what answers at ${shown} is no fleetrelay server (not JSON)`);
  }
  if (status >= 200 && status < 300) return body as Value;
  const hint =
    status === 401
      ? 'give your token with --api-token-file or in FLEETRELAY_API_TOKEN, or a certificate with --api-cert-file; without configured people the token is in api-token in the data directory of the server'
      : undefined;
  const message = printable(String(errorIn(response).message ?? statusText));
  throw new CliError(EXIT_OF_STATUS[status] ?? EXIT.unreachable, message, hint);
}

/** The code of the underlying error (`ECONNREFUSED`, `ENOENT`), else its message. */
function reasonOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : errorText(error);
}
