import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as plainRequest,
  type RequestOptions,
} from 'node:http';
import { request as secureRequest } from 'node:https';
import { type JsonObject, type JsonValue, parseJson } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ReviewFailure } from '../../ports/review-host.ts';
import { type ConnectionOptions, type Connections, createConnections } from '../system/connections.ts';
import { cutLine } from './cut-body.ts';

/** What every adapter of a review host needs. */
export interface HostDeps {
  readonly clock: Clock;
  /** The environment of this process: requests go through its proxies. */
  readonly environment: ConnectionOptions['environment'];
  /** Reads the token, as it is now. Rejects with a text for people. */
  readonly token: () => Promise<string>;
  /** Reads the certificates (PEM) to trust instead of the machine's; undefined: those. Rejects with a text for people. */
  readonly ca: () => Promise<string | undefined>;
}

export interface HostOptions {
  /** Address of the API, without a slash at its end. */
  readonly apiUrl: string;
  /** Path of the repository at the host: `OWNER/NAME`. */
  readonly repository: string;
}

interface HostRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  /** Below the address of the API, with its query. */
  readonly path: string;
  readonly body?: JsonObject;
}

/** An answer with a status of 200 to 299. */
interface HostAnswer {
  readonly type: 'answered';
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonValue;
}

/** Sends a request. Follows no redirect, so that the token reaches no other host. No message contains the token. */
export type Send = (request: HostRequest, signal: AbortSignal) => Promise<HostAnswer | ReviewFailure>;

const DEADLINE_MS = 20_000;
const MAX_ANSWER_BYTES = 8 << 20;
/** What the documentation of GitHub asks for if a rate limit names no time. */
const UNNAMED_WAIT_SECONDS = 60;

/** `headersOf`: the headers that show the token. */
export function createHostRequests(
  { clock, environment, token, ca }: HostDeps,
  apiUrl: string,
  headersOf: (token: string) => Readonly<Record<string, string>>,
): Send {
  const agentFor = createAgents(apiUrl, environment);
  return async (request, outer) => {
    const secret = await token().catch((error: unknown) => failed('Unauthorized', errorText(error)));
    if (typeof secret !== 'string') return secret;
    const timeout = new AbortController();
    const cancel = clock.schedule(DEADLINE_MS, () => timeout.abort());
    const signal = AbortSignal.any([timeout.signal, outer]);
    try {
      const content = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
      const headers = {
        ...headersOf(secret),
        'user-agent': 'fleetrelay',
        'accept-encoding': 'identity',
        ...(content && { 'content-type': 'application/json', 'content-length': content.length }),
      };
      const options = { method: request.method, headers, signal, agent: agentFor(await ca()) };
      const answer = await open(`${apiUrl}${request.path}`, options, content);
      return await read(answer, clock.now(), secret);
    } catch (error) {
      const why = outer.aborted ? 'called off' : timeout.signal.aborted ? NO_ANSWER : networkText(error);
      return failed('Unreachable', `the host of the pull requests cannot be asked: ${withoutSecret(why, secret)}`);
    } finally {
      cancel();
    }
  };
}

/** Returns the agent that trusts the certificates which are given at the time. */
function createAgents(url: string, environment: HostDeps['environment']) {
  let opened: { readonly ca: string | undefined; readonly connections: Connections } | undefined;
  return (ca: string | undefined): Agent => {
    if (opened === undefined || opened.ca !== ca) {
      opened = { ca, connections: createConnections({ url, environment, ca }) };
    }
    return url.startsWith('https:') ? opened.connections.https : opened.connections.http;
  };
}

/** Errors of sockets often have no message of their own. */
function networkText(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return errorText(error) || code || 'the connection failed';
}

const NO_ANSWER = `no answer within ${DEADLINE_MS / 1_000} s`;

export function failed(reason: ReviewFailure['reason'], message: string, retryAfterSeconds?: number): ReviewFailure {
  return { type: 'failed', reason, message, ...given({ retryAfterSeconds }) };
}

/** The answer of a host that does not hold what the documentation of its API says. */
export function notUnderstood(what: string): ReviewFailure {
  return failed('Unreachable', `the host of the pull requests gives no ${what} as its API has it`);
}

function open(url: string, options: RequestOptions, content: Buffer | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = (url.startsWith('https:') ? secureRequest : plainRequest)(url, options, resolve);
  sent.on('error', reject);
  sent.end(content);
  return promise;
}

async function read(response: IncomingMessage, now: number, secret: string): Promise<HostAnswer | ReviewFailure> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) {
      return failed('Unreachable', `the answer of the host is larger than ${MAX_ANSWER_BYTES >> 20} MiB`);
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks, size).toString('utf8');
  if (status < 200 || status > 299) {
    const quote = (said: string): string => cutLine(withoutSecret(said, secret), 200);
    return failureOf(status, headers, text, now, quote);
  }
  const body = parseJson(text);
  return body === undefined ? notUnderstood('JSON') : { type: 'answered', headers, body };
}

function withoutSecret(text: string, secret: string): string {
  return secret === '' ? text : text.replaceAll(secret, '***');
}

/** `quote`: makes a text of the host fit for a message. */
function failureOf(
  status: number,
  headers: IncomingHttpHeaders,
  text: string,
  now: number,
  quote: (said: string) => string,
): ReviewFailure {
  const quoted = text.trim() === '' ? `HTTP ${status}` : `HTTP ${status}: ${quote(text)}`;
  const wait = waitOf(status, headers, text, now);
  if (wait !== undefined) return failed('RateLimited', `the host takes no more requests for now (${quoted})`, wait);
  if (status === 401) return failed('Unauthorized', `the host does not know the token (${quoted})`);
  if (status === 403) return failed('Unauthorized', `the token has too few rights at the host (${quoted})`);
  if (status === 404) return failed('NotFound', `the host does not have it, or hides it from the token (${quoted})`);
  if (status >= 500) return failed('Unreachable', `the host fails (${quoted})`, namedWaitOf(headers));
  if (status >= 300 && status < 400) {
    const to = quote(headers.location ?? 'nowhere');
    return failed('Refused', `the host redirects to ${to}, which is not followed: was the repository moved?`);
  }
  return failed('Refused', `the host refuses the request (${quoted})`);
}

/** The seconds until the next request may come; undefined: the answer is not about a rate limit. */
function waitOf(status: number, headers: IncomingHttpHeaders, text: string, now: number): number | undefined {
  const isSpent = headers['x-ratelimit-remaining'] === '0';
  const isSecondary = /secondary rate limit/i.test(text);
  const named = namedWaitOf(headers);
  if (status !== 429 && (status !== 403 || (!isSpent && !isSecondary && headers['retry-after'] === undefined)))
    return undefined;
  if (named !== undefined) return named;
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  if (!isSecondary && Number.isFinite(reset)) return Math.max(1, Math.ceil(reset - now / 1_000));
  return UNNAMED_WAIT_SECONDS;
}

/** The seconds in the header `Retry-After`. A date in it does not count: clocks differ. */
function namedWaitOf(headers: IncomingHttpHeaders): number | undefined {
  const named = headers['retry-after'];
  const seconds = Number(named);
  return named !== undefined && Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : undefined;
}
