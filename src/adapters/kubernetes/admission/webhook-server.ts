import { createServer } from 'node:https';
import { getRequestListener } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { type JsonValue, parseJsonBytes } from '../../../model/json.ts';
import { errorText } from '../../../model/messages.ts';
import type { Result } from '../../../model/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { InjectionResult, ReviewAnswer } from './review.ts';
import { WEBHOOK_PATH } from './webhook-configuration.ts';
import type { ServedCertificate } from './webhook-trust.ts';

export interface WebhookServerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Answers the body of a review; undefined: it is not JSON. */
  readonly review: (body: JsonValue | undefined) => Result<ReviewAnswer>;
  /** Called once for each request that reached the path. */
  readonly count: (result: InjectionResult) => void;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** An API server takes objects of up to 3 MiB. */
const MOST_BODY_BYTES = 6 * 1024 * 1024;
/** Of all requests under way: callers are not known. */
const MOST_BYTES_AT_ONCE = 48 * 1024 * 1024;
const LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 90_000,
  handshakeTimeout: 5_000,
  maxHeaderSize: 16_384,
  connectionsCheckingInterval: 1_000,
  minVersion: 'TLSv1.2',
} as const;
const MOST_CONNECTIONS = 256;
const DRAIN_MS = 5_000;

/** The HTTPS server of the webhook. Until it has a certificate, it refuses connections in the TLS handshake. */
export function createWebhookServer(deps: WebhookServerDeps) {
  const app = createApp(deps);
  const server = createServer(LIMITS, getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  server.maxConnections = MOST_CONNECTIONS;
  return {
    /** Resolves with the bound address. Rejects if it cannot be bound. */
    listen: ({ host, port }: Address): Promise<Address> =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({ host, port }, () => {
          server.off('error', reject);
          const bound = server.address();
          resolve(typeof bound === 'object' && bound !== null ? { host, port: bound.port } : { host, port });
        });
      }),
    /** Serves another certificate on new connections. Throws if it is not valid PEM. */
    use: ({ certificate, key }: ServedCertificate): void =>
      server.setSecureContext({ cert: certificate, key, minVersion: LIMITS.minVersion }),
    /** Ends: no new connections, and five seconds for requests under way. */
    stop: async (): Promise<void> => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const cancel = deps.clock.schedule(DRAIN_MS, () => server.closeAllConnections());
      await closed;
      cancel();
    },
  };
}

function createApp({ log, review, count }: WebhookServerDeps): Hono {
  const app = new Hono();
  let bytesUnderWay = 0;
  const failed = (context: Context, status: 400 | 411 | 413 | 415 | 500 | 503, message: string): Response => {
    count('failed');
    log.warn('a request to the webhook was refused', { status, reason: message });
    return context.text(`${message}\n`, status);
  };
  app.notFound((context) => context.text(`the webhook answers POST ${WEBHOOK_PATH}\n`, 404));
  app.onError((error, context) => failed(context, 500, `the review failed: ${errorText(error)}`));
  app.post(WEBHOOK_PATH, async (context) => {
    const length = Number(context.req.header('content-length') ?? Number.NaN);
    if (!/^application\/json\s*(?:;|$)/i.test(context.req.header('content-type') ?? '')) {
      return failed(context, 415, 'the body must be application/json');
    }
    if (!Number.isSafeInteger(length)) return failed(context, 411, 'the request must have a Content-Length');
    if (length > MOST_BODY_BYTES) return failed(context, 413, `the body has more than ${MOST_BODY_BYTES} bytes`);
    if (bytesUnderWay + length > MOST_BYTES_AT_ONCE) return failed(context, 503, 'too many requests at once');
    bytesUnderWay += length;
    try {
      const answer = review(parseJsonBytes(new Uint8Array(await context.req.arrayBuffer())));
      if (!answer.ok) return failed(context, 400, answer.problem);
      const { result, review: body, message } = answer.value;
      count(result);
      if (message !== undefined) log.info('the webhook denied a Pod', { reason: message });
      return context.json(body);
    } finally {
      bytesUnderWay -= length;
    }
  });
  app.all(WEBHOOK_PATH, (context) => context.text('reviews are sent with POST\n', 405, { Allow: 'POST' }));
  return app;
}
