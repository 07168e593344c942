import { join } from 'node:path';
import { load } from 'js-yaml';
import { createAuditFile } from '../../adapters/audit/audit-file.ts';
import { makeFolders } from '../../adapters/disk/folders.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createKeyedHash } from '../../adapters/system/keyed-hash.ts';
import { createSystemRandom } from '../../adapters/system/random.ts';
import { servedDomains } from '../../domains/servers.ts';
import { createGraph } from '../../engine/collections/graph.ts';
import { DEFAULT_API } from '../../model/fleet/default-api.ts';
import type { RelayConfig } from '../../model/fleet/relay-config.ts';
import { rightsOfSources } from '../../model/fleet/source-rights.ts';
import type { JsonValue } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { AuditLog } from '../../ports/audit-log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Source } from '../../ports/source.ts';
import { meterStore } from '../../runtime/stored/metered-store.ts';
import { displayAddress } from '../../server/listen-address.ts';
import { createServerMetrics, type Scrape } from '../../server/metrics.ts';
import type { GitStatusSink } from '../../sinks/git/status-sink.ts';
import { openSourceDecoder } from '../decoding/source-decoder.ts';
import type { RunIo, ServeOptions } from '../options.ts';
import { type Parts, runParts } from '../parts.ts';
import { planProcesses } from '../plan/start-plan-process.ts';
import { refuseMissing } from '../preflight.ts';
import { createProcessLog, isTextLog } from '../process-log.ts';
import { resolveServeConfig } from './config.ts';
import { openCustomResources } from './custom-resources.ts';
import { configuredDomains } from './domain-parts.ts';
import { chooseGitAdapter } from './git-adapter.ts';
import { cannotListen, type Listeners, openListeners } from './listeners.ts';
import { createManagementServer, type ManagementServer } from './management-server.ts';
import { releaseIdleMemory } from './memory-at-rest.ts';
import { openReplica } from './open-replica.ts';
import { awaitStore, withSeals } from './open-store.ts';
import { apiOfProcess } from './process-api.ts';
import { allowsForksOf, openHooks } from './pull-requests.ts';
import { type OpenedRelay, openRelay } from './relay.ts';
import type { ServerDeps } from './server-deps.ts';
import { openSigners, openSources, openStatusSink, type ProcessDeps } from './sources.ts';

/** Time for the parts to close: the relay waits ten seconds for deltas in flight, and so does the last status. */
const CLOSE_MS = 40_000;
const LAST_STATUS_MS = 10_000;

/** What every step of the start uses. `signal` ends the wait for the store. */
interface Start {
  readonly config: RelayConfig;
  readonly version: string;
  readonly deps: ProcessDeps;
  readonly parts: Parts;
  readonly signal: AbortSignal;
  /** A person waits for the start: what cannot be reached is not waited for. */
  readonly failsAtOnce: boolean;
}

/** Runs the management server until the signal. Resolves with exit code 0; rejects with an error whose message is for people. */
export function runServe(options: ServeOptions, signal: AbortSignal, io: RunIo): Promise<number> {
  const { env, version, opening } = io;
  const clock = createSystemClock();
  const log = createProcessLog(options, io);
  return runParts({ clock, log, signal, opening, what: 'server', closeMs: CLOSE_MS }, async (parts) => {
    await refuseMissing(neededBy(options), io);
    const config = await parts.open('the configuration', () => resolveServeConfig(options, io));
    const deps: ProcessDeps = { clock, random: createSystemRandom(), log, env };
    const failsAtOnce = io.isTerminal === true;
    const { over, addresses } = await openServer({ config, version, deps, parts, signal, failsAtOnce });
    log.info('the server is up', addresses);
    if (isTextLog(options, io)) io.err(nextSteps(config, addresses));
    return { over };
  });
}

function neededBy({ config, folder, repoTokenFile, apiTokenFile, hookSecretFile, storePasswordFile }: ServeOptions) {
  const todo = 'make it, or correct the path';
  return [
    ['--config', config, 'file', todo],
    ['--folder', folder, 'folder', 'make it with `fleetrelay init DIR`, or correct the path'],
    ['--repo-token-file', repoTokenFile, 'file', todo],
    ['--api-token-file', apiTokenFile, 'file', todo],
    ['--hook-secret-file', hookSecretFile, 'file', todo],
    ['--store-password-file', storePasswordFile, 'file', todo],
  ] as const;
}

