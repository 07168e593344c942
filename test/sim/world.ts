import type { ServedDomain } from '../../src/compose/serve/server-part.ts';
import { servedDomains } from '../../src/domains/servers.ts';
import type { AgentHolding } from '../../src/model/agent/agent.ts';
import { parseFleetName } from '../../src/model/fleet/ids.ts';
import { comparePositions, type ObjectMeta, type SequencedDelta } from '../../src/model/fleet/output.ts';
import type { ClusterSize } from '../../src/model/limits/quotas.ts';
import { must } from '../../src/model/values/result.ts';
import type { ClusterApi, InventoryState } from '../../src/ports/cluster-api.ts';
import type { RevisionObservation, Source } from '../../src/ports/source.ts';
import type { RelayClient, RelayServer } from '../../src/relay/session.ts';
import type { StatusSink } from '../../src/runtime/status/status-publisher.ts';
import type { SuspensionKind } from '../../src/runtime/suspensions.ts';
import { createMemoryLease, type MemoryLease } from '../support/memory-lease.ts';
import { createSharedMemory, type SharedMemory } from '../support/shared-memory-store.ts';
import { createSimAgent, type SimAgent } from './actors/agent.ts';
import type { RelayEars } from './actors/heard-relay.ts';
import { lyingClient } from './actors/hostile/liar.ts';
import type { Surroundings } from './actors/hostile/lies.ts';
import { createRaids, type Raids } from './actors/hostile/raids.ts';
import { createSimServer, type SimServer } from './actors/server.ts';
import { createDice, type Dice } from './core/dice.ts';
import type { LogLine } from './core/log.ts';
import { createProcess } from './core/process.ts';
import { createSimTime, type SimTime } from './core/time.ts';
import { type ClusterWrite, createSimCluster, type SimCluster } from './ports/cluster.ts';
import { createSimDisk } from './ports/disk.ts';
import { fineGit, type GitWeather } from './ports/git.ts';
import { createSimNetwork, type SimNetwork } from './ports/network.ts';
import { createSimRepository, type SimRepository } from './ports/repository.ts';
import type { StoreWeather } from './ports/store.ts';
import { type Setting, settingOf } from './setting.ts';

/** What happens in the world, as checkers receive it. */
export type SimEvent =
  | { readonly type: 'observed'; readonly server: string; readonly life: number; readonly said: RevisionObservation }
  /** An agent has reported its holding to a server. */
  | {
      readonly type: 'connected';
      readonly process: string;
      readonly cluster: SimCluster;
      readonly holding: AgentHolding;
    }
  /** A delta has left a server. */
  | {
      readonly type: 'departed';
      readonly process: string;
      readonly cluster: SimCluster;
      readonly delta: SequencedDelta;
    }
  /** A delta has reached an agent. */
  | { readonly type: 'offered'; readonly cluster: SimCluster; readonly delta: SequencedDelta }
  /** The agent has taken it: it has acknowledged it, or has ended first and the delta is in the cluster's inventory. */
  | { readonly type: 'taken'; readonly cluster: SimCluster; readonly delta: SequencedDelta }
  /** The agent has refused it, and its holding is unchanged. */
  | { readonly type: 'refused'; readonly cluster: SimCluster; readonly delta: SequencedDelta }
  | { readonly type: 'wrote'; readonly cluster: SimCluster; readonly write: ClusterWrite }
  | { readonly type: 'log'; readonly line: LogLine }
  /** A person accepts a revision that had been refused. */
  | { readonly type: 'accepted'; readonly source: string; readonly revision: string }
  /** A person approves removals, by cluster and key as people write it. */
  | { readonly type: 'approved'; readonly removals: readonly { readonly cluster: string; readonly object: string }[] }
  /** A person has read the held removals, by cluster and key as people write it. */
  | {
      readonly type: 'shown';
      readonly process: string;
      readonly removals: readonly { readonly cluster: string; readonly object: string }[];
    }
  /** A person has written a file that approves the removals that a digest names. */
  | { readonly type: 'approvalWritten'; readonly name: string; readonly approval: WrittenApproval }
  /** A person has stopped something; `revision`: of a source, what the answer says is admitted of it. */
  | {
      readonly type: 'suspended';
      readonly process: string;
      readonly what: SuspensionKind;
      readonly name: string;
      readonly revision: string | undefined;
    }
  | { readonly type: 'resumed'; readonly what: SuspensionKind; readonly name: string }
  /** `isOlderCopy`: it has what it had when the copy was made; otherwise it is empty. */
  | { readonly type: 'storeLost'; readonly isOlderCopy?: true }
  /** The store has lost one record without a notification. */
  | { readonly type: 'evicted' }
  /** A process has ended without being asked. */
  | { readonly type: 'died'; readonly process: string };

/** Removals that a person approves by a file, as the person saw them. */
export interface WrittenApproval {
  readonly digest: string;
  readonly removals: readonly { readonly cluster: string; readonly object: string }[];
}

/** What a checker has found. */
export interface Violation {
  readonly checker: string;
  readonly message: string;
}

