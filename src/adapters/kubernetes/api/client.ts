import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { JsonObject } from '../../../model/text/json.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/random.ts';
import { readAnswer, readTextAnswer } from './answer.ts';
import type { Credentials } from './credentials.ts';
import { REQUEST_MS, TCP_KEEP_ALIVE_MS, THROTTLED_LONGEST_MS, THROTTLED_RETRIES } from './limits.ts';
import { networkErrorText } from './network-error.ts';
import type { KubeAnswer, KubeClient, KubeRequest, KubeWatchRequest, WatchEnd, WatchEvent } from './types.ts';
import { readWatch } from './watch.ts';

export interface KubeClientDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: Credentials;
}

export interface KubeClientOptions {
  /** `https://HOST:PORT`, with a path if a proxy publishes the API server under one. */
  readonly server: string;
  /** `fleetrelay-agent/VERSION`. */
  readonly userAgent: string;
}

const JSON_TYPE = 'application/json';

/** Creates the client of one API server. Opens no connection before the first request. */
export function createKubeClient(
  { clock, random, credentials }: KubeClientDeps,
  { server, userAgent }: KubeClientOptions,
): KubeClient {
  const { origin, pathname } = new URL(server);
  const base = `${origin}${pathname.replace(/\/+$/, '')}`;
  return { server, request, watch, close: () => credentials.close() };

  async function request(asked: KubeRequest): Promise<KubeAnswer> {
    const { timeoutMs = REQUEST_MS, maySend } = asked;
    const until = clock.monotonic() + timeoutMs;
    const timeout = new AbortController();
    const cancel = clock.schedule(timeoutMs, () => timeout.abort());
    const signal = asked.signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, asked.signal]);
    try {
      let renewed = false;
      for (let throttled = 0; ; ) {
        const answer = await requestOnce(asked, signal);
        if (signal.aborted && answer.type === 'unreachable') {
          return unreachable(timeout.signal.aborted ? `no answer within ${timeoutMs} ms` : 'called off');
        }
        if (answer.type === 'unreachable') return answer;
        if (answer.status === 401 && !renewed) {
          renewed = true;
          credentials.forget();
          continue;
        }
        if (answer.type === 'ok') return answer;
        if (answer.status !== 429 || throttled === THROTTLED_RETRIES) return answer;
        throttled += 1;
        const wait = Math.min(answer.refusal.retryAfterMs ?? 1_000, THROTTLED_LONGEST_MS) * (1 + random.next() / 4);
        if (clock.monotonic() + wait >= until) return answer;
        await clock.sleep(wait, signal);
        if (signal.aborted || maySend?.() === false) return answer;
      }
    } finally {
      cancel();
    }
  }

  async function requestOnce(asked: KubeRequest, signal: AbortSignal): Promise<KubeAnswer> {
    try {
      const response = await send(asked, signal);
      if (!response.ok) return unreachable(response.problem);
      const answer = await read(response.value, asked);
      return answer.type === 'unreachable' ? { ...answer, message: `${server}: ${answer.message}` } : answer;
    } catch (error) {
      return unreachable(`${server}: ${networkErrorText(error)}`);
    }
  }

  async function watch(asked: KubeWatchRequest, event: (event: WatchEvent) => void): Promise<WatchEnd> {
    const open = (signal: AbortSignal) => send({ ...asked, method: 'GET' }, signal);
    const end = await readWatch(clock, open, asked, event);
    if (end.type !== 'refused' || end.status !== 401) return end;
    credentials.forget();
    return await readWatch(clock, open, asked, event);
  }

  /** Resolves with the head of the answer; its body is not read yet. Rejects with the network's error. */
  async function send(asked: KubeRequest, signal: AbortSignal): Promise<Result<IncomingMessage>> {
    const access = await raceAbort(credentials.access(), signal);
    if (!access.ok) return access;
    if (asked.maySend?.() === false) return problem('called off before it was sent');
    const { method, path, query = {}, body, contentType = JSON_TYPE, accept = JSON_TYPE, upgrade } = asked;
    const search = new URLSearchParams(query).toString();
    const url = `${base}${path}${search === '' ? '' : `?${search}`}`;
    const content = body === undefined ? undefined : Buffer.from(bodyText(body));
    const headers = {
      ...access.value.headers,
      accept,
      'user-agent': userAgent,
      ...(content === undefined ? {} : { 'content-type': contentType, 'content-length': content.length }),
      ...(upgrade && { ...upgrade.headers, connection: 'Upgrade', upgrade: upgrade.protocol }),
    };
    return ok(await open(url, { method, agent: access.value.agent, signal, headers }, content));
  }
}

/** Sends a request. Resolves with the head of the answer, also if the server changes the protocol. */
function open(url: string, options: RequestOptions, content: Buffer | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = (url.startsWith('https:') ? requestHttps : requestHttp)(url, options, resolve);
  sent.on('error', reject);
  sent.on('upgrade', (response, socket) => {
    socket.destroy();
    resolve(response);
  });
  sent.once('socket', (socket) => socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS));
  sent.end(content);
  return promise;
}

function read(
  response: IncomingMessage,
  { accept, textOfBytes, upgrade }: KubeRequest,
): KubeAnswer | Promise<KubeAnswer> {
  if (upgrade !== undefined && response.statusCode === 101) return { type: 'ok', status: 101, body: {} };
  if (textOfBytes !== undefined) return readTextAnswer(response, textOfBytes);
  return readAnswer(response, accept?.startsWith('text/plain'));
}

/**
 * JSON that a YAML parser reads as the same value: API servers parse the bodies of server-side apply as YAML, which treats
 * some unescaped characters as line ends and refuses others.
 */
function bodyText(body: JsonObject): string {
  return JSON.stringify(body).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Settles with the promise, or rejects as soon as the signal aborts. */
function raceAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('called off'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function unreachable(message: string): KubeAnswer {
  return { type: 'unreachable', message };
}
