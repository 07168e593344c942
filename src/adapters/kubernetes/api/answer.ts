import type { IncomingMessage } from 'node:http';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  parseJson,
  textOf,
} from '../../../model/text/json.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import { MAX_BODY_BYTES } from './limits.ts';
import type { KubeAnswer, KubeRefusal } from './types.ts';

/** Reads a complete answer. `text`: the body is plain text, not JSON. Rejects with the network's error. */
export async function readAnswer(response: IncomingMessage, text = false): Promise<KubeAnswer> {
  const status = response.statusCode ?? 0;
  const read = await readText(response);
  if (typeof read !== 'string') return { type: 'unreachable', ...read };
  const value = parseJson(read);
  const body = isJsonObject(value) ? value : undefined;
  if (status >= 200 && status < 300) {
    if (text) return { type: 'ok', status, body: { text: read } };
    if (body !== undefined) return { type: 'ok', status, body };
    return {
      type: 'unreachable',
      message: `its answer is not a JSON object: ${JSON.stringify(read.trim().slice(0, 80))}`,
    };
  }
  const { 'retry-after': retryAfter, location } = response.headers;
  const refusal = body && readStatus(body, retryAfter);
  if (refusal !== undefined) return { type: 'refused', status, refusal };
  const unread = refusalOfText(status, read, retryAfter);
  if (status >= 400 && status < 500) return { type: 'refused', status, refusal: unread };
  const where = location === undefined ? '' : `; it points to ${location.slice(0, 200)}`;
  return { type: 'unreachable', message: `${unread.message}${where}` };
}

/** Reads at most `mostBytes` of the text of an answer of any HTTP status. Rejects with the network's error. */
export async function readTextAnswer(response: IncomingMessage, mostBytes: number): Promise<KubeAnswer> {
  const encoding = checkEncoding(response);
  if (!encoding.ok) return { type: 'unreachable', message: encoding.problem };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > mostBytes) break;
  }
  const text = Buffer.concat(chunks).subarray(0, mostBytes).toString('utf8');
  const cut = size > mostBytes ? { cut: true } : {};
  return { type: 'ok', status: response.statusCode ?? 0, body: { text, ...cut } };
}

/** Checks that a body is not compressed: no compression was asked for, and a small body can unpack to any size. */
export function checkEncoding(response: IncomingMessage): Result<undefined> {
  const { 'content-encoding': encoding = 'identity' } = response.headers;
  if (encoding === 'identity') return ok(undefined);
  discard(response);
  return problem(`its answer is encoded (${encoding.slice(0, 40)}), which was not asked for`);
}

async function readText(
  response: IncomingMessage,
): Promise<string | { readonly message: string; readonly tooLarge?: true }> {
  const encoding = checkEncoding(response);
  if (!encoding.ok) return { message: encoding.problem };
  const tooLarge = {
    message: `its answer is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`,
    tooLarge: true,
  } as const;
  if (Number(response.headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
    discard(response);
    return tooLarge;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

/** Closes the connection of an answer without reading it. */
function discard(response: IncomingMessage): void {
  response.on('error', () => undefined);
  response.destroy();
}

/** Reads a `Status`; undefined if the body is another kind. `retryAfter`: the header, in seconds. */
export function readStatus(body: JsonObject, retryAfter?: string): KubeRefusal | undefined {
  if (body.kind !== 'Status') return undefined;
  const details = objectOf(body.details);
  return {
    reason: textOf(body.reason),
    message: textOf(body.message),
    causes: objectsOf(details.causes).map(({ reason, message, field }) => ({
      reason: textOf(reason),
      message: textOf(message),
      field: textOf(field),
    })),
    ...waitOf(retryAfter ?? details.retryAfterSeconds),
  };
}

/** The refusal of an answer whose body is no `Status`; the message quotes the beginning of the body. */
export function refusalOfText(status: number, body: string, retryAfter?: string): KubeRefusal {
  const quoted = body.trim().replaceAll(/\s+/g, ' ').slice(0, 200);
  return {
    reason: REASONS[status] ?? '',
    message: quoted === '' ? `HTTP status ${status}` : `HTTP status ${status}: ${quoted}`,
    causes: [],
    ...waitOf(retryAfter),
  };
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  422: 'Invalid',
  429: 'TooManyRequests',
};

function waitOf(value: JsonValue | undefined): Pick<KubeRefusal, 'retryAfterMs'> {
  const seconds = value === '' ? 0 : Number(value ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1_000 } : {};
}