/** What a person at the terminal does next. */
function nextSteps(
  { dataDirectory }: RelayConfig,
  { relay, http, caFile }: { readonly relay: string; readonly http: string; readonly caFile?: string | undefined },
): string {
  const ca = caFile === undefined ? '' : ` --ca-file ${caFile}`;
  const api = http === DEFAULT_API ? '' : ` --api ${http}`;
  return [
    'next, in another terminal, an agent for each cluster that the repository declares, here one whose cluster is a folder:',
    `  fleetrelay cluster token NAME --data-dir ${dataDirectory} > NAME.token`,
    `  fleetrelay agent --cluster NAME --server ${relay} --token-file NAME.token${ca} --directory NAME`,
    `then: fleetrelay status${api}`,
    '',
  ].join('\n');
}

/** Opens all parts and starts the server. */
async function openServer(start: Start) {
  const { config, version, deps, parts, signal } = start;
  const { metrics, figures, opened, store } = await openStoreAndRelay(start);
  const { sources, custom, locate, git } = await openAllSources(start);
  const sink = await parts.open(
    'the status branch',
    () => openStatusSink(config, deps, git),
    (made) => made?.stop(),
  );
  const replica = await parts.open('the role', () => openReplica(config, version, store, deps, signal), closePart);
  const domains = await parts.open('the parts of domains', () =>
    configuredDomains(servedDomains, { ...deps, config, relay: opened }),
  );
  const auditLog = { file: join(config.dataDirectory, 'audit.log'), ...config.audit };
  const audit = await parts.open('the audit log', () => createAuditFile(auditLog), closePart);
  const cannotListenForAgents = cannotListen('agents', config.relay.listen, '--listen');
  const opening = { ...deps, audit, domains, store, sources, ...replica.role };
  const wired: ServerDeps = {
    ...opening,
    graph: createGraph(),
    relay: { ...opened.relay, start: (to) => opened.relay.start(to).catch(cannotListenForAgents) },
    ...(sink && { statusSink: statusSinkOf(sink) }),
    customResources: custom.flatMap(({ status, ...rest }) => (status ? [{ ...deps, ...rest, status }] : [])),
    parseYaml: (text) => load(text) as JsonValue,
    locate,
    plans: { evaluate: planProcesses(deps), allowsForks: allowsForksOf(config), keyedHash: createKeyedHash },
    committed: metrics.engineCommit,
  };
  const { fleet, bounds, limits } = config;
  const options = { fleet, bounds, version, quotas: limits.cluster, deltaBytes: limits.deltaBytes };
  const server: ManagementServer = await parts.open(
    'the server',
    async () => onceStopped(await createManagementServer(wired, options)),
    stopPart,
  );
  const hooks = await parts.open(
    'the hooks',
    () => openHooks(config, sources, { ...deps, store, server }),
    ({ pullRequests }) => pullRequests.stop(),
  );
  const scrape = (): Scrape => {
    const { refilled, ...replica } = server.figures();
    return {
      fleet: server.api.status(),
      relay: opened.relay.stats(),
      replica,
      store: { ...figures(), refilled },
      pullRequests: hooks.pullRequests.figures(),
      ofDomains: server.samples(),
    };
  };
  const shown = { server, opened, hooks, audit, metrics: () => metrics.text(scrape()) };
  return startServer(start, shown, sink);
}

/** Opens the store with its metrics, and the relay, whose secrets can seal the store. */
async function openStoreAndRelay({ config, version, deps, parts, signal, failsAtOnce }: Start) {
  await parts.open('the data directory', () => makeDataDirectory(config));
  const waited = await parts.open(
    'the store',
    () => awaitStore(config, deps, { signal, failsAtOnce }),
    (opened) => opened.close(),
  );
  const ofDomains = servedDomains.flatMap((domain) => domain.server?.metrics ?? []);
  const metrics = createServerMetrics(ofDomains, version);
  const { store: metered, figures } = meterStore(waited, deps.clock, metrics.storeWrite);
  const opened = await parts.open('the relay', () => openRelay(config, version, deps, metered), closePart);
  const store = await parts.open('the seals of the store', () => withSeals(metered, opened.storeSecrets, deps));
  return { metrics, figures, opened, store };
}

