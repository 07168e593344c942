import { readFile } from 'node:fs/promises';
import { bindPrivateSocket } from '../../adapters/system/private-socket.ts';
import { isLoopback } from '../../http/loopback.ts';
import type { BindAddress, HttpConfig, RelayConfig } from '../../model/fleet/relay-config.ts';
import { errorText } from '../../model/text/messages.ts';
import { must } from '../../model/values/result.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import type { Log } from '../../ports/log.ts';
import { createHttpServer, type HttpServer, type HttpServerDeps, type HttpTls } from '../../server/http-server.ts';
import type { Listening } from '../../server/listen.ts';
import { displayAddress, type ListenAddress } from '../../server/listen-address.ts';
import type { Person } from '../../server/people.ts';
import { createLocalToken } from './local-token.ts';
import { type ProcessDeps, readSecret } from './sources.ts';

/** The listener for API and hooks, and the one for health and metrics. */
export interface Listeners {
  /** Resolves with the addresses as URLs. Rejects with a text for people if one cannot be bound. */
  start(): Promise<{ readonly http: string; readonly metrics: string }>;
  stop(): Promise<void>;
}

/** Makes both listeners and reads their files. Rejects with a text for people. The caller closes the audit log. */
export async function openListeners(
  config: RelayConfig,
  shown: Required<Pick<HttpServerDeps, 'api' | 'hooks' | 'health' | 'metrics'>>,
  audit: AuditLog,
  deps: ProcessDeps,
): Promise<Listeners> {
  const { http, metrics } = config;
  const { api, hooks, ...forPrograms } = shown;
  const people = await readPeople(http, deps.env);
  const tls = http.tls && (await readTls(http.tls));
  warnOfDangers(http, await audit.problem(), deps.log);
  const local = createLocalToken(http, config.dataDirectory, deps);
  const opened = Promise.withResolvers<void>();
  const options = {
    listen: listeningOf(http.listen),
    people,
    ...(tls && { tls }),
    // A caller that asks earlier would be refused for the token that it cannot have found yet.
    ...(local && { localToken: local.token, opened: opened.promise }),
  };
  const storeForgets = config.store.type === 'memory';
  const httpServer = must(createHttpServer({ ...deps, api, audit, hooks, storeForgets }, options));
  const metricsServer = must(createHttpServer({ ...deps, ...forPrograms }, { listen: hostOf(metrics.listen) }));
  const stopRenewing = http.tls === undefined ? () => undefined : renewTls(http.tls, httpServer, deps);
  return {
    start: async () => {
      const bound = await httpServer.start().catch(cannotListen('HTTP', http.listen, '--http'));
      const other = await metricsServer.start().catch(cannotListen('health and metrics', metrics.listen, '--metrics'));
      await local?.publish(bound);
      opened.resolve();
      const scheme = 'socket' in bound ? '' : tls === undefined ? 'http://' : 'https://';
      return { http: `${scheme}${displayAddress(bound)}`, metrics: `http://${displayAddress(other)}` };
    },
    stop: async () => {
      stopRenewing();
      await local?.withdraw();
      await Promise.all([httpServer.stop(), metricsServer.stop()]);
    },
  };
}

function warnOfDangers({ listen, tls, people }: HttpConfig, auditProblem: string | undefined, log: Log): void {
  if (tls === undefined && people.length > 0 && 'address' in listen && !isLoopback(listen.address)) {
    log.warn('tokens of people travel unencrypted: give http.tls a certificate, or listen on loopback', { ...listen });
  }
  if (auditProblem !== undefined) {
    log.error('the audit log cannot be written: every act of a person is refused', { error: auditProblem });
  }
}

function hostOf({ address, port }: BindAddress): ListenAddress {
  return { host: address, port };
}

function listeningOf(listen: HttpConfig['listen']): Listening {
  return 'socket' in listen ? { ...listen, bind: bindPrivateSocket } : hostOf(listen);
}

function readPeople({ people }: HttpConfig, env: ProcessDeps['env']): Promise<readonly Person[]> {
  return Promise.all(
    people.map(async ({ name, role, token }) => ({
      name,
      role,
      token: await readSecret(token, env, `API token of ${name}`),
    })),
  );
}

async function readTls({ certFile, keyFile, clientCaFile }: NonNullable<HttpConfig['tls']>): Promise<HttpTls> {
  const read = (file: string): Promise<string> =>
    readFile(file, 'utf8').catch((cause: unknown) => {
      throw new Error(`the file ${file} of http.tls cannot be read: ${errorText(cause)}`, { cause });
    });
  const [certificate, key] = await Promise.all([read(certFile), read(keyFile)]);
  return { certificate, key, ...(clientCaFile === undefined ? {} : { clientCa: await read(clientCaFile) }) };
}

const RENEW_EVERY_MS = 60_000;

/** Reads the files again every minute, and uses them if they have changed. If they are not usable, the old ones stay. */
function renewTls(files: NonNullable<HttpConfig['tls']>, server: HttpServer, { clock, log }: ProcessDeps): () => void {
  let last = '';
  let stopped = false;
  let cancel = (): void => undefined;
  const renew = async (): Promise<void> => {
    try {
      const tls = await readTls(files);
      const now = JSON.stringify(tls);
      if (last !== '' && last !== now) {
        server.renew(tls);
        log.info('the certificate of the HTTP API was renewed');
      }
      last = now;
    } catch (error) {
      log.warn('the certificate of the HTTP API cannot be renewed; the old one stays', { error: errorText(error) });
    }
    if (!stopped) cancel = clock.schedule(RENEW_EVERY_MS, () => void renew());
  };
  void renew();
  return () => {
    stopped = true;
    cancel();
  };
}

/** For `catch`: throws an error that names the address, and the flag for another one. */
export function cannotListen(whom: string, listen: HttpConfig['listen'], flag: string): (error: unknown) => never {
  return (cause) => {
    const where = displayAddress(listeningOf(listen));
    const text = errorText(cause);
    const why = /EADDRINUSE/.test(text) ? 'something listens there already' : text;
    throw new Error(`cannot listen for ${whom} on ${where}: ${why} (another address: ${flag} HOST:PORT)`, { cause });
  };
}
