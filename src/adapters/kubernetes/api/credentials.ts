import { createHash } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ok, problem, type Result } from '../../../model/values/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import { identityOf, type ReadIdentity, type TlsIdentity } from './identity.ts';
import type { KubeconfigContext } from './kubeconfig.ts';
import { CREDENTIALS_MS, IDLE_CONNECTION_MS } from './limits.ts';
import { networkErrorText } from './network-error.ts';

/** What a request needs to be authenticated and sent. */
export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  /** Pool of connections with the TLS identity. */
  readonly agent: HttpAgent;
}

export type Credentials = ReturnType<typeof createCredentials>;

/**
 * The credentials of one user of an API server. Files of tokens and certificates are read again every ten seconds.
 *
 * @param load reads the kubeconfig; its problem is a sentence for people
 */
export function createCredentials(clock: Clock, load: () => Promise<Result<KubeconfigContext>>) {
  const pools = createPools(clock);
  let source: { readonly identity: ReadIdentity; readonly plain: boolean } | undefined;
  let current: { readonly access: Access; readonly readAt: number } | undefined;
  let reading: Promise<Result<Access>> | undefined;
  let isClosed = false;

  async function read(): Promise<Result<Access>> {
    if (source === undefined) {
      const loaded = await load();
      if (!loaded.ok) return loaded;
      source = { identity: identityOf(loaded.value), plain: loaded.value.server.startsWith('http:') };
    }
    const { headers, tls, proxy } = await source.identity();
    const access = { headers, agent: proxy ?? pools.get(source.plain ? undefined : tls) };
    current = { access, readAt: clock.monotonic() };
    return ok(access);
  }

  return {
    /**
     * Reads the credentials if they are older than ten seconds. Calls at the same time share one read. A problem after `close`.
     * Never rejects.
     */
    access(): Promise<Result<Access>> {
      if (isClosed) return Promise.resolve(problem('the client of the API server is closed'));
      if (current !== undefined && clock.monotonic() - current.readAt < CREDENTIALS_MS) {
        return Promise.resolve(ok(current.access));
      }
      reading ??= read()
        .catch((error: unknown) => problem(`the credentials cannot be read: ${networkErrorText(error)}`))
        .finally(() => {
          reading = undefined;
        });
      return reading;
    },
    /** The server has refused the credentials: all of them are read again, and the kubeconfig as well. */
    forget(): void {
      source = undefined;
      current = undefined;
    },
    /** Ends all connections. */
    async close(): Promise<void> {
      isClosed = true;
      current?.access.agent.destroy();
      pools.close();
    },
  };
}

/** Keeps one pool of connections per TLS identity. Requests that use an older identity go on to their end. */
function createPools(clock: Clock) {
  const open = new Set<HttpAgent>();
  let current: { readonly digest: string; readonly agent: HttpAgent } | undefined;

  /** No new request uses the pool after a while. Then its idle connections are closed; busy ones close after their request. */
  function retire(old: HttpAgent): void {
    clock.schedule(CREDENTIALS_MS, () => {
      for (const sockets of Object.values(old.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
      open.delete(old);
    });
  }

  return {
    get(tls: TlsIdentity | undefined): HttpAgent {
      const digest = digestOf(tls);
      if (current?.digest === digest) return current.agent;
      const agent = createAgent(tls);
      open.add(agent);
      if (current !== undefined) retire(current.agent);
      current = { digest, agent };
      return agent;
    },
    close(): void {
      current = undefined;
      for (const agent of open) agent.destroy();
      open.clear();
    },
  };
}

/**
 * HTTP/1.1 with one connection per concurrent request: a stuck connection delays one request. The client bounds requests;
 * the agent closes idle connections only.
 */
function createAgent(tls: TlsIdentity | undefined): HttpAgent {
  const common = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  const agent = tls === undefined ? new HttpAgent(common) : new HttpsAgent({ ...common, ...tls });
  // All connections have one server and one user, so one name. The default name would contain the certificates.
  agent.getName = () => 'server';
  return agent;
}

/** The digest covers private keys: it is never logged. */
function digestOf(tls: TlsIdentity | undefined): string {
  const hash = createHash('sha256');
  for (const [name, value] of Object.entries(tls ?? { plain: '' })) hash.update(`${name}\0`).update(String(value));
  return hash.digest('hex');
}
