import { load } from 'js-yaml';
import { createStoreLease } from '../../../src/adapters/stores/store-lease.ts';
import type { ReplicaSetup } from '../../../src/compose/serve/foundation.ts';
import { createManagementServer, type ManagementServer } from '../../../src/compose/serve/management-server.ts';
import type { ServedDomain } from '../../../src/compose/serve/server-part.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { type FleetName, parseSourceName } from '../../../src/model/fleet/ids.ts';
import type { ClusterSize } from '../../../src/model/limits/quotas.ts';
import type { JsonValue } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Lease } from '../../../src/ports/lease.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import type { Source } from '../../../src/ports/source.ts';
import { createRelayServer, type ObservedRelayServer } from '../../../src/relay/server.ts';
import type { RelayServer } from '../../../src/relay/session.ts';
import { createStepTags } from '../../../src/relay/trust/step-tags.ts';
import type { Arrange } from '../../../src/runtime/phases.ts';
import { withFence } from '../../../src/runtime/replica/candidacy.ts';
import type { StatusSink } from '../../../src/runtime/status/status-publisher.ts';
import { createGitStatusSink } from '../../../src/sinks/git/status-sink.ts';
import { createGitSource } from '../../../src/sources/git/git-source.ts';
import { decodeFile } from '../../support/decode-file.ts';
import type { FakeGitRemote } from '../../support/git-fake-repo.ts';
import type { MemoryLease } from '../../support/memory-lease.ts';
import type { SharedMemory } from '../../support/shared-memory-store.ts';
import type { Dice } from '../core/dice.ts';
import { createSimLog, type LogLine } from '../core/log.ts';
import { createProcess, type SimProcess } from '../core/process.ts';
import type { SimTime } from '../core/time.ts';
import { createSimRepo, type GitWeather } from '../ports/git.ts';
import type { SimNetwork } from '../ports/network.ts';
import { createSimSlices } from '../ports/slices.ts';
import { createSimStore, type StoreWeather } from '../ports/store.ts';
import type { Setting } from '../setting.ts';
import { heardRelay, type RelayEars } from './heard-relay.ts';

/** What a server's processes are made of. */
export interface ServerParts {
  readonly time: SimTime;
  readonly dice: Dice;
  readonly network: SimNetwork;
  readonly memory: SharedMemory;
  readonly storeWeather: StoreWeather;
  readonly setting: Setting;
  readonly domains: readonly ServedDomain[];
  readonly lease: MemoryLease;
  /** By source, in their order. */
  readonly remotes: ReadonlyMap<string, FakeGitRemote>;
  readonly gitWeather: GitWeather;
  readonly secret: Uint8Array;
  readonly fleet: FleetName;
  /** Of each cluster. */
  readonly quotas: ClusterSize;
  readonly log: (line: LogLine) => void;
  readonly died: (process: string) => void;
  /** The listener of a process's relay. */
  readonly ears: (process: string) => RelayEars;
  /** Lets checkers listen in, or a planted fault in between. */
  readonly wrapRelay: (relay: RelayServer) => RelayServer;
  readonly wrapSink: (sink: StatusSink) => StatusSink;
  readonly wrapSource: (server: string, life: number, source: Source) => Source;
}

/** One life of a management server. */
export interface ServerLife {
  readonly process: SimProcess;
  readonly relay: ObservedRelayServer;
  /** Undefined until it has read its store. */
  server: ManagementServer | undefined;
}

/** A management server with a supervisor that restarts it when it ends. */
export interface SimServer {
  readonly name: string;
  life(): ServerLife | undefined;
  /** Starts a process if none runs. */
  start(): void;
  /** Ends it in good order. */
  shutDown(): Promise<void>;
}

export const STATUS_BRANCH = 'fleetrelay-status';
const RESTART_MS = 1_000;

