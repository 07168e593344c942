import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuditFile } from '../../adapters/audit/audit-file.ts';
import { errorText } from '../../model/messages.ts';
import type { BindAddress, HttpConfig, RelayConfig } from '../../model/relay-config.ts';
import { must } from '../../model/result.ts';
import type { Log } from '../../ports/log.ts';
import { createHttpServer, type HttpServer, type HttpServerDeps, type HttpTls } from '../../server/http-server.ts';
import { displayAddress, isLoopback, type ListenAddress } from '../../server/listen-address.ts';
import type { Person } from '../../server/people.ts';
import { withOwnHealth } from './own-health.ts';
import { type ProcessDeps, readSecret } from './sources.ts';

/** The ports for people and programs. */
export interface Listeners {
  /** Rejects with a text for people if an address cannot be had. Resolves with the addresses as URLs. */
  start(): Promise<{ readonly http: string; readonly metrics: string }>;
  stop(): Promise<void>;
}

/** What they show. */
type Shown = Required<Pick<HttpServerDeps, 'api' | 'hooks' | 'health' | 'metrics'>>;

/** Makes both ports, reading what they need; rejects with a text for people. */
export async function openListeners(config: RelayConfig, shown: Shown, deps: ProcessDeps): Promise<Listeners> {
  const { http, metrics, dataDirectory } = config;
  const { health, metrics: text, hooks } = shown;
  let metricsAddress: string | undefined;
  const api = withOwnHealth(shown.api, { address: () => metricsAddress, notReady: () => health.ready().reasons });
  const people = await readPeople(http, deps.env);
  const tls = http.tls === undefined ? undefined : await readTls(http.tls);
  const audit = createAuditFile(config.audit.file ?? join(dataDirectory, 'audit.log'));
  warnOfDangers(http, (await audit.trouble()) ?? '', deps.log);
  const forPeople = must(
    createHttpServer({ ...deps, api, audit, hooks }, { listen: hostOf(http.listen), people, ...(tls && { tls }) }),
  );
  const forPrograms = must(createHttpServer({ ...deps, health, metrics: text }, { listen: hostOf(metrics.listen) }));
  const stopRenewing = http.tls === undefined ? () => undefined : renewTls(http.tls, forPeople, deps);
  return {
    start: async () => {
      const bound = await forPeople.start().catch(cannotListen('HTTP', http.listen, '--http'));
      const beside = await forPrograms.start().catch(cannotListen('health and metrics', metrics.listen, '--metrics'));
      metricsAddress = `http://${displayAddress(beside)}`;
      const scheme = tls === undefined ? 'http' : 'https';
      return { http: `${scheme}://${displayAddress(bound)}`, metrics: metricsAddress };
    },
    stop: async () => {
      stopRenewing();
      await Promise.all([forPeople.stop(), forPrograms.stop()]);
      await audit.close();
    },
  };
}

function warnOfDangers({ listen, tls, people }: HttpConfig, auditTrouble: string, log: Log): void {
  if (tls === undefined && people.length > 0 && !isLoopback(listen.address)) {
    log.warn('tokens of people travel unencrypted: give http.tls a certificate, or listen on loopback', { ...listen });
  }
  if (auditTrouble !== '') {
    log.error('the audit log cannot be written: whatever a person asks to be done is refused', { error: auditTrouble });
  }
}

function hostOf({ address, port }: BindAddress): ListenAddress {
  return { host: address, port };
}

function readPeople({ people }: HttpConfig, env: ProcessDeps['env']): Promise<readonly Person[]> {
  return Promise.all(
    people.map(async ({ name, role, token }) => ({
      name,
      role,
      token: await readSecret(token, env).catch((cause: unknown) => {
        throw new Error(`the API token of ${name} cannot be read: ${errorText(cause)}`, { cause });
      }),
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

const LOOK_AT_CERTIFICATES_MS = 60_000;

/** Files that somebody else renews are taken over as they are; broken ones are said, and the old ones go on. */
function renewTls(files: NonNullable<HttpConfig['tls']>, server: HttpServer, { clock, log }: ProcessDeps): () => void {
  let last = '';
  let cancel = (): void => undefined;
  const look = async (): Promise<void> => {
    try {
      const tls = await readTls(files);
      const now = JSON.stringify(tls);
      if (last !== '' && last !== now) {
        server.renew(tls);
        log.info('the certificate of the HTTP API was renewed');
      }
      last = now;
    } catch (error) {
      log.warn('the certificate of the HTTP API cannot be renewed; the old one goes on', { error: errorText(error) });
    }
    schedule();
  };
  let stopped = false;
  function schedule(): void {
    if (!stopped) cancel = clock.schedule(LOOK_AT_CERTIFICATES_MS, () => void look());
  }
  void look();
  return () => {
    stopped = true;
    cancel();
  };
}

/** For `catch`: says where it was, and which flag names another place. */
export function cannotListen(whom: string, { address, port }: BindAddress, flag: string): (error: unknown) => never {
  return (cause) => {
    const where = displayAddress({ host: address, port });
    const text = errorText(cause);
    const why = /EADDRINUSE/.test(text) ? 'something listens there already' : text;
    throw new Error(`cannot listen for ${whom} on ${where}: ${why} (another address: ${flag} HOST:PORT)`, { cause });
  };
}
