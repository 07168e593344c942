import { createStoreLease } from '../../src/adapters/stores/store-lease.ts';
import type { ServedDomain } from '../../src/compose/serve/server-part.ts';
import type { XdsSetup } from '../../src/domains/health/xds/xds.ts';
import { objectOf, parseJsonBytes } from '../../src/model/text/json.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Lease } from '../../src/ports/lease.ts';
import type { Log } from '../../src/ports/log.ts';
import type { BeginSlice } from '../../src/runtime/loop.ts';
import { withFence } from '../../src/runtime/replica/candidacy.ts';
import { createFleetWorld, type FakeAgent, type FakeAgents, type FleetWorld } from './fleet-world.ts';
import { createSharedMemory, type SharedMemory, type SharedMemoryStore } from './shared-memory-store.ts';
import { silentLog } from './silent-log.ts';
import { base } from './started-world.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** Several management servers of one fleet over one shared memory, on one clock. */
export interface ReplicaWorld {
  readonly clock: VirtualClock;
  readonly memory: SharedMemory;
  /** Replicas that run. */
  readonly replicas: readonly FakeReplica[];
  /** Starts one more. */
  add(id: string, options?: ReplicaOptions): Promise<FakeReplica>;
  /** A revision enters the sources of all replicas. */
  push(changes: Readonly<Record<string, string | null>>): void;
  /** The leader. */
  leader(): FakeReplica;
  followers(): readonly FakeReplica[];
  /** Lets time pass. */
  pass(milliseconds?: number): Promise<void>;
}

export interface ReplicaOptions {
  /** Generation of its engine. */
  readonly engine?: number;
  readonly sources?: readonly string[];
  /** The status branch as this replica finds it. */
  readonly statusFiles?: Map<string, string>;
  /** Resolves when the status branch answers. */
  readonly readStatus?: () => Promise<void>;
  /** Absent: all of them. */
  readonly domains?: readonly ServedDomain[];
  /** Envoys are served. */
  readonly xds?: XdsSetup;
  /** Its lease is not in the store. */
  readonly lease?: Lease;
  /** What is special about its store, before it is read. */
  readonly prepare?: (store: SharedMemoryStore) => void;
  /** Most bytes of one delta. Default: as in a real server. */
  readonly deltaBytes?: number;
  /** Where its commits are cut into slices. Default: nowhere. */
  readonly beginSlice?: BeginSlice;
}

export interface FakeReplica {
  readonly id: string;
  readonly world: FleetWorld;
  readonly store: SharedMemoryStore;
  /** The agent, which connects here from now on. */
  agent(cluster: string, id?: string): FakeAgent;
  leads(): boolean;
  /** SIGKILL: the process does nothing more, and no other process is notified. */
  kill(): void;
  /** SIGSTOP: no timer and no notification of the store reaches it; the returned function is SIGCONT. */
  freeze(): () => void;
  /** Notifications of the store wait until the returned function is called. Its commands to the store are answered. */
  delayNotices(): () => void;
  /** From now on it receives no notification of the writes of others. */
  deafen(): void;
}

/** What happens to a process: nothing any more when it is dead, and all of it later when it is frozen. */
function createLife() {
  let isDead = false;
  let waiting: (() => void)[] | undefined;
  return {
    happens: (what: () => void): void => {
      if (isDead) return;
      if (waiting === undefined) what();
      else waiting.push(what);
    },
    die: (): void => {
      isDead = true;
    },
    freeze: (): (() => void) => {
      const queue: (() => void)[] = [];
      waiting = queue;
      return () => {
        waiting = undefined;
        for (const what of queue) what();
      };
    },
  };
}

type Life = ReturnType<typeof createLife>;

/** Time as a process knows it. */
function clockOf(clock: VirtualClock, { happens }: Life): Clock {
  return {
    now: clock.now,
    monotonic: clock.monotonic,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => void clock.sleep(milliseconds, signal).then(() => happens(resolve))),
    schedule: (milliseconds, callback) => clock.schedule(milliseconds, () => happens(callback)),
  };
}

