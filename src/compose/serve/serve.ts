import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { createMemoryStore } from '../../adapters/stores/memory.ts';
import { createSqliteStore } from '../../adapters/stores/sqlite.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createPinoLog } from '../../adapters/system/pino-log.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import { createGraph } from '../../engine/collections/graph.ts';
import { errorText } from '../../model/error-text.ts';
import type { JsonValue } from '../../model/json.ts';
import type { RelayConfig } from '../../model/relay-config.ts';
import { must } from '../../model/result.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { createHttpServer } from '../../server/http-server.ts';
import { displayAddress } from '../../server/listen-address.ts';
import { createServerMetrics, type ServerMetrics } from '../../server/metrics.ts';
import type { GitStatusSink } from '../../sinks/git/status-sink.ts';
import type { RunIo, ServeOptions } from '../options.ts';
import { resolveServeConfig } from './config.ts';
import { openCustomResources } from './custom-resources.ts';
import { createManagementServer, type ManagementServer } from './management-server.ts';
import { openRelay, readApiToken } from './relay.ts';
import { hookTargets, openSources, openStatusSink, type ProcessDeps } from './sources.ts';

/** Runs the management server until the signal. Resolves with the exit code; rejects with a text for a person. */
export async function runServe(options: ServeOptions, signal: AbortSignal, io: RunIo): Promise<number> {
  const config = await resolveServeConfig(options, io);
  const log = createPinoLog({ level: options.logLevel });
  const running = await startServer(config, io, log);
  log.info('the server is up', running.addresses);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  log.info('the server is stopping');
  await running.stop();
  return 0;
}

/** A server that runs, and where. */
export interface RunningServer {
  readonly server: ManagementServer;
  readonly addresses: { readonly relay: string; readonly http: string; readonly caFile: string | undefined };
  stop(): Promise<void>;
}

/** Starts a server in this process. */
export async function startServer(
  config: RelayConfig,
  { env, version }: Pick<RunIo, 'env' | 'version'>,
  log: Log,
): Promise<RunningServer> {
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    return { ...(await openServer(config, { env, version }, log, closers)), stop };
  } catch (error) {
    // What was started must not outlive the failure: it would keep the process alive, and deaf to signals.
    await stop();
    throw error;
  }
}

/** Opens one part after the other; what has to be closed again goes to `closers`. */
async function openServer(
  config: RelayConfig,
  { env, version }: Pick<RunIo, 'env' | 'version'>,
  log: Log,
  closers: (() => Promise<unknown>)[],
): Promise<Omit<RunningServer, 'stop'>> {
  const deps: ProcessDeps = { clock: createSystemClock(), random: createSystemRandom(), log, env };
  await mkdir(config.dataDirectory, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new Error(`the data directory ${config.dataDirectory} cannot be made: ${reasonOf(error)}`, { cause: error });
  });
  const { relay, caFile } = await openRelay(config, version, deps);
  const custom = await openCustomResources(config, version, deps);
  for (const { close } of custom) closers.push(close);
  // Custom resources come last: of two declarations of one thing a repository's wins.
  const sources = [...openSources(config, deps), ...custom.map(({ source }) => source)];
  const targets = await hookTargets(config, sources, env);
  const sink = openStatusSink(config, deps);
  const store = await openStore(config, log);
  closers.push(() => store.close());
  let metrics: ServerMetrics | undefined;
  const server: ManagementServer = await createManagementServer(
    {
      ...deps,
      graph: createGraph(),
      store,
      sources,
      relay,
      ...(sink === undefined ? {} : { statusSink: statusSinkOf(sink) }),
      customResources: custom.flatMap(({ status, ...rest }) =>
        status === undefined ? [] : [{ ...rest, status, random: deps.random }],
      ),
      parseYaml: (text) => load(text) as JsonValue,
      committed: (seconds, computed) => metrics?.engineCommit(seconds, computed),
    },
    { fleet: config.fleet, version, bounds: config.bounds },
  );
  metrics = createServerMetrics({ fleet: () => server.api.status(), relay: () => relay.stats() }, version);
  const token = await readApiToken(config.http.tokenFile);
  const { address, port } = config.http.listen;
  const http = must(
    createHttpServer(
      {
        ...deps,
        api: server.api,
        health: { ready: () => ({ ok: server.notReady().length === 0, reasons: server.notReady() }) },
        metrics: metrics.text,
        hooks: { targets: () => targets },
      },
      { listen: { host: address, port }, ...(token === undefined ? {} : { token }) },
    ),
  );
  closers.push(() => http.stop());
  if (sink !== undefined) {
    closers.push(async () => {
      await sink.flush();
      await sink.stop();
    });
  }
  closers.push(() => server.stop());
  const listening = await http.start().catch(cannotListen('HTTP', config.http.listen, '--http'));
  const started = await server.start().catch(cannotListen('agents', config.relay.listen, '--listen'));
  return {
    server,
    addresses: {
      relay: `${started.relay.host}:${started.relay.port}`,
      http: `http://${listening.host}:${listening.port}`,
      caFile,
    },
  };
}

function cannotListen(
  whom: string,
  { address, port }: RelayConfig['http']['listen'],
  flag: string,
): (error: unknown) => never {
  return (cause) => {
    const where = displayAddress({ host: address, port });
    throw new Error(`cannot listen for ${whom} on ${where}: ${reasonOf(cause)} (another address: ${flag} HOST:PORT)`, {
      cause,
    });
  };
}

function reasonOf(error: unknown): string {
  const text = errorText(error);
  return /EADDRINUSE/.test(text) ? 'something listens there already' : text;
}

function openStore(config: RelayConfig, log: Log): Promise<SnapshotStore> {
  if (config.store.type === 'memory') return Promise.resolve(createMemoryStore());
  return createSqliteStore(config.store.path ?? join(config.dataDirectory, 'store.db'), { log });
}

function statusSinkOf(sink: GitStatusSink) {
  return {
    readAll: () => sink.readAll(),
    update: (changes: ReadonlyMap<string, string | null>, summary: string) => sink.update(changes, { summary }),
    setMinInterval: (seconds: number) => sink.setMinInterval(seconds),
    condition: () => {
      const { state, message, commit } = sink.condition();
      return { state, message, commit: commit ?? null };
    },
  };
}
