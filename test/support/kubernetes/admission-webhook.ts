import { createServer, type Server } from 'node:https';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createTestAuthority, DAY_MS } from '../test-authority.ts';

/** A validating webhook on this machine that allows everything. */
export interface AdmissionWebhook {
  /** How an API server reaches it and knows it. */
  readonly clientConfig: JsonObject;
  /** How many requests it has judged. */
  judged(): number;
  /** Ends it with its connections, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
}

/** Starts it, with a certificate that a new authority has signed. */
export async function startAdmissionWebhook(): Promise<AdmissionWebhook> {
  const now = Date.now();
  const authority = await createTestAuthority(now - DAY_MS, now + DAY_MS);
  const { certificate: cert, key } = await authority.serverPair(now - DAY_MS, now + DAY_MS);
  let judged = 0;
  let port = 0;
  let server: Server | undefined;
  const start = async (): Promise<void> => {
    const started = createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const review = JSON.parse(Buffer.concat(chunks).toString('utf8'));
        judged += 1;
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
            response: { uid: review.request.uid, allowed: true },
          }),
        );
      });
    });
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject);
      started.listen(port, '127.0.0.1', resolve);
    });
    const address = started.address();
    if (typeof address !== 'object' || address === null) throw new Error('it has no address');
    port = address.port;
    server = started;
  };
  await start();
  return {
    clientConfig: { url: `https://127.0.0.1:${port}/judge`, caBundle: Buffer.from(authority.root).toString('base64') },
    judged: () => judged,
    kill: () =>
      new Promise((resolve) => {
        if (server?.listening !== true) return resolve();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    restart: start,
  };
}
