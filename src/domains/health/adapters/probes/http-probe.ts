import { type ClientRequest, type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { isIPv6 } from 'node:net';
import { given } from '../../../../model/values/given.ts';
import { type ProbeOutcome, unhealthy } from '../../probes/outcome.ts';
import type { HttpTarget } from '../../probes/target.ts';
import type { Application } from './application.ts';

/** Names and values in turn. */
export type RawHeaders = readonly string[];

/** As many as Go's client sends, and so the kubelet. */
const MAX_REQUESTS = 10;
const MAX_BODY_BYTES = 10 * 1024;
/** Applications set many cookies. */
const MAX_HEADER_BYTES = 128 * 1024;
const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Sends a GET request and follows redirects to the same host and port. Healthy if the last answer has a status from 200 to
 * 399. Aborting the signal ends the probe as unhealthy.
 *
 * @param headers those that the application receives, without `Host`
 */
export async function probeHttp(
  application: Application,
  target: HttpTarget,
  headers: RawHeaders,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  // Node would take another port instead.
  if (target.port === 0) return unhealthy('no application listens on port 0');
  try {
    let next = target;
    for (let requests = 0; requests < MAX_REQUESTS; requests += 1) {
      const response = await answerTo(application, next, headers, signal);
      const redirected = redirectOf(application, next, response);
      if (redirected === undefined) return await outcomeOf(response);
      response.destroy();
      next = redirected;
    }
    return unhealthy(`stopped after ${MAX_REQUESTS} requests that were redirected`);
  } catch (error) {
    return unhealthy(String(error));
  }
}

/** Resolves with the head of the answer; rejects if there is none. */
async function answerTo(
  application: Application,
  { port, path, scheme, host }: HttpTarget,
  headers: RawHeaders,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { address, sourceAddress } = application;
  const options: RequestOptions = {
    host: address,
    port,
    path,
    method: 'GET',
    headers: ['Host', host ?? `${urlHost(address)}:${port}`, ...headers],
    agent: false,
    ...given({ localAddress: sourceAddress }),
    maxHeaderSize: MAX_HEADER_BYTES,
    // Only the status is of interest, and the kubelet also accepts answers that are not quite correct.
    insecureHTTPParser: true,
    signal,
  };
  const request = await requestBy(scheme, options);
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', resolve);
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new Error('the application switches protocols'));
    });
    request.end();
  });
}

async function requestBy(scheme: HttpTarget['scheme'], options: RequestOptions): Promise<ClientRequest> {
  if (scheme === 'HTTP') return plainRequest(options);
  // Imported here: TLS takes memory, and few Pods have such a probe.
  const { requestByTls } = await import('./tls-request.ts');
  return requestByTls(options);
}

/** The next request; undefined: the answer is no redirect to the same host and port. Throws if it leads nowhere. */
function redirectOf(
  { address }: Application,
  target: HttpTarget,
  { statusCode = 0, headers: { location } }: IncomingMessage,
): HttpTarget | undefined {
  if (!REDIRECTS.includes(statusCode) || location === undefined || location === '') return undefined;
  const base = `${target.scheme.toLowerCase()}://${urlHost(address)}:${target.port}`;
  const url = new URL(location, `${base}${target.path}`);
  const isHttps = url.protocol === 'https:';
  const port = url.port === '' ? (isHttps ? 443 : 80) : Number(url.port);
  if (url.hostname !== new URL(base).hostname || port !== target.port) return undefined;
  if (!isHttps && url.protocol !== 'http:') throw new Error('the redirect is neither to HTTP nor to HTTPS');
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(location);
  return {
    type: 'http',
    port,
    path: `${url.pathname}${url.search}`,
    scheme: isHttps ? 'HTTPS' : 'HTTP',
    ...(target.host === undefined || isAbsolute ? {} : { host: target.host }),
  };
}

/** Reads the beginning of the body: an answer that breaks off is none. */
async function outcomeOf(response: IncomingMessage): Promise<ProbeOutcome> {
  const { statusCode: status = 0 } = response;
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes >= MAX_BODY_BYTES) break;
  }
  if (status >= 200 && status < 400) return { type: 'healthy' };
  return unhealthy(`the application answered ${status}`, status >= 400 ? status : 503);
}

function urlHost(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}
