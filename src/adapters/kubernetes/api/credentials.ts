import { createHash } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ok, problem, type Result } from '../../../model/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import { identityOf, type ReadIdentity, type TlsIdentity } from './identity.ts';
import type { KubeconfigContext } from './kubeconfig.ts';
import { CREDENTIALS_MS, IDLE_CONNECTION_MS } from './limits.ts';
import { networkErrorText } from './network-error.ts';

/** What a request needs to be let in. */
export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  /** Its connections are kept and used again. */
  readonly agent: HttpAgent;
}

/** The user of one API server. Tokens and certificates are read again while the process runs. */
export interface Credentials {
  access(): Promise<Result<Access>>;
  /** The server did not take them: everything is read anew, the kubeconfig itself included. */
  forget(): void;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** `load` reads the kubeconfig; the problem is a sentence for people. */
export function createCredentials(clock: Clock, load: () => Promise<Result<KubeconfigContext>>): Credentials {
  const pools = createPools(clock);
  let source: { readonly identity: ReadIdentity; readonly plain: boolean } | undefined;
  let current: { readonly access: Access; readonly readAt: number } | undefined;
  let reading: Promise<Result<Access>> | undefined;

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
    access() {
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
    forget() {
      source = undefined;
      current = undefined;
    },
    close: async () => {
      current?.access.agent.destroy();
      pools.close();
    },
  };
}

/** One pool of connections; another one when certificates change, while what runs on the old one goes on to its end. */
function createPools(clock: Clock): { get(tls: TlsIdentity | undefined): HttpAgent; close(): void } {
  const open = new Set<HttpAgent>();
  let current: { readonly digest: string; readonly agent: HttpAgent } | undefined;

  function retire(old: HttpAgent): void {
    clock.schedule(CREDENTIALS_MS, () => {
      // What is idle goes now, what is under way when it has ended: nothing new is asked of it.
      for (const sockets of Object.values(old.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
      open.delete(old);
    });
  }

  return {
    get(tls) {
      const digest = digestOf(tls);
      if (current?.digest === digest) return current.agent;
      const agent = createAgent(tls);
      open.add(agent);
      if (current !== undefined) retire(current.agent);
      current = { digest, agent };
      return agent;
    },
    close() {
      current = undefined;
      for (const agent of open) agent.destroy();
      open.clear();
    },
  };
}

/**
 * HTTP/1.1 with as many connections as there are requests: one stuck connection is one stuck request. Times are kept by
 * the client; only an idle connection ends by itself.
 */
function createAgent(tls: TlsIdentity | undefined): HttpAgent {
  const common = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  const agent = tls === undefined ? new HttpAgent(common) : new HttpsAgent({ ...common, ...tls });
  // All of it goes to one server as one user: nothing need be told apart, and the certificates are long.
  agent.getName = () => 'server';
  return agent;
}

/** Of secrets too: never shown. */
function digestOf(tls: TlsIdentity | undefined): string {
  const hash = createHash('sha256');
  for (const [name, value] of Object.entries(tls ?? { plain: '' })) hash.update(`${name}\0`).update(String(value));
  return hash.digest('hex');
}