export async function createReplicaWorld(
  ids: readonly string[] = ['a', 'b'],
  given: { readonly log?: (id: string) => Log } = {},
): Promise<ReplicaWorld> {
  const clock = createVirtualClock();
  const memory = createSharedMemory();
  const known: FakeAgents['known'] = new Map();
  const replicas: FakeReplica[] = [];

  const add = async (id: string, options: ReplicaOptions = {}): Promise<FakeReplica> => {
    const store = memory.open();
    options.prepare?.(store);
    const life = createLife();
    const { watch, notified } = store;
    let isDeaf = false;
    const notices = createLife();
    const arrives = (what: () => void): void => notices.happens(() => life.happens(what));
    store.watch = (listener) =>
      watch((event) => (isDeaf && event.type === 'changed' ? undefined : arrives(() => listener(event))));
    store.notified = async () => {
      await notified();
      await new Promise<void>(arrives);
    };
    const serverClock = clockOf(clock, life);
    const lease =
      options.lease === undefined
        ? createStoreLease({ store, clock: serverClock }, { key: 'leader', identity: id })
        : withFence(options.lease, store, id);
    const agents: FakeAgents = { listener: undefined, known };
    const world = await createFleetWorld({
      store,
      clock,
      agents,
      serverClock,
      log: given.log?.(id) ?? silentLog,
      replicas: {
        ...{ id, lease, advertise: `http://${id}`, needsStore: options.lease === undefined },
        ...(options.engine === undefined ? {} : { engine: options.engine }),
      },
      ...(options.statusFiles === undefined ? {} : { statusFiles: options.statusFiles }),
      ...(options.readStatus === undefined ? {} : { readStatus: options.readStatus }),
      ...(options.sources === undefined ? {} : { sources: options.sources }),
      ...(options.domains === undefined ? {} : { domains: options.domains }),
      ...(options.xds === undefined ? {} : { xds: options.xds }),
      ...(options.deltaBytes === undefined ? {} : { deltaBytes: options.deltaBytes }),
      ...(options.beginSlice === undefined ? {} : { beginSlice: options.beginSlice }),
    });
    const replica: FakeReplica = {
      ...{ id, world, store },
      agent: (cluster, clusterId) => world.agent(cluster, clusterId),
      leads: () => world.server.replica.leads(),
      kill: () => {
        life.die();
        store.cut('killed');
        for (const agent of known.values()) if (agent.isConnected() && agent.at() === agents.listener) agent.abandon();
        replicas.splice(replicas.indexOf(replica), 1);
      },
      freeze: life.freeze,
      delayNotices: notices.freeze,
      deafen: () => {
        isDeaf = true;
      },
    };
    replicas.push(replica);
    return replica;
  };
  for (const id of ids) await add(id);
  const leader = (): FakeReplica => {
    const [found, ...more] = replicas.filter((replica) => replica.leads());
    if (found === undefined || more.length > 0)
      throw new Error(`${replicas.length} replicas, ${more.length} too many lead`);
    return found;
  };
  return {
    ...{ clock, memory, replicas, add, leader },
    push: (changes) => {
      for (const { world } of replicas) world.source.push(changes);
    },
    followers: () => replicas.filter((replica) => !replica.leads()),
    pass: async (milliseconds = 5_000) => {
      for (let passed = 0; passed < milliseconds; passed += 200) await clock.advance(200);
    },
  };
}

/** They have read what most tests begin with. */
export async function startedReplicas(ids: readonly string[] = ['a', 'b']): Promise<ReplicaWorld> {
  const world = await createReplicaWorld(ids);
  world.push(base);
  await world.pass();
  return world;
}

/** Keys of the approvals in the store that have not ended. */
export function storedApprovals({ memory }: Pick<ReplicaWorld, 'memory'>): readonly string[] {
  return [...memory.copy()].flatMap(([key, { value }]) =>
    key.startsWith('approvals/') && objectOf(parseJsonBytes(value)).ended !== true ? [key] : [],
  );
}

/** What a cluster's agent holds. */
export function heldAt(replica: FakeReplica, cluster: string): readonly string[] {
  const { entries } = replica.agent(cluster).holding();
  return entries.map(({ key }) => key).sort();
}
