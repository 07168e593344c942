import type { RequestOptions } from 'node:https';
import type { DispatcherOptions, KubeConfig } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import { ok, problem, type Result } from '../../../model/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import { CREDENTIALS_MS } from './limits.ts';
import { networkErrorText } from './network-error.ts';

/** What a request needs to be let in. */
export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
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
export function createCredentials(clock: Clock, load: () => Promise<Result<KubeConfig>>): Credentials {
  const pools = createPools(clock);
  let config: KubeConfig | undefined;
  let current: { readonly access: Access; readonly readAt: number } | undefined;
  let reading: Promise<Result<Access>> | undefined;

  async function read(): Promise<Result<Access>> {
    if (config === undefined) {
      const loaded = await load();
      if (!loaded.ok) return loaded;
      config = loaded.value;
    }
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const dispatcher = await pools.get(config.createDispatcherOptions(config.getCurrentCluster(), definedOf(options)));
    const access = { headers: headersOf(options), dispatcher };
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
      config = undefined;
      current = undefined;
    },
    close: pools.close,
  };
}

function headersOf({ headers, auth }: RequestOptions): Readonly<Record<string, string>> {
  const result: Record<string, string> = {};
  if (typeof auth === 'string') result.authorization = `Basic ${Buffer.from(auth).toString('base64')}`;
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value !== undefined) result[name.toLowerCase()] = String(value).trim();
  }
  return result;
}

/** One pool of connections; another one when certificates change, while what runs on the old one goes on to its end. */
function createPools(clock: Clock): {
  get(options: DispatcherOptions): Promise<Dispatcher>;
  close(): Promise<void>;
} {
  const open = new Set<Dispatcher>();
  let current: { readonly text: string; readonly dispatcher: Dispatcher } | undefined;

  function retire(old: Dispatcher): void {
    clock.schedule(CREDENTIALS_MS, () => {
      old.close().then(
        () => open.delete(old),
        () => open.delete(old),
      );
    });
  }

  return {
    async get(options) {
      const text = JSON.stringify(options);
      if (current?.text === text) return current.dispatcher;
      const dispatcher = await createDispatcher(options);
      open.add(dispatcher);
      if (current !== undefined) retire(current.dispatcher);
      current = { text, dispatcher };
      return dispatcher;
    },
    async close() {
      current = undefined;
      await Promise.allSettled([...open].map((dispatcher) => dispatcher.destroy()));
      open.clear();
    },
  };
}

/**
 * HTTP/1.1 with as many connections as there are requests: one stuck connection is one stuck request. Times are kept by
 * the client. TCP keep-alive ends connections to a host that is gone.
 */
async function createDispatcher(options: DispatcherOptions): Promise<Dispatcher> {
  // The default export: a bundle of a CommonJS package that is imported later has no other.
  const { default: undici } = await import('undici');
  const { Agent, ProxyAgent, Socks5ProxyAgent } = undici;
  const common = { allowH2: false, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 30_000 };
  const tcp = { keepAlive: true, keepAliveInitialDelay: 30_000 };
  switch (options.type) {
    case 'agent':
      return new Agent({ ...common, connect: { ...definedOf(options.connect), ...tcp } });
    case 'none':
      return new Agent({ ...common, connect: tcp });
    case 'proxy':
      return new ProxyAgent({ ...common, uri: options.uri, requestTls: definedOf(options.requestTls), connect: tcp });
    case 'socks':
      return new Socks5ProxyAgent(options.uri, { ...common, requestTls: definedOf(options.requestTls) });
  }
}

/** Two libraries disagree on whether a member that is not there may be named. */
function definedOf(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
