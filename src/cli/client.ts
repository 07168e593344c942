import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Diagnostic } from '../model/diagnostic.ts';
import type {
  ApprovalView,
  ClusterView,
  DesiredView,
  Explanation,
  FleetView,
  HeldRemovalsView,
  OutputView,
  SourceView,
} from '../server/api.ts';
import type { ErrorBody } from '../server/http-error.ts';
import { isLoopback } from '../server/listen-address.ts';
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
  explain(cluster: string, object: string): Promise<Explanation>;
  approve(digest: string, by: string): Promise<ApprovalView>;
  accept(source: string, revision: string, by: string): Promise<SourceView>;
  replaceCluster(cluster: string, by: string): Promise<ClusterView>;
  /** What stands beside the API as plain text: `readyz`, `metrics`. */
  text(path: string): Promise<string>;
}

/** How the server is found and spoken to. */
export interface ApiOptions {
  readonly api?: string;
  readonly apiTokenFile?: string;
}

const DEFAULT_API = 'http://127.0.0.1:9980';
const DEADLINE_MS = 15_000;
const MAX_TOKEN_BYTES = 4_096;

const EXIT_OF_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.usage,
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.notFound,
  409: EXIT.refused,
};

/** Adds the options that say which server to ask. */
export function withApiOptions(command: Command): Command {
  return command
    .option('--api <url>', `address of the server (environment: FLEETRELAY_API; default: ${DEFAULT_API})`)
    .option(
      '--api-token-file <file>',
      'file with the API token (environment: FLEETRELAY_API_TOKEN is the token itself)',
    );
}

/** The server's address as it was told, for people. */
export function serverOf(context: CliContext, options: ApiOptions): string {
  return options.api ?? context.env.FLEETRELAY_API ?? DEFAULT_API;
}

/** Finds the server's address and token in options and environment. */
export async function connect(context: CliContext, options: ApiOptions): Promise<ApiClient> {
  const base = apiUrl(serverOf(context, options));
  const token =
    options.apiTokenFile === undefined ? context.env.FLEETRELAY_API_TOKEN : await tokenFrom(options.apiTokenFile);
  if (token !== undefined && base.protocol === 'http:' && !isLoopback(base.hostname.replaceAll(/[[\]]/g, ''))) {
    context.stderr.write(`warning: the API token travels unencrypted to ${base.host}; use https\n`);
  }
  return createApiClient(base, token);
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

function createApiClient(base: URL, token: string | undefined): ApiClient {
  const get = <Value>(path: string, query: Readonly<Record<string, string>> = {}): Promise<Value> =>
    call<Value>(base, token, `${path}${Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`}`);
  const list = async <Value>(path: string, query?: Readonly<Record<string, string>>): Promise<readonly Value[]> =>
    (await get<{ readonly items: readonly Value[] }>(path, query)).items;
  const post = <Value>(path: string, body: Readonly<Record<string, string>>): Promise<Value> =>
    call<Value>(base, token, path, body);
  return {
    status: () => get('status'),
    clusters: () => list('clusters'),
    outputs: (cluster) => list('outputs', cluster === undefined ? {} : { cluster }),
    desired: (cluster) => list('desired', { cluster }),
    sources: () => list('sources'),
    removals: () => list('removals'),
    diagnostics: () => list('diagnostics'),
    explain: (cluster, object) => get('explain', { cluster, object }),
    approve: (digest, by) => post('approvals', { digest, by }),
    accept: (source, revision, by) => post(`sources/${encodeURIComponent(source)}/accept`, { revision, by }),
    replaceCluster: (cluster, by) => post(`clusters/${encodeURIComponent(cluster)}/replace`, { by }),
    text: (path) => plainText(base, token, path),
  };
}

async function plainText(base: URL, token: string | undefined, path: string): Promise<string> {
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  try {
    const response = await fetch(new URL(path, base), {
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return await response.text();
  } catch (cause) {
    throw unreachable(base, cause);
  }
}

async function call<Value>(
  base: URL,
  token: string | undefined,
  path: string,
  body?: Readonly<Record<string, string>>,
): Promise<Value> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  const init: RequestInit = { headers, redirect: 'error', signal: AbortSignal.timeout(DEADLINE_MS) };
  if (body !== undefined) {
    headers['Content-Type'] = 'application/json';
    Object.assign(init, { method: 'POST', body: JSON.stringify(body) });
  }
  let response: Response;
  let text: string;
  try {
    response = await fetch(new URL(`api/v1/${path}`, base), init);
    text = await response.text();
  } catch (cause) {
    throw unreachable(base, cause);
  }
  return answerOf<Value>(base, response, text);
}

function answerOf<Value>(base: URL, response: Response, text: string): Value {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new CliError(EXIT.unreachable, `what answers at ${base.origin} is no fleetrelay server (not JSON)`);
  }
  if (response.ok) return answer as Value;
  const message = printable(String((answer as Partial<ErrorBody> | null)?.error?.message ?? response.statusText));
  const hint = response.status === 401 ? 'give the token with --api-token-file or in FLEETRELAY_API_TOKEN' : undefined;
  throw new CliError(EXIT_OF_STATUS[response.status] ?? EXIT.unreachable, message, hint);
}

function unreachable(base: URL, cause: unknown): CliError {
  if (cause instanceof Error && cause.name === 'TimeoutError') {
    return new CliError(EXIT.unreachable, `the server at ${base.origin} did not answer within ${DEADLINE_MS / 1000} s`);
  }
  return new CliError(
    EXIT.unreachable,
    `no server answers at ${base.origin} (${reasonOf(cause)})`,
    'start one with `fleetrelay serve`, or name it with --api',
  );
}

/** The short name of what went wrong underneath (`ECONNREFUSED`, `ENOENT`), else its message. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : cause instanceof Error ? cause.message : String(cause);
}