export function createSimServer(name: string, parts: ServerParts): SimServer {
  let life: ServerLife | undefined;
  let lives = 0;
  return {
    name,
    life: () => life,
    start,
    shutDown: async () => {
      const ending = life;
      await ending?.server?.stop();
      ending?.process.kill();
    },
  };

  function start(): void {
    if (life !== undefined) return;
    lives += 1;
    const process = createProcess(parts.time, `${name}.${lives}`);
    const begun = open(process, parts, name, lives);
    life = begun.life;
    process.atDeath(() => {
      life = undefined;
      parts.died(process.name);
    });
    begun.running.catch((error: unknown) => {
      parts.log({
        process: process.name,
        level: 'warn',
        message: 'it could not start',
        data: { error: String(error) },
      });
      process.kill();
      parts.time.in(RESTART_MS, start);
    });
  }
}

function open(
  process: SimProcess,
  parts: ServerParts,
  name: string,
  lives: number,
): { readonly life: ServerLife; readonly running: Promise<unknown> } {
  const { clock } = process;
  const { gitWeather, dice, fleet } = parts;
  const log = createSimLog(process.name, parts.log);
  const random = dice.fork(process.name);
  const relay = createRelayServer(
    { transport: parts.network.server(process), clock, log, tags: createStepTags([parts.secret]) },
    { fleet, tokens: [parts.secret], version: '0.0.0', limits: { quotas: parts.quotas } },
  );
  const life: ServerLife = { process, relay, server: undefined };
  const sources = [...parts.remotes].map(([source, remote]) =>
    createGitSource(
      { repo: createSimRepo(process, remote.repo('main'), gitWeather, dice), decode: decodeFile, clock, random, log },
      { name: must(parseSourceName(source)), pollIntervalSeconds: 10 },
    ),
  );
  const [remote] = parts.remotes.values();
  if (remote === undefined) throw new Error('a world has at least one source');
  const sink = createGitStatusSink(
    { repo: createSimRepo(process, remote.repo(STATUS_BRANCH), gitWeather, dice), clock, random, log },
    { fleet, author: { name: 'fleetrelay', email: 'fleetrelay@localhost' }, minIntervalSeconds: 2 },
  );
  const store = createSimStore({ ...parts, process }, parts.storeWeather, parts.setting.shared);
  const running = createManagementServer(
    {
      graph: createGraph(),
      domains: parts.domains,
      store,
      ...(parts.setting.servers > 1 ? { replicas: replicaOf(process, store, parts) } : {}),
      sources: sources.map((source) => parts.wrapSource(name, lives, source)),
      relay: heardRelay(parts.wrapRelay(relay), parts.ears(process.name)),
      statusSink: parts.wrapSink(sink),
      parseYaml: (text) => load(text) as JsonValue,
      ...createSimSlices(clock, random.fork('slices')),
      arrange: shuffled(random.fork('phases')),
      log,
    },
    {
      fleet,
      version: '0.0.0',
      quotas: parts.quotas,
      partRecords: 1 + random.fork('parts').int(3),
      ...cutOf(random.fork('deltas')),
      bounds: { guards: {}, safeModes: [], webhookRemediator: false },
    },
  ).then((server) => {
    life.server = server;
    return server.start();
  });
  return { life, running };
}

/** In each life the recorders and sinks of one phase have another order. */
function shuffled(dice: Dice): Arrange {
  return (members) => {
    const left = [...members];
    return members.flatMap(() => left.splice(dice.int(left.length), 1));
  };
}

/** In some lives a delta takes one object, or a few of them. */
function cutOf(dice: Dice): { readonly deltaBytes?: number } {
  return dice.chance(0.4) ? { deltaBytes: 1 + dice.int(2_000) } : {};
}

function replicaOf(process: SimProcess, store: SnapshotStore, { setting, lease }: ServerParts): ReplicaSetup {
  const { name: id, clock } = process;
  if (setting.lease === 'store') {
    const stored = createStoreLease({ store, clock }, { key: 'leader', identity: id });
    return { id, advertise: id, lease: stored, needsStore: true };
  }
  const own = lease.of(id);
  const called: Lease = {
    acquire: () => process.call(1, own.acquire),
    release: () => process.call(1, own.release),
  };
  return { id, advertise: id, lease: withFence(called, store, id), needsStore: false };
}
