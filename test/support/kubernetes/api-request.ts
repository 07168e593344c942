import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import type { ControlPlane } from '../../../scripts/local/control-plane.ts';

/** What an API server answered. */
export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads out of an answer is its own claim about it
  readonly body: any;
}

/** Speaks to an API server as `admin`, or with another token, without the client under test and cheaper than kubectl. */
export interface ApiRequests {
  /** Rejects if nothing answers. */
  send(method: string, path: string, body?: unknown, contentType?: string, accept?: string): Promise<ApiAnswer>;
  /** Creates or changes by server-side apply, under this manager's name; rejects if it is refused. */
  apply(path: string, body: unknown, manager?: string): Promise<void>;
  close(): void;
}

const TIMEOUT_MS = 60_000;

/** At most `sockets` requests are under way at once; further ones wait. */
export function createApiRequests(plane: ControlPlane, sockets = 16, token = 'token-admin'): ApiRequests {
  const ca = readFileSync(join(plane.folder, 'certs', 'apiserver.crt'));
  const agent = new Agent({ keepAlive: true, maxSockets: sockets, ca });
  const send: ApiRequests['send'] = (
    method,
    path,
    body,
    contentType = 'application/json',
    accept = 'application/json',
  ) =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const headers = {
        authorization: `Bearer ${token}`,
        accept,
        ...(bytes === undefined ? {} : { 'content-type': contentType, 'content-length': bytes.length }),
      };
      const asked = request(`${plane.url}${path}`, { method, agent, headers, timeout: TIMEOUT_MS }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const json = response.headers['content-type']?.includes('json') === true;
          resolve({ status: response.statusCode ?? 0, body: json ? JSON.parse(text) : text });
        });
      });
      asked.on('error', reject);
      asked.on('timeout', () => asked.destroy(new Error(`${method} ${path} was not answered in time`)));
      asked.end(bytes);
    });
  return {
    send,
    apply: async (path, body, manager = 'other-manager') => {
      const query = `fieldManager=${manager}&force=true`;
      const { status, body: said } = await send('PATCH', `${path}?${query}`, body, 'application/apply-patch+yaml');
      if (status >= 300) throw new Error(`${path} was refused: ${JSON.stringify(said)}`);
    },
    close: () => agent.destroy(),
  };
}
