import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { type JsonObject, objectOf, objectsOf, textsOf } from '../../src/model/text/json.ts';
import { type FleetLooks, looksOf } from './fleet-looks.ts';
import {
  asking,
  type Fleet,
  type FleetAsked,
  type FleetOptions,
  type ServerProcess,
  startFleet,
  until,
} from './fleet-processes.ts';
import { type RedisProcess, startRedis } from './redis.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import type { ClusterPool } from './test-clusters.ts';

/** A real fleet whose servers share a Redis, and whose agents reach them through something that can be cut. */
export interface RelayFleet extends Fleet {
  readonly redis: RedisProcess;
  /** The server of the fleet, and with two replicas the other one. */
  readonly a: Replica;
  readonly b: Replica;
  /** Between an agent and the servers. */
  door(cluster: string): Promise<Door>;
  /** Starts all agents and waits until they are connected. */
  startAgents(...clusters: string[]): Promise<void>;
  /** All that is ours in the clusters of these names, as people would say it: `{ 'ConfigMap/web/a': 'one' }`. */
  contents(): Promise<Contents>;
  /** Waits until the clusters hold exactly this, then looks again. */
  holds(expected: Contents): Promise<void>;
  /** Leads each agent to the replica that stands first for it, then to the other, and waits until it is there. */
  leadAgents(to: Readonly<Record<string, readonly [Replica, ...Replica[]]>>): Promise<void>;
  /** The replica that leads, and the other. */
  roles(): Promise<{ readonly leader: Replica; readonly follower: Replica }>;
  /** Waits until the replica has read the commit; the admitted revision may be another one. */
  read(replica: Replica, commit: string): Promise<boolean>;
  /** What changes whenever anything of ours is written in a cluster, be it the same as before. */
  versions(): Promise<Versions>;
}

/** By cluster, by object. */
export type Contents = Readonly<Record<string, Readonly<Record<string, string>>>>;
export type Versions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** One of several servers of a fleet. */
export interface Replica extends ServerProcess, FleetAsked {
  readonly name: string;
  readonly looks: FleetLooks;
  /** Its way to Redis. */
  readonly store: Pick<TcpProxy, 'cut' | 'mend'>;
  /** Its log has said so since its last start. */
  said(message: string, more?: Readonly<Record<string, unknown>>): boolean;
  leads(): boolean;
  /** The agent of this cluster is connected to it; of a replica that runs. */
  serves(cluster: string): boolean;
  /** Deltas that it has sent since its last start: `east: 2 objects, 1 removed, 0 touched`. */
  sent(): readonly string[];
}

/** The way of one agent to the servers. */
export interface Door extends Pick<TcpProxy, 'cut' | 'mend'> {
  /** New connections go to the first of these that takes them. */
  leadTo(...replicas: readonly Replica[]): void;
}

export interface RelayFleetOptions {
  readonly clusters: ClusterPool;
  /** Names of the clusters. */
  readonly names: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  /** Further sources beside `fleet`. */
  readonly sources?: NonNullable<FleetOptions['sources']>;
  /** How many servers; two if left out. */
  readonly replicas?: 1 | 2;
  /** More arguments of `fleetrelay serve`. */
  readonly serve?: readonly string[];
  /** Instead of a Redis that is started here: one of the test, which it stops, and the arguments that lead to it. */
  readonly store?: { readonly redis: RedisProcess; readonly serve: readonly string[] };
}

const LONG_MS = 90_000;