/** A fault that a test plants, to show that a checker catches it. */
export interface Tampering {
  readonly source?: (world: World, source: Source) => Source;
  readonly sink?: (world: World, sink: StatusSink) => StatusSink;
  readonly relay?: (world: World, relay: RelayServer) => RelayServer;
  readonly client?: (world: World, cluster: SimCluster, client: RelayClient) => RelayClient;
  readonly cluster?: (world: World, cluster: SimCluster, api: ClusterApi) => ClusterApi;
}

/** A cluster whose agent lies, and raids the servers with its token. */
export interface HostileCluster extends Raids {
  readonly cluster: SimCluster;
}

/** The whole fleet: repositories, servers, agents, clusters, and what is between them. */
export interface World {
  readonly seed: number;
  readonly setting: Setting;
  /** People only commit, and approve what is held by hand. */
  readonly plain: boolean;
  /** The cluster whose agent is hostile; undefined: none is. */
  readonly hostile: HostileCluster | undefined;
  /** Of a cluster, for servers that do not elect their leader in the store. */
  readonly lease: MemoryLease;
  readonly time: SimTime;
  readonly dice: Dice;
  readonly network: SimNetwork;
  readonly memory: SharedMemory;
  readonly storeWeather: StoreWeather;
  readonly gitWeather: GitWeather;
  readonly repositories: readonly SimRepository[];
  readonly servers: readonly SimServer[];
  readonly agents: readonly SimAgent[];
  readonly violations: Violation[];
  /** Sends the event to every listener. */
  tell(event: SimEvent): void;
  listen(listener: (event: SimEvent) => void): void;
  /** A line for a person who looks at one seed. */
  note(line: string): void;
}

export interface WorldOptions {
  readonly note?: (line: string) => void;
  readonly tampering?: Tampering;
  /** Of the servers; absent: all. */
  readonly domains?: readonly ServedDomain[];
  /** Without what people do besides committing: no percentages in policies, no approvals by file, no suspensions. */
  readonly plain?: boolean;
  /** Whether one agent is hostile; absent: none is. `drawn`: in one world of four. */
  readonly hostile?: 'drawn' | 'always' | 'never';
}

/** The size of a cluster that servers accept, which a hostile agent exceeds. */
export const QUOTAS: ClusterSize = { objects: 300, bytes: 1024 * 1024, kinds: 100 };

const SERVERS = ['server', 'second', 'third'];
const CLUSTERS = ['east', 'north', 'south', 'west'];
const SECRET = new Uint8Array(32).fill(7);

/** Makes the world of a seed; nothing runs in it yet. */
export function createWorld(seed: number, options: WorldOptions = {}): World {
  const { tampering = {}, domains = servedDomains } = options;
  const time = createSimTime();
  const dice = createDice(seed);
  const listeners: ((event: SimEvent) => void)[] = [];
  const shape = dice.fork('shape');
  const sources = shape.chance(0.5) ? ['main'] : ['main', 'apps'];
  const setting = settingOf(shape);
  const lease = createMemoryLease(createProcess(time, 'lease').clock);
  const world: World = {
    seed,
    setting,
    plain: options.plain ?? false,
    hostile: undefined,
    lease,
    time,
    dice,
    network: createSimNetwork(time, dice.fork('network')),
    memory: createSharedMemory(),
    storeWeather: { latencyMs: 2 },
    gitWeather: fineGit(),
    repositories: sources.map(createSimRepository),
    servers: [],
    agents: [],
    violations: [],
    tell: (event) => {
      for (const listener of listeners) listener(event);
    },
    listen: (listener) => listeners.push(listener),
    note: (line) => options.note?.(`${(time.elapsed() / 1000).toFixed(3).padStart(10)} ${line}`),
  };
  const parts = {
    ...world,
    fleet: must(parseFleetName('fleet')),
    secret: SECRET,
    quotas: QUOTAS,
    log: (line: LogLine) => {
      world.note(`${line.process} ${line.level}: ${line.message} ${JSON.stringify(line.data)}`);
      world.tell({ type: 'log', line });
    },
  };
  const offers: Offers = new Map();
  const names = CLUSTERS.slice(0, 2 + shape.int(CLUSTERS.length - 1));
  const hostileName = drawHostile(options, dice.fork('hostile'), names);
  const lies = dice.fork('lies');
  const own = (of: SimCluster, client: RelayClient): RelayClient =>
    of.name === hostileName ? lyingClient(client, lies, () => surroundingsOf(world, of)) : client;
  const agents = names.map((name) => {
    const cluster = createSimCluster(name, dice.fork(`cluster/${name}`), {
      wrote: (cluster, write) => {
        world.note(`${cluster.name} ${write.type} ${write.key}`);
        world.tell({ type: 'wrote', cluster, write });
      },
      agentEnded: (cluster, state) => tellIfTaken(world, offers, cluster, state),
    });
    return createSimAgent(cluster, createSimDisk(), {
      ...parts,
      dice: dice.fork(`agent/${name}`),
      wrapCluster: (of, api) => tampering.cluster?.(world, of, api) ?? api,
      wrapClient: (of, client) =>
        heardClient(world, offers, of, tampering.client?.(world, of, client) ?? own(of, client)),
    });
  });
  const servers = SERVERS.slice(0, setting.servers).map((name) =>
    createSimServer(name, {
      ...parts,
      ...{ setting, lease, domains },
      died: (process) => world.tell({ type: 'died', process }),
      ears: (process) => earsOf(world, process),
      dice: dice.fork(name),
      remotes: new Map(world.repositories.map(({ source, remote }) => [source, remote])),
      wrapRelay: (relay) => tampering.relay?.(world, relay) ?? relay,
      wrapSink: (sink) => tampering.sink?.(world, sink) ?? sink,
      wrapSource: (server, life, source) =>
        heardSource(world, server, life, tampering.source?.(world, source) ?? source),
    }),
  );
  const cluster = agents.find((agent) => agent.cluster.name === hostileName)?.cluster;
  const hostile = cluster && { cluster, ...createRaids(parts, cluster, dice.fork('raids')) };
  return Object.assign(world, { servers, agents, hostile });
}

