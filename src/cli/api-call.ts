import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';

/** How a server proves itself, and how the caller does; PEM texts. */
export interface CallTls {
  /** Trusted instead of the machine's. */
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/** One request to a server. */
export interface ApiCall {
  readonly url: URL;
  readonly token: string | undefined;
  readonly tls: CallTls;
  /** Present: it is a POST. */
  readonly body?: Readonly<Record<string, string>>;
}

/** What came back; redirects are not followed. */
export interface ApiResponse {
  readonly status: number;
  readonly statusText: string;
  readonly text: string;
}

/** Seconds until a server must have answered. */
export const DEADLINE_SECONDS = 15;

const MAX_ANSWER_BYTES = 512 << 20;

/** Asks once. Rejects with what went wrong underneath if there is no whole answer in time. */
export function askApi({ url, token, tls, body }: ApiCall): Promise<ApiResponse> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    Accept: 'application/json',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
  };
  const options = { method: text === undefined ? 'GET' : 'POST', headers, agent: false } as const;
  const { ca, certificate, key } = tls;
  const secure = { ...options, ...(ca && { ca }), ...(certificate && { cert: certificate }), ...(key && { key }) };
  const signal = AbortSignal.timeout(DEADLINE_SECONDS * 1_000);
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:' ? secureRequest(url, { ...secure, signal }) : plainRequest(url, { ...options, signal });
    request.once('error', (error) => reject(signal.aborted ? signal.reason : error));
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) request.destroy(new Error('the answer is too large'));
      });
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          statusText: response.statusMessage ?? '',
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      );
      response.once('close', () => reject(new Error('the connection was closed in the middle of the answer')));
    });
    request.end(text);
  });
}
