import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { createAuditFile } from '../../adapters/audit/audit-file.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createKeyedHash } from '../../adapters/system/keyed-hash.ts';
import { createPinoLog } from '../../adapters/system/pino-log.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import { createGraph } from '../../engine/collections/graph.ts';
import type { JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { RelayConfig } from '../../model/relay-config.ts';
import { rightsOfSources } from '../../model/source-rights.ts';
import type { Log } from '../../ports/log.ts';
import type { Source } from '../../ports/source.ts';
import { meterStore } from '../../runtime/stored/metered-store.ts';
import { displayAddress } from '../../server/listen-address.ts';
import { createServerMetrics, type ServerMetrics } from '../../server/metrics.ts';
import type { GitStatusSink } from '../../sinks/git/status-sink.ts';
import { aborted } from '../aborted.ts';
import { openSourceDecoder } from '../decoding/source-decoder.ts';
import type { RunIo, ServeOptions } from '../options.ts';
import { planProcesses } from '../plan/start-plan-process.ts';
import { resolveServeConfig } from './config.ts';
import { openCustomResources } from './custom-resources.ts';
import { chooseGitAdapter } from './git-adapter.ts';
import { cannotListen, type Listeners, openListeners } from './listeners.ts';
import { createManagementServer, type ManagementServer } from './management-server.ts';
import { releaseIdleMemory } from './memory-at-rest.ts';
import { openReplica } from './open-replica.ts';
import { awaitStore, withSeals } from './open-store.ts';
import { apiOfProcess } from './process-api.ts';
import { allowsForksOf, openHooks } from './pull-requests.ts';
import { openRelay } from './relay.ts';
import { openSigners, openSources, openStatusSink, type ProcessDeps } from './sources.ts';
import { openXds } from './xds.ts';

/** Functions that close the opened parts, in the order of opening. */
type Closers = (() => Promise<unknown>)[];

/** Runs the management server until the signal. Resolves with exit code 0; rejects with an error whose message is for people. */
export async function runServe(options: ServeOptions, signal: AbortSignal, io: RunIo): Promise<number> {
  const config = await resolveServeConfig(options, io);
  const log = createPinoLog({ level: options.logLevel });
  const closers: Closers = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  const opened = await openServer(config, io, log, closers, signal).catch(async (error: unknown) => {
    // Open parts would keep the process alive.
    await stop();
    if (signal.aborted) return undefined;
    throw error;
  });
  if (opened === undefined) return 0;
  log.info('the server is up', opened.addresses);
  const endReleasing = releaseIdleMemory(createSystemClock());
  const reason = await Promise.race([aborted(signal), opened.over]);
  endReleasing();
  if (reason === undefined) log.info('the server is stopping');
  else log.error('the server cannot continue, and ends', { reason });
  await stop();
  if (reason !== undefined) throw new Error(reason);
  return 0;
}

/** Opens all parts and starts the server. `signal` ends the wait for the store. */
async function openServer(
  config: RelayConfig,
  { env, version }: Pick<RunIo, 'env' | 'version'>,
  log: Log,
  closers: Closers,
  signal: AbortSignal,
) {
  const deps: ProcessDeps = { clock: createSystemClock(), random: createSystemRandom(), log, env };
  await makeDataDirectory(config);
  const waited = await awaitStore(config, deps, signal);
  const { store: metered, figures } = meterStore(waited, deps.clock, (took) => metrics.storeWrite(took));
  closers.push(() => metered.close());
  const metrics: ServerMetrics = createServerMetrics(
    {
      fleet: () => server.api.status(),
      relay: () => opened.relay.stats(),
      replica: () => server.figures(),
      store: () => ({ ...figures(), refilled: server.figures().refilled }),
      pullRequests: () => hooks.pullRequests.figures(),
    },
    version,
  );
  const opened = await openRelay(config, version, deps, metered);
  closers.push(opened.close);
  const store = await withSeals(metered, opened.storeSecrets, deps);
  const { sources, custom, locate, git } = await openAllSources(config, version, deps, closers);
  const hooks = await openHooks(config, sources, { ...deps, store, server: () => server });
  const sink = openStatusSink(config, deps, git);
  const replica = await openReplica(config, version, store, deps, signal);
  closers.push(replica.close);
  const cannotListenForAgents = cannotListen('agents', config.relay.listen, '--listen');
  const xdsSetup = openXds(config, opened, deps);
  const audit = createAuditFile(config.audit.file ?? join(config.dataDirectory, 'audit.log'));
  closers.push(audit.close);
  const server: ManagementServer = await createManagementServer(
    {
      ...{ ...deps, audit, graph: createGraph(), store, sources, ...replica.role },
      relay: { ...opened.relay, start: (to) => opened.relay.start(to).catch(cannotListenForAgents) },
      ...(sink && { statusSink: statusSinkOf(sink) }),
      ...(xdsSetup && { xds: xdsSetup }),
      customResources: custom.flatMap(({ status, ...rest }) => (status ? [{ ...deps, ...rest, status }] : [])),
      parseYaml: (text) => load(text) as JsonValue,
      locate,
      plans: { evaluate: planProcesses(deps), allowsForks: allowsForksOf(config), keyedHash: createKeyedHash },
      pullRequests: hooks.pullRequests,
      committed: metrics.engineCommit,
    },
    { ...config, version, quotas: config.limits.cluster, deltaBytes: config.limits.deltaBytes },
  );
  const listeners = await openListeners(
    config,
    {
      api: apiOfProcess(server.api, {
        ...{ ...deps, records: opened.records, notReady: server.notReady },
        certificates: () => opened.relay.stats().certificates,
        metricsAddress: () => bound?.metrics,
      }),
      health: { ready: () => ({ ok: server.notReady().length === 0, reasons: server.notReady() }) },
      metrics: metrics.text,
      hooks: { targets: () => hooks.targets },
    },
    audit,
    deps,
  );
  closers.push(listeners.stop, ...(sink === undefined ? [] : [sink.stop, sink.flush]));
  closers.push(server.stop, hooks.pullRequests.stop);
  let bound: Awaited<ReturnType<Listeners['start']>> | undefined;
  bound = await listeners.start();
  const { relay, xds } = await server.start();
  const addresses = {
    relay: displayAddress(relay),
    ...(xds && { xds: displayAddress(xds) }),
    ...bound,
    caFile: opened.caFile,
  };
  return { over: server.over, addresses };
}

async function makeDataDirectory({ dataDirectory }: RelayConfig): Promise<void> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new Error(`the data directory ${dataDirectory} cannot be made: ${errorText(cause)}`, { cause });
  });
}

/** Custom resources are the last sources: a repository's declaration wins over theirs. */
async function openAllSources(config: RelayConfig, version: string, deps: ProcessDeps, closers: Closers) {
  const git = await chooseGitAdapter(config, deps);
  const { decode, locate, close: closeDecoder } = await openSourceDecoder(deps);
  closers.push(closeDecoder);
  const custom = await openCustomResources(config, version, decode, deps);
  for (const { close } of custom) closers.push(close);
  const signers = await openSigners(config, deps);
  const sources = [...openSources(config, decode, deps, git, signers), ...custom.map(({ source }) => source)];
  return { sources: withRights(config, sources), custom, locate, git };
}

/** The sink without what the API does not show of its condition. */
function statusSinkOf(sink: GitStatusSink) {
  return {
    ...sink,
    condition: () => {
      const { state, message, commit } = sink.condition();
      return { state, message, commit };
    },
  };
}

/** The sources with what the configuration lets their documents say. */
function withRights(config: RelayConfig, sources: readonly Source[]): readonly Source[] {
  const all = rightsOfSources(config.sources);
  return sources.map((source) => {
    const rights = all.get(source.name);
    return rights === undefined ? source : { ...source, rights };
  });
}