/** The server, which may be stopped twice: it drains before the API closes, and is stopped also if there never was one. */
function onceStopped(server: ManagementServer): ManagementServer {
  let stopped: Promise<void> | undefined;
  return {
    ...server,
    stop: () => {
      stopped ??= server.stop();
      return stopped;
    },
  };
}

interface Shown {
  readonly server: ManagementServer;
  readonly opened: OpenedRelay;
  readonly metrics: () => Promise<string>;
  readonly hooks: Awaited<ReturnType<typeof openHooks>>;
  readonly audit: AuditLog;
}

/** Listens, and starts the wired server. */
async function startServer(
  { config, deps, parts }: Start,
  { server, opened, metrics, hooks, audit }: Shown,
  sink: GitStatusSink | undefined,
) {
  let bound: Awaited<ReturnType<Listeners['start']>> | undefined;
  const listeners = await parts.open(
    'the HTTP API',
    () =>
      openListeners(
        config,
        {
          api: apiOfProcess(server.api, {
            ...deps,
            records: opened.records,
            notReady: server.notReady,
            certificates: () => opened.relay.stats().certificates,
            metricsAddress: () => bound?.metrics,
          }),
          health: { ready: () => ({ ok: server.notReady().length === 0, reasons: server.notReady() }) },
          metrics,
          hooks: { targets: () => hooks.targets },
        },
        audit,
        deps,
      ),
    stopPart,
  );
  const made = await parts.open('the addresses', () => listeners.start());
  bound = made;
  await parts.open(
    'the last status',
    () => undefined,
    () => sink && lastStatus(sink, deps.clock),
  );
  // Agents and the API are served until the server has drained.
  const listening = await parts.open(
    'the ports of the relay and of domains',
    () => server.start(),
    async () => {
      await hooks.pullRequests.stop();
      await server.stop();
    },
  );
  await parts.open(
    'the release of idle memory',
    () => releaseIdleMemory(deps.clock),
    (end) => end(),
  );
  const { relay, ...others } = listening;
  const displayed = Object.entries(others).map(([name, address]) => [name, displayAddress(address)]);
  const addresses = { relay: displayAddress(relay), ...Object.fromEntries(displayed), ...made, caFile: opened.caFile };
  return { over: server.over, addresses };
}

/** Publishes the status that waits, in one attempt. */
async function lastStatus(sink: GitStatusSink, clock: Clock): Promise<void> {
  const timeUp = new AbortController();
  await Promise.race([sink.flush(), clock.sleep(LAST_STATUS_MS, timeUp.signal)]);
  timeUp.abort();
}

const closePart = (part: { close(): unknown }): unknown => part.close();
const stopPart = (part: { stop(): unknown }): unknown => part.stop();

async function makeDataDirectory({ dataDirectory }: RelayConfig): Promise<void> {
  await makeFolders(dataDirectory, { mode: 0o700 }).catch((cause: unknown) => {
    throw new Error(`the data directory ${dataDirectory} cannot be made: ${errorText(cause)}`, { cause });
  });
}

/** Custom resources are the last sources: a repository's declaration wins over theirs. */
async function openAllSources({ config, version, deps, parts }: Start) {
  const git = await parts.open('the git adapter', () => chooseGitAdapter(config, deps));
  const { decode, locate } = await parts.open('the decoder', () => openSourceDecoder(deps), closePart);
  const custom = await openCustomResources(config, version, decode, deps, parts);
  const signers = await parts.open('the signers of approvals', () => openSigners(config, deps));
  const followed = await parts.open(
    'the sources',
    () => openSources(config, decode, deps, git, signers),
    (all) => Promise.all(all.map((source) => source.stop())),
  );
  const sources = [...followed, ...custom.map(({ source }) => source)];
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
