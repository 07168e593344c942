import { createServer } from 'node:https';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { createBodies } from '../../../../http/bodies.ts';
import { limitConnections } from '../../../../http/connections.ts';
import { createLimitedLog } from '../../../../http/limited-log.ts';
import { type JsonValue, parseJsonBytes } from '../../../../model/text/json.ts';
import { errorText } from '../../../../model/text/messages.ts';
import type { Result } from '../../../../model/values/result.ts';
import type { Clock } from '../../../../ports/clock.ts';
import type { Log } from '../../../../ports/log.ts';
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

/**
 * An API server takes objects of up to 3 MiB, and shows no certificate unless it is told to. So callers are not known: an address may
 * send 1 MiB while others send more, and of many addresses with less the body that has been arriving longest is refused.
 */
const BODIES = { most: 6 << 20, mostAtOnce: 16 << 20 } as const;
const LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 90_000,
  handshakeTimeout: 5_000,
  maxHeaderSize: 16_384,
  connectionsCheckingInterval: 1_000,
  minVersion: 'TLSv1.2',
} as const;
/** Shared by address. */
const MOST_CONNECTIONS = 256;
const DRAIN_MS = 5_000;

/** The HTTPS server of the webhook. Until it has a certificate, it refuses connections in the TLS handshake. */
export function createWebhookServer(deps: WebhookServerDeps) {
  const app = createApp(deps);
  const server = createServer(LIMITS, getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  limitConnections(server, MOST_CONNECTIONS);
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

function createApp({ clock, log, review, count }: WebhookServerDeps): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const bodies = createBodies(BODIES);
  const strangers = createLimitedLog(log, clock);
  const failed = (context: Context, status: 400 | 413 | 415 | 500 | 503, message: string): Response => {
    count('failed');
    strangers.warn('a request to the webhook was refused', { status, reason: message });
    return context.text(`${message}\n`, status);
  };
  app.notFound((context) => context.text(`the webhook answers POST ${WEBHOOK_PATH}\n`, 404));
  app.onError((error, context) => failed(context, 500, `the review failed: ${errorText(error)}`));
  app.post(WEBHOOK_PATH, async (context) => {
    if (!/^application\/json\s*(?:;|$)/i.test(context.req.header('content-type') ?? '')) {
      return failed(context, 415, 'the body must be application/json');
    }
    const body = await bodies.receive(context.env.incoming);
    if (!body.ok) return failed(context, STATUS_OF[body.reason], body.message);
    const answer = review(parseJsonBytes(body.bytes));
    if (!answer.ok) return failed(context, 400, answer.problem);
    const { result, review: reviewed, message } = answer.value;
    count(result);
    if (message !== undefined) strangers.info('the webhook denied a Pod', { reason: message });
    return context.json(reviewed);
  });
  app.all(WEBHOOK_PATH, (context) => context.text('reviews are sent with POST\n', 405, { Allow: 'POST' }));
  return app;
}

const STATUS_OF = { TooLarge: 413, Unavailable: 503, Invalid: 400 } as const;