/** Starts Redis, git and the servers; agents are started by the test. Agents of odd places begin at `a`, others at `b`. */
export async function startRelayFleet(options: RelayFleetOptions): Promise<RelayFleet> {
  const { names, replicas = 2 } = options;
  const redis = options.store?.redis ?? (await startRedis());
  const doors = new Map<string, Promise<OpenDoor>>();
  const stopAround = async (): Promise<void> => {
    for (const door of doors.values()) await (await door).stop();
    await Promise.all([stores.a.stop(), stores.b.stop()]);
    if (options.store === undefined) await redis.stop();
  };
  const door = (cluster: string): Promise<OpenDoor> => {
    const [first, second] = names.indexOf(cluster) % 2 === 0 ? [made.a, made.b] : [made.b, made.a];
    const opened = doors.get(cluster) ?? openDoor([first, second]);
    doors.set(cluster, opened);
    return opened;
  };
  const stores = { a: await startTcpProxy(redis.port), b: await startTcpProxy(redis.port) };
  const storeOf = (name: 'a' | 'b'): readonly string[] =>
    options.store?.serve ?? ['--store', `redis://127.0.0.1:${stores[name].port}`];
  const several = ['--replicas', replicas === 1 ? 'one' : 'several'];
  const fleet: Fleet = await startFleet(options.files, {
    clusters: options.clusters,
    serve: [...storeOf('a'), ...several, ...(options.serve ?? [])],
    ...(options.sources === undefined ? {} : { sources: options.sources }),
    dial: async (cluster) => `127.0.0.1:${(await door(cluster)).port}`,
  }).catch(async (error: unknown) => {
    await stopAround();
    throw error;
  });
  const a = replicaOf('a', fleet.server, fleet, stores.a);
  const b = replicas === 1 ? a : replicaOf('b', fleet.another('b', storeOf('b')), fleet, stores.b);
  const made: Pick<RelayFleet, 'a' | 'b'> = { a, b };
  const stop = async (): Promise<void> => {
    await fleet.stop();
    await stopAround();
  };
  const contents = (): Promise<Contents> => seen(fleet, names, ({ value }) => essence(value));
  const versions = (): Promise<Versions> => seen(fleet, names, ({ version }) => version);
  try {
    if (replicas === 2) await b.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ...fleet,
    ...made,
    redis,
    door,
    contents,
    versions,
    startAgents: async (...clusters) => {
      await Promise.all(clusters.map((name) => fleet.agent(name).start()));
      await Promise.all(clusters.map((name) => a.looks.connected(name)));
    },
    leadAgents: async (to) => {
      for (const [cluster, replicas] of Object.entries(to)) {
        const way = await door(cluster);
        way.leadTo(...replicas);
        if (replicas[0].serves(cluster)) continue;
        way.cut();
        way.mend();
      }
      for (const [cluster, [first]] of Object.entries(to))
        await until(`${cluster} is at ${first.name}`, () => first.serves(cluster));
    },
    roles: async () => {
      const leader = await until('one leads', () => [a, b].find((one) => one.leads()));
      return { leader, follower: leader === a ? b : a };
    },
    read: (replica, revision) =>
      until(`${replica.name} reads ${revision}`, () => replica.said('a revision was read', { revision }), LONG_MS),
    holds: (expected) => untilEqual(contents, expected),
    stop,
  };
}

interface OpenDoor extends Door {
  readonly port: number;
  stop(): Promise<void>;
}

async function openDoor(replicas: readonly Replica[]): Promise<OpenDoor> {
  let order = replicas;
  const ports = (): number[] => order.map((replica) => Number(replica.relay().split(':')[1]));
  const proxy = await startTcpProxy(ports);
  return {
    port: proxy.port,
    cut: proxy.cut,
    mend: proxy.mend,
    stop: proxy.stop,
    leadTo: (...now: readonly Replica[]) => {
      order = now;
    },
  };
}

function replicaOf(name: string, server: ServerProcess, fleet: Fleet, store: Replica['store']): Replica {
  const asked = asking(server);
  const said: Replica['said'] = (message, more = {}) =>
    server.logs.some((line) => line.message === message && Object.entries(more).every(([key, is]) => line[key] === is));
  return {
    ...server,
    ...asked,
    ...{ name, store },
    looks: looksOf(() => ({ ...fleet, ...asked }), LONG_MS),
    said,
    leads: () => {
      const turns = server.logs.filter(({ message }) =>
        /^this replica (leads|does not lead any more)$/.test(String(message)),
      );
      return turns.at(-1)?.message === 'this replica leads';
    },
    serves: (cluster) => {
      const links = server.logs.filter(
        (line) => line.cluster === cluster && /^an agent is (dis)?connected$/.test(String(line.message)),
      );
      return links.at(-1)?.message === 'an agent is connected';
    },
    sent: () =>
      server.logs
        .filter(({ message }) => message === 'a delta is sent')
        .map(
          ({ cluster, upserts, removals, touches }) =>
            `${cluster}: ${upserts} objects, ${removals} removed, ${touches} touched`,
        ),
  };
}

async function seen(
  fleet: Fleet,
  names: readonly string[],
  look: (object: { readonly value: JsonObject; readonly version: string }) => string,
): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  const all = await Promise.all(
    names.map(async (name) => {
      const owned = await (await fleet.cluster(name)).owned();
      return [name, Object.fromEntries([...owned].map(([object, it]) => [object, look(it)]))] as const;
    }),
  );
  return Object.fromEntries(all);
}

async function untilEqual(contents: () => Promise<Contents>, expected: Contents): Promise<void> {
  let last: Contents | undefined;
  const look = async (): Promise<boolean> => {
    last = await contents();
    return isDeepStrictEqual(last, expected);
  };
  await until('the clusters hold what they should', look, LONG_MS).catch((error: unknown) => {
    expect(last, String(error)).toEqual(expected);
  });
}

/** The part of an object that tests compare. */
function essence(value: JsonObject): string {
  switch (value.kind) {
    case 'ConfigMap':
      return String(objectOf(value.data).value);
    case 'Service': {
      const { clusterIP, ports } = objectOf(value.spec);
      return `${clusterIP} ${objectsOf(ports).map(({ port }) => port)}`;
    }
    case 'EndpointSlice':
      return objectsOf(value.endpoints)
        .flatMap(({ addresses }) => textsOf(addresses))
        .join(' ');
    default:
      return JSON.stringify(value);
  }
}
