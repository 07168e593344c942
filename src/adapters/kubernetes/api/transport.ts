import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/json.ts';
import { problem, type Result } from '../../../model/result.ts';
import type { Access } from './credentials.ts';
import { MAX_BODY_BYTES, TCP_KEEP_ALIVE_MS } from './limits.ts';
import { readStatus, refusalOfText } from './refusals.ts';
import type { KubeAnswer, KubeRequest } from './types.ts';

/** The head of an answer, and its body to be read. */
export interface Response {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

/** Where an API server is: its origin, and the path before `/api` if it stands behind something. */
export interface ServerAddress {
  readonly origin: string;
  readonly prefix: string;
}

/** Sends one request; resolves with the head of the answer. Rejects as the network does. */
export function send(
  server: ServerAddress,
  { headers, agent }: Access,
  request: Pick<KubeRequest, 'method' | 'path' | 'query' | 'body' | 'contentType' | 'accept'>,
  userAgent: string,
  signal: AbortSignal,
): Promise<Response> {
  const { method, path, query = {}, body, contentType = 'application/json', accept = 'application/json' } = request;
  const search = new URLSearchParams(query).toString();
  const url = `${server.origin}${server.prefix}${path}${search === '' ? '' : `?${search}`}`;
  const content = body === undefined ? undefined : Buffer.from(bodyText(body));
  const options = {
    method,
    agent,
    signal,
    headers: {
      ...headers,
      accept,
      'user-agent': userAgent,
      ...(content === undefined ? {} : { 'content-type': contentType, 'content-length': content.length }),
    },
  };
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const sent = (url.startsWith('https:') ? requestHttps : requestHttp)(url, options, (answer) => {
    resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body: answer });
  });
  sent.on('error', reject);
  sent.once('socket', (socket) => socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS));
  sent.end(content);
  return promise;
}

/**
 * JSON that is the same when it is read as YAML, as the bodies of server-side apply are: YAML takes some characters for
 * ends of lines, and refuses others, unless they are escaped.
 */
function bodyText(body: JsonObject): string {
  return JSON.stringify(body).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Reads the whole answer; `text`: it was asked for as such. Rejects as the network does. */
export async function readAnswer(response: Response, text = false): Promise<KubeAnswer> {
  const { statusCode: status } = response;
  const read = await readText(response);
  if (!read.ok) return { type: 'unreachable', message: read.problem, ...(read.tooLarge ? { tooLarge: true } : {}) };
  const body = parseObject(read.text);
  const retryAfter = header(response, 'retry-after');
  if (status >= 200 && status < 300) {
    if (text) return { type: 'ok', status, body: { text: read.text } };
    if (body === undefined)
      return { type: 'unreachable', message: `its answer is not a JSON object: ${start(read.text)}` };
    const etag = header(response, 'etag');
    return { type: 'ok', status, body, ...(etag === undefined ? {} : { etag }) };
  }
  const refusal = body && readStatus(body, retryAfter);
  if (refusal !== undefined) return { type: 'refused', status, refusal };
  if (status >= 400 && status < 500) {
    return { type: 'refused', status, refusal: refusalOfText(status, read.text, retryAfter) };
  }
  const location = header(response, 'location');
  const where = location === undefined ? '' : `; it points to ${location.slice(0, 200)}`;
  return { type: 'unreachable', message: `${refusalOfText(status, read.text).message}${where}` };
}

/** A header's value; of several, the first. */
export function header({ headers }: Response, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** Compressed bodies are never asked for: what unpacks to any size must not come in. */
export function checkEncoding(response: Response): Result<undefined> {
  const encoding = header(response, 'content-encoding') ?? 'identity';
  if (encoding === 'identity') return { ok: true, value: undefined };
  return problem(`its answer is encoded (${encoding.slice(0, 40)}), which was not asked for`);
}

type ReadText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string; readonly tooLarge: boolean };

async function readText(response: Response): Promise<ReadText> {
  const encoding = checkEncoding(response);
  const declared = Number(header(response, 'content-length') ?? 0);
  if (!encoding.ok || declared > MAX_BODY_BYTES) {
    discard(response);
    return encoding.ok ? tooLarge() : { ok: false, problem: encoding.problem, tooLarge: false };
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return tooLarge();
    chunks.push(chunk);
  }
  return { ok: true, text: Buffer.concat(chunks, size).toString('utf8') };
}

/** Drops an answer and its connection. */
export function discard(response: Response): void {
  response.body.on('error', () => undefined);
  response.body.destroy();
}

function tooLarge(): ReadText {
  return { ok: false, problem: `its answer is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`, tooLarge: true };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function start(text: string): string {
  return JSON.stringify(text.trim().slice(0, 80));
}
