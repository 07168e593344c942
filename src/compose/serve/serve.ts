import { mkdir } from 'node:fs/promises';
import { load } from 'js-yaml';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createPinoLog } from '../../adapters/system/pino-log.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import { createGraph } from '../../engine/collections/graph.ts';
import type { JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { RelayConfig } from '../../model/relay-config.ts';
import type { Log } from '../../ports/log.ts';
import { meterStore } from '../../runtime/stored/metered-store.ts';
import { createServerMetrics, type ServerMetrics } from '../../server/metrics.ts';
import type { GitStatusSink } from '../../sinks/git/status-sink.ts';
import type { RunIo, ServeOptions } from '../options.ts';
import { awaitStore } from './await-store.ts';
import { resolveServeConfig } from './config.ts';
import { openCustomResources } from './custom-resources.ts';
import { cannotListen, openListeners } from './listeners.ts';
import { createManagementServer, type ManagementServer } from './management-server.ts';
import { saveMemoryAtRest } from './memory-at-rest.ts';
import { openReplica } from './open-replica.ts';
import { withSeals } from './open-store.ts';
import { openRelay } from './relay.ts';
import { apiOfRelay } from './relay-api.ts';
import { hookTargets, openSources, openStatusSink, type ProcessDeps } from './sources.ts';

/** Runs the management server until the signal. Resolves with the exit code; rejects with a text for a person. */
export async function runServe(options: ServeOptions, signal: AbortSignal, io: RunIo): Promise<number> {
  const config = await resolveServeConfig(options, io);
  const log = createPinoLog({ level: options.logLevel });
  const running = await startServer(config, io, log, signal).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (running === undefined) return 0;
  log.info('the server is up', running.addresses);
  const endSaving = saveMemoryAtRest(createSystemClock());
  const told = new Promise<undefined>((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
  const reason = await Promise.race([told, running.server.over]);
  endSaving();
  if (reason === undefined) log.info('the server is stopping');
  else log.error('the server can go on no more, and ends', { reason });
  await running.stop();
  if (reason !== undefined) throw new Error(reason);
  return 0;
}

/** A server that runs, and where. */
export interface RunningServer {
  readonly server: ManagementServer;
  readonly addresses: {
    readonly relay: string;
    readonly http: string;
    readonly metrics: string;
    readonly caFile: string | undefined;
  };
  stop(): Promise<void>;
}

/** Starts a server in this process; `signal`: gives up waiting for the store. */
export async function startServer(
  config: RelayConfig,
  { env, version }: Pick<RunIo, 'env' | 'version'>,
  log: Log,
  signal?: AbortSignal,
): Promise<RunningServer> {
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    return { ...(await openServer(config, { env, version }, log, closers, signal)), stop };
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
  signal: AbortSignal | undefined,
): Promise<Omit<RunningServer, 'stop'>> {
  const deps: ProcessDeps = { clock: createSystemClock(), random: createSystemRandom(), log, env };
  await mkdir(config.dataDirectory, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new Error(`the data directory ${config.dataDirectory} cannot be made: ${reasonOf(error)}`, { cause: error });
  });
  const { store: opened, figures } = meterStore(await awaitStore(config, deps, signal), deps.clock, (took) =>
    metrics.storeWrite(took),
  );
  closers.push(() => opened.close());
  const metrics: ServerMetrics = createServerMetrics(
    {
      fleet: () => server.api.status(),
      relay: () => relay.stats(),
      replica: () => server.figures(),
      store: () => ({ ...figures(), refilled: server.figures().refilled }),
    },
    version,
  );
  const { relay, generations, caFile, storeSecrets, close } = await openRelay(config, version, deps, opened);
  closers.push(close);
  const store = await withSeals(opened, storeSecrets);
  const custom = await openCustomResources(config, version, deps);
  for (const { close } of custom) closers.push(close);
  // Custom resources come last: of two declarations of one thing a repository's wins.
  const sources = [...openSources(config, deps), ...custom.map(({ source }) => source)];
  const targets = await hookTargets(config, sources, env);
  const sink = openStatusSink(config, deps);
  const replica = await openReplica(config, version, store, deps, signal);
  closers.push(replica.close);
  const server: ManagementServer = await createManagementServer(
    {
      ...deps,
      graph: createGraph(),
      store,
      sources,
      relay,
      ...replica.role,
      ...(sink === undefined ? {} : { statusSink: statusSinkOf(sink) }),
      customResources: custom.flatMap(({ status, ...rest }) =>
        status === undefined ? [] : [{ ...rest, status, random: deps.random }],
      ),
      parseYaml: (text) => load(text) as JsonValue,
      committed: metrics.engineCommit,
    },
    { fleet: config.fleet, version, bounds: config.bounds },
  );
  const listeners = await openListeners(
    config,
    {
      api: apiOfRelay(server.api, { relay, generations }, deps),
      health: { ready: () => ({ ok: server.notReady().length === 0, reasons: server.notReady() }) },
      metrics: metrics.text,
      hooks: { targets: () => targets },
    },
    deps,
  );
  closers.push(() => listeners.stop());
  if (sink !== undefined) {
    closers.push(async () => {
      await sink.flush();
      await sink.stop();
    });
  }
  closers.push(() => server.stop());
  const listening = await listeners.start();
  const started = await server.start().catch(cannotListen('agents', config.relay.listen, '--listen'));
  return {
    server,
    addresses: {
      relay: `${started.relay.host}:${started.relay.port}`,
      ...listening,
      caFile,
    },
  };
}

function reasonOf(error: unknown): string {
  const text = errorText(error);
  return /EADDRINUSE/.test(text) ? 'something listens there already' : text;
}

function statusSinkOf(sink: GitStatusSink) {
  return {
    ...sink,
    condition: () => {
      const { state, message, commit } = sink.condition();
      return { state, message, commit };
    },
  };
}
