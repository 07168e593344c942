import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git';
import { errorText } from '../../../model/text/messages.ts';
import type { Connections } from '../../system/connections.ts';

/** Why a request has no useful answer. */
export type HttpProblem =
  | { readonly type: 'tooLarge' }
  | { readonly type: 'redirected' }
  | { readonly type: 'broken'; readonly message: string };

/** A server that sends nothing for this time is gone. */
const SILENCE_MS = 60_000;

/**
 * Makes requests until `signal` is aborted, and reads at most `maxBytes` of their answers together. It follows no redirects. `problem`
 * has the first failure, which isomorphic-git may report as something else.
 */
export function createHttpClient(connections: Connections, signal: AbortSignal, maxBytes: number) {
  let problem: HttpProblem | undefined;
  let received = 0;
  async function* bodyOf(response: IncomingMessage): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        received += chunk.length;
        if (received > maxBytes) {
          problem ??= { type: 'tooLarge' };
          response.destroy();
          throw new Error('the answer is too large');
        }
        yield chunk;
      }
    } catch (error) {
      problem ??= { type: 'broken', message: errorText(error) };
      throw error;
    }
  }
  const client: HttpClient = {
    request: async ({ url, method = 'GET', headers = {}, body }: GitHttpRequest): Promise<GitHttpResponse> => {
      const sent = body === undefined ? undefined : await joined(body);
      const response = await send(connections, { url, method, headers, signal }, sent).catch((error: unknown) => {
        problem ??= { type: 'broken', message: errorText(error) };
        throw error;
      });
      const { statusCode = 0, statusMessage = '' } = response;
      if (statusCode >= 300 && statusCode < 400) problem ??= { type: 'redirected' };
      const answered = Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
      );
      return { url, method, statusCode, statusMessage, headers: answered, body: bodyOf(response) };
    },
  };
  return { client, problem: () => problem };
}

async function joined(body: NonNullable<GitHttpRequest['body']>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

interface ToSend {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

function send(
  connections: Connections,
  { url, method, headers, signal }: ToSend,
  body: Buffer | undefined,
): Promise<IncomingMessage> {
  const isTls = url.startsWith('https:');
  const agent = isTls ? connections.https : connections.http;
  const length = body === undefined ? {} : { 'content-length': String(body.length) };
  const options = { method, headers: { ...headers, ...length }, agent, signal };
  return new Promise((resolve, reject) => {
    const request = (isTls ? requestHttps : requestHttp)(url, options, resolve);
    request.setTimeout(SILENCE_MS, () => request.destroy(new Error('the server gave no answer')));
    request.once('error', reject);
    request.end(body);
  });
}