function surroundingsOf({ time, agents, repositories }: World, cluster: SimCluster): Surroundings {
  const others = agents.flatMap((agent) => (agent.cluster === cluster ? [] : [agent.cluster]));
  return {
    elapsed: time.elapsed(),
    stolenTags: others.flatMap(({ memory }) => memory.inventory.current?.state.tag ?? []),
    sources: repositories.map(({ source }) => source),
    otherClusters: others.map(({ name }) => name),
  };
}

function drawHostile({ hostile = 'never' }: WorldOptions, dice: Dice, clusters: readonly string[]): string | undefined {
  const is = hostile === 'always' || (hostile === 'drawn' && dice.chance(0.25));
  return is ? dice.pick(clusters) : undefined;
}

function earsOf(world: World, process: string): RelayEars {
  const clusterOf = (name: string): SimCluster => {
    const agent = world.agents.find(({ cluster }) => cluster.name === name);
    if (agent === undefined) throw new Error(`there is no cluster ${name}`);
    return agent.cluster;
  };
  return {
    connected: (name, holding) => world.tell({ type: 'connected', process, cluster: clusterOf(name), holding }),
    departed: (name, delta) => world.tell({ type: 'departed', process, cluster: clusterOf(name), delta }),
  };
}

function heardSource(world: World, server: string, life: number, source: Source): Source {
  return {
    ...source,
    start: (listener, admitted, remembered) =>
      source.start(
        {
          ...listener,
          observe: (said) => {
            world.tell({ type: 'observed', server, life, said });
            listener.observe(said);
          },
        },
        admitted,
        remembered,
      ),
  };
}

/** By cluster: the delta that was offered to its agent last. */
type Offers = Map<SimCluster, { readonly delta: SequencedDelta; isTaken: boolean }>;

function tellIfTaken(world: World, offers: Offers, cluster: SimCluster, state: InventoryState): void {
  const offer = offers.get(cluster);
  if (offer === undefined || offer.isTaken || offer.delta.to !== state.digest) return;
  if (comparePositions(offer.delta.position, state.position) !== 0) return;
  offer.isTaken = true;
  world.note(`${cluster.name} has taken a delta, and its agent has ended before it could answer`);
  world.tell({ type: 'taken', cluster, delta: offer.delta });
}

function heardClient(world: World, offers: Offers, cluster: SimCluster, client: RelayClient): RelayClient {
  return {
    ...client,
    start: (listener) =>
      client.start({
        ...listener,
        delta: async (delta, fleet) => {
          world.note(`${cluster.name} is offered ${describeDelta(delta)}`);
          world.tell({ type: 'offered', cluster, delta });
          const offer = { delta, isTaken: false };
          offers.set(cluster, offer);
          const answer = await listener.delta(delta, fleet);
          // An agent that ends at this moment may still answer; the event was sent then already.
          if (offer.isTaken) return answer;
          offer.isTaken = answer.accepted;
          if (answer.accepted) world.tell({ type: 'taken', cluster, delta });
          else {
            world.note(`${cluster.name} refuses a delta: ${answer.reason} ${answer.message}`);
            world.tell({ type: 'refused', cluster, delta });
          }
          return answer;
        },
      }),
  };
}

function describeDelta({ position, upserts, touches, removals, keeps, revisions }: SequencedDelta): string {
  const from = revisions.map(({ source, revision }) => `${source}@${revision.slice(0, 8)}`).join(' ');
  const origin = ({ origins }: ObjectMeta): string => origins.map(({ source, path }) => `${source}:${path}`).join(' ');
  const parts = [
    ...upserts.map((upsert) => `+${upsert.key} (${origin(upsert)})`),
    ...touches.map((touch) => `~${touch.key} (${origin(touch)})`),
    ...removals.map((key) => `-${key}`),
    ...keeps.map(({ key, reason }) => `=${key} (${reason})`),
  ];
  return `(${position.epoch}, ${position.sequence}) from ${from}: ${parts.join(', ')}`;
}
