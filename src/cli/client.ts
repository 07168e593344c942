import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { JsonObject } from '../model/json.ts';
import type { AuditEntry } from '../ports/audit-log.ts';
import type {
  ApprovalView,
  ClusterView,
  DesiredView,
  ExplainRequest,
  Explanation,
  FleetView,
  HeldRemovalsView,
  OutputView,
  SourceView,
  TokenView,
} from '../server/api.ts';
import type { ErrorBody } from '../server/http-error.ts';
import { isLoopback } from '../server/listen-address.ts';
import { type ApiCall, type ApiResponse, askApi, type CallTls, DEADLINE_SECONDS } from './api-call.ts';
import { CliError } from './cli-error.ts';
import type { CliContext } from './command.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { printable } from './output.ts';

/** A running server, asked over HTTP. Every call rejects with a {@link CliError} if there is no answer. */
export interface ApiClient {
  status(): Promise<FleetView>;
  clusters(): Promise<readonly ClusterView[]>;
  outputs(cluster: string | undefined): Promise<readonly OutputView[]>;
  desired(cluster: string): Promise<readonly DesiredView[]>;
  sources(): Promise<readonly SourceView[]>;
  removals(): Promise<readonly HeldRemovalsView[]>;
  diagnostics(): Promise<readonly Diagnostic[]>;
  /** Rows of a view of the server. */
  view(name: string): Promise<readonly JsonObject[]>;
  explain(question: ExplainRequest): Promise<Explanation>;
  approve(digest: string, by: string): Promise<ApprovalView>;
  accept(source: string, revision: string, by: string): Promise<SourceView>;
  replaceCluster(cluster: string, by: string): Promise<ClusterView>;
  renewToken(cluster: string, by: string): Promise<TokenView>;
  suspendCluster(cluster: string, by: string, reason: string): Promise<ClusterView>;
  resumeCluster(cluster: string, by: string): Promise<ClusterView>;
  suspendSource(source: string, by: string, reason: string): Promise<SourceView>;
  resumeSource(source: string, by: string): Promise<SourceView>;
  /** The newest entries of the audit log, oldest first. */
  audit(limit: number): Promise<readonly AuditEntry[]>;
}

/** How the server is found and spoken to. */
export interface ApiOptions {
  readonly api?: string;
  readonly apiTokenFile?: string;
  readonly apiCaFile?: string;
  readonly apiCertFile?: string;
  readonly apiKeyFile?: string;
}

const DEFAULT_API = 'http://127.0.0.1:9980';
const MAX_TOKEN_BYTES = 4_096;
const MAX_PEM_BYTES = 1 << 20;

const EXIT_OF_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.usage,
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.notFound,
  409: EXIT.refused,
};

/** Adds the options that say which server to ask, and who asks. */
export function withApiOptions(command: Command): Command {
  return command
    .option('--api <url>', `address of the server (environment: FLEETRELAY_API; default: ${DEFAULT_API})`)
    .option(
      '--api-token-file <file>',
      'file with your API token (environment: FLEETRELAY_API_TOKEN_FILE, or FLEETRELAY_API_TOKEN is the token itself)',
    )
    .option('--api-ca-file <file>', 'CA to trust for an https address (environment: FLEETRELAY_API_CA_FILE)')
    .option('--api-cert-file <file>', 'your client certificate (environment: FLEETRELAY_API_CERT_FILE)')
    .option('--api-key-file <file>', 'its key (environment: FLEETRELAY_API_KEY_FILE)');
}

/** The server's address as it was told, for people. */
export function serverOf(context: CliContext, options: ApiOptions): string {
  return options.api ?? context.env.FLEETRELAY_API ?? DEFAULT_API;
}

/** Finds the server's address, and what the caller proves a name with, in options and environment. */
export async function connect(context: CliContext, options: ApiOptions): Promise<ApiClient> {
  const base = apiUrl(serverOf(context, options));
  const { env } = context;
  const tokenFile = options.apiTokenFile ?? env.FLEETRELAY_API_TOKEN_FILE;
  const token =
    options.apiTokenFile === undefined && env.FLEETRELAY_API_TOKEN !== undefined
      ? env.FLEETRELAY_API_TOKEN
      : tokenFile === undefined
        ? undefined
        : await tokenFrom(tokenFile);
  if (token !== undefined && base.protocol === 'http:' && !isLocal(base)) {
    context.stderr.write(`warning: the API token travels unencrypted to ${base.host}; use https\n`);
  }
  return createApiClient({ base, token, tls: await tlsFrom(context, options) });
}

async function tlsFrom({ env }: CliContext, options: ApiOptions): Promise<CallTls> {
  const caFile = options.apiCaFile ?? env.FLEETRELAY_API_CA_FILE;
  const certFile = options.apiCertFile ?? env.FLEETRELAY_API_CERT_FILE;
  const keyFile = options.apiKeyFile ?? env.FLEETRELAY_API_KEY_FILE;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new CliError(EXIT.usage, '--api-cert-file and --api-key-file belong together');
  }
  return {
    ...(caFile === undefined ? {} : { ca: await pemFrom(caFile, 'the CA of the server') }),
    ...(certFile === undefined ? {} : { certificate: await pemFrom(certFile, 'your client certificate') }),
    ...(keyFile === undefined ? {} : { key: await pemFrom(keyFile, 'the key of your client certificate') }),
  };
}

async function pemFrom(file: string, what: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CliError(EXIT.usage, `cannot read ${what} from ${file}: ${reasonOf(cause)}`);
  });
  if (!text.includes('-----BEGIN ') || text.length > MAX_PEM_BYTES) {
    throw new CliError(EXIT.usage, `${file} should hold ${what} and is no PEM file`);
  }
  return text;
}

function apiUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new CliError(EXIT.usage, `the server's address must be a plain URL such as ${DEFAULT_API}`);
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

async function tokenFrom(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CliError(EXIT.usage, `cannot read the API token from ${file}: ${reasonOf(cause)}`);
  });
  const token = text.trim();
  if (token === '' || token.length > MAX_TOKEN_BYTES) throw new CliError(EXIT.usage, `${file} holds no API token`);
  return token;
}

/** A server, and what the caller shows it. */
interface Server {
  readonly base: URL;
  readonly token: string | undefined;
  readonly tls: CallTls;
}

function createApiClient(server: Server): ApiClient {
  const get = <Value>(path: string, query: Readonly<Record<string, string>> = {}): Promise<Value> =>
    call<Value>(server, `${path}${Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`}`);
  const list = async <Value>(path: string, query?: Readonly<Record<string, string>>): Promise<readonly Value[]> =>
    (await get<{ readonly items: readonly Value[] }>(path, query)).items;
  const post = <Value>(path: string, body: Readonly<Record<string, string>>): Promise<Value> =>
    call<Value>(server, path, body);
  const cluster = (name: string, act: string): string => `clusters/${encodeURIComponent(name)}/${act}`;
  const source = (name: string, act: string): string => `sources/${encodeURIComponent(name)}/${act}`;
  return {
    status: () => get('status'),
    clusters: () => list('clusters'),
    outputs: (name) => list('outputs', name === undefined ? {} : { cluster: name }),
    desired: (name) => list('desired', { cluster: name }),
    sources: () => list('sources'),
    removals: () => list('removals'),
    diagnostics: () => list('diagnostics'),
    view: (name) => list(`views/${encodeURIComponent(name)}`),
    explain: (question) => get('explain', { ...question }),
    approve: (digest, by) => post('approvals', { digest, by }),
    accept: (name, revision, by) => post(source(name, 'accept'), { revision, by }),
    renewToken: (name, by) => post(cluster(name, 'renew-token'), { by }),
    replaceCluster: (name, by) => post(cluster(name, 'replace'), { by }),
    suspendCluster: (name, by, reason) => post(cluster(name, 'suspend'), { by, reason }),
    resumeCluster: (name, by) => post(cluster(name, 'resume'), { by }),
    suspendSource: (name, by, reason) => post(source(name, 'suspend'), { by, reason }),
    resumeSource: (name, by) => post(source(name, 'resume'), { by }),
    audit: (limit) => list('audit', { limit: String(limit) }),
  };
}

/** Asks; an act that only the leader may do is asked of it, once. */
async function call<Value>(server: Server, path: string, body?: ApiCall['body']): Promise<Value> {
  const first = await ask(server, path, body);
  const leader = leaderIn(server, first);
  if (leader === undefined) return answerOf<Value>(server.base, first);
  return answerOf<Value>(leader, await ask({ ...server, base: leader }, path, body));
}

async function ask({ base, token, tls }: Server, path: string, body: ApiCall['body']): Promise<ApiResponse> {
  try {
    const url = new URL(`api/v1/${path}`, base);
    return await askApi({ url, token, tls, ...(body === undefined ? {} : { body }) });
  } catch (cause) {
    throw unreachable(base, cause);
  }
}

/** Where the one is that leads; undefined: nothing was said of it, or going there would show a token to listeners. */
function leaderIn({ base, token }: Server, { status, text }: ApiResponse): URL | undefined {
  if (status !== 409) return undefined;
  const { reason, leader } = errorIn(text);
  if (reason !== 'NotLeader' || typeof leader !== 'string') return undefined;
  const address = /^https?:\/\//.test(leader) ? leader : `${base.protocol}//${leader}`;
  const url = URL.canParse(address) ? apiUrl(address) : undefined;
  if (url === undefined || url.protocol === 'https:') return url;
  const overheard = base.protocol === 'https:' || (token !== undefined && isLocal(base) && !isLocal(url));
  return overheard ? undefined : url;
}

function isLocal({ hostname }: URL): boolean {
  return isLoopback(hostname.replaceAll(/[[\]]/g, ''));
}

function errorIn(text: string): Partial<ErrorBody['error']> {
  try {
    return (JSON.parse(text) as Partial<ErrorBody> | null)?.error ?? {};
  } catch {
    return {};
  }
}

function answerOf<Value>(base: URL, { status, statusText, text }: ApiResponse): Value {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new CliError(EXIT.unreachable, `what answers at ${base.origin} is no fleetrelay server (not JSON)`);
  }
  if (status >= 200 && status < 300) return answer as Value;
  const message = printable(String((answer as Partial<ErrorBody> | null)?.error?.message ?? statusText));
  const hint =
    status === 401
      ? 'give your token with --api-token-file or in FLEETRELAY_API_TOKEN, or a certificate with --api-cert-file'
      : undefined;
  throw new CliError(EXIT_OF_STATUS[status] ?? EXIT.unreachable, message, hint);
}

function unreachable(base: URL, cause: unknown): CliError {
  if (cause instanceof Error && cause.name === 'TimeoutError') {
    return new CliError(EXIT.unreachable, `the server at ${base.origin} did not answer within ${DEADLINE_SECONDS} s`);
  }
  return new CliError(
    EXIT.unreachable,
    `no server answers at ${base.origin} (${reasonOf(cause)})`,
    /CERT|SIGNED|ISSUER|ALTNAME|SSL|TLS/.test(reasonOf(cause))
      ? 'trust its CA with --api-ca-file; the address must be one that its certificate is for'
      : 'start one with `fleetrelay serve`, or name it with --api',
  );
}

/** The short name of what went wrong underneath (`ECONNREFUSED`, `ENOENT`), else its message. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : cause instanceof Error ? cause.message : String(cause);
}
