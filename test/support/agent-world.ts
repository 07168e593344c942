import { randomUUID } from 'node:crypto';
import { type Agent, type AgentDeps, createAgent } from '../../src/agent/agent.ts';
import type { CreateAgentPart } from '../../src/agent/agent-part.ts';
import type { ObjectResult } from '../../src/model/agent/agent.ts';
import {
  type ClusterName,
  type Digest,
  type FleetName,
  parseFleetName,
  parseSourceName,
} from '../../src/model/fleet/ids.ts';
import type { ObjectMeta, SequencedDelta } from '../../src/model/fleet/output.ts';
import { type ObjectKey, objectKey, refOfObject, statusKey } from '../../src/model/objects/object-key.ts';
import { objectDigest, snapshotDigest } from '../../src/model/text/digest.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import type { ConnectionState, InputSnapshot, RelayClient, ServerListener } from '../../src/relay/session.ts';
import { createMemoryCluster, type MemoryCluster } from './agent-cluster.ts';
import { createMemoryDisk, type MemoryDisk } from './agent-disk.ts';
import { createRecordingLog } from './agent-log.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export const fleet = must(parseFleetName('fleet'));
export const meta: ObjectMeta = { origins: [{ source: must(parseSourceName('git')), path: 'web.yaml' }], scope: [] };

export function configMap(name: string, k: string, namespace = 'web'): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { k } };
}

export function namespace(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export function keyOf(value: JsonObject): ObjectKey {
  return objectKey(must(refOfObject(value)));
}

/** A delta as a test states it; digests and position are computed. */
export interface Said {
  readonly upserts?: readonly JsonObject[];
  /** Statuses of objects of others. */
  readonly statuses?: readonly JsonObject[];
  readonly touches?: readonly (Partial<ObjectMeta> & {
    readonly key: ObjectKey;
    readonly scope: readonly ClusterName[];
  })[];
  readonly removals?: readonly ObjectKey[];
  readonly keeps?: readonly ObjectKey[];
  /** The fleet of the server that says it. */
  readonly fleet?: FleetName;
  /** In place of what is worked out. */
  readonly forged?: Partial<SequencedDelta>;
}

/** A server's end that tests speak through: it keeps the digest that the agent should hold. */
export interface ScriptedServer {
  connect(state?: ConnectionState['type']): void;
  /** Sends a delta and resolves with the agent's answer; an accepted one is remembered. */
  say(said: Said): ReturnType<ServerListener['delta']>;
  holding: ServerListener['holding'];
  fleet: ServerListener['fleet'];
  kubernetesVersion: ServerListener['kubernetesVersion'];
  settings: ServerListener['settings'];
  /** It says that it has the input. */
  inputTaken(): void;
  /** How often the agent has asked for another link. */
  reconnects: number;
  readonly results: ObjectResult[];
  readonly inputs: InputSnapshot[];
  /** The last result per key, as `state Reason`. */
  lastResults(): Readonly<Record<string, string>>;
}

/** An agent with a cluster, a disk and a server in memory, on a virtual clock. */
export interface AgentWorld {
  readonly clock: VirtualClock;
  readonly cluster: MemoryCluster;
  readonly disk: MemoryDisk;
  readonly log: ReturnType<typeof createRecordingLog>;
  server: ScriptedServer;
  agent: Agent;
  /** The servers whose agents have stopped because another agent has the cluster. */
  readonly takenOver: ScriptedServer[];
  /** Stops the agent and starts a new one on the same cluster and disk; it is not connected. */
  restart(): Promise<void>;
  /** Enough time for hints, work and discovery, too little for a retry. */
  settle(): Promise<void>;
}

/** What the parts of the agent of a world can use. */
export type PartDeps = Pick<AgentDeps, 'clock' | 'random' | 'log'>;

/** `parts`: what the agent does beside the reconciliation of objects. */
export async function createAgentWorld(
  parts: (deps: PartDeps) => readonly CreateAgentPart[] = () => [],
): Promise<AgentWorld> {
  const clock = createVirtualClock();
  const cluster = createMemoryCluster();
  const disk = createMemoryDisk();
  const log = createRecordingLog();
  const expected = { held: new Map<ObjectKey, Digest>(), sequence: 0 };

  const make = () => {
    const scripted = createScriptedServer(expected);
    const deps = { cluster: cluster.open(), relay: scripted.client, disk: disk.open(), clock, log };
    const random = { next: () => 0.5, id: randomUUID };
    const agent = createAgent(
      { ...deps, random, parts: parts({ ...deps, random }) },
      { takenOver: () => world.takenOver.push(scripted.server) },
    );
    return { agent, server: scripted.server };
  };
  const world: AgentWorld = {
    clock,
    cluster,
    disk,
    log,
    takenOver: [],
    ...make(),
    restart: async () => {
      await world.agent.stop();
      Object.assign(world, make());
      await world.agent.start();
      await world.settle();
    },
    settle: () => clock.advance(50),
  };
  return world;
}

/** A world whose agent runs and is connected. */
export async function createConnectedWorld(parts?: Parameters<typeof createAgentWorld>[0]): Promise<AgentWorld> {
  const world = await createAgentWorld(parts);
  await world.agent.start();
  world.server.connect();
  await world.settle();
  return world;
}

/** A server's end, and the client that an agent is given for it. `expected`: what earlier ones have made the agent hold. */
export function createScriptedServer(expected: { held: Map<ObjectKey, Digest>; sequence: number }) {
  let listener: ServerListener | undefined;
  const results: ObjectResult[] = [];
  const inputs: InputSnapshot[] = [];
  const client: RelayClient = {
    start: (given) => {
      listener = given;
    },
    // The objects are a view that changes: the copy keeps what the agent published.
    publishInput: ({ objects, kinds }) => {
      const said = [...objects].map(
        ([key, { value, digest, ...rest }]) => [key, { key: rest.key, value, digest }] as const,
      );
      inputs.push({ objects: new Map(said), kinds });
    },
    report: (changed) => results.push(...changed),
    reconnect: () => {
      server.reconnects += 1;
    },
    stop: async () => {},
  };
  const heard = (): ServerListener => {
    if (listener === undefined) throw new Error('the agent has not started its relay client');
    return listener;
  };
  const server: ScriptedServer = {
    reconnects: 0,
    connect: (type = 'connected') =>
      heard().connection(
        type === 'connected'
          ? { type, server: 'here', serverVersion: '0' }
          : { type: 'waiting', reason: 'Test', message: '', retryInMs: 1 },
      ),
    say: async (said) => {
      const { delta, held } = deltaOf(expected, said);
      const answer = await heard().delta(delta, said.fleet ?? fleet);
      if (answer.accepted) Object.assign(expected, { held, sequence: delta.position.sequence });
      return answer;
    },
    holding: () => heard().holding(),
    fleet: () => heard().fleet(),
    kubernetesVersion: () => heard().kubernetesVersion(),
    settings: (settings) => heard().settings(settings),
    inputTaken: () => heard().inputAcknowledged(snapshotDigest([])),
    results,
    inputs,
    lastResults: () => Object.fromEntries(results.map(({ key, state, reason }) => [key, `${state} ${reason}`])),
  };
  return { client, server };
}

function deltaOf(expected: { held: Map<ObjectKey, Digest>; sequence: number }, said: Said) {
  const held = new Map(expected.held);
  const keyed = [
    ...(said.upserts ?? []).map((value) => ({ key: keyOf(value), value })),
    ...(said.statuses ?? []).map((value) => ({ key: statusKey(keyOf(value)), value })),
  ];
  const upserts = keyed.map(({ key, value }) => ({
    key,
    value,
    digest: objectDigest(value),
    ...meta,
  }));
  for (const { key, digest } of upserts) held.set(key, digest);
  for (const key of said.removals ?? []) held.delete(key);
  const delta: SequencedDelta = {
    position: { epoch: 1, sequence: expected.sequence + 1 },
    from: snapshotDigest(expected.held),
    to: snapshotDigest(held),
    upserts,
    touches: (said.touches ?? []).map((touch) => ({ ...meta, ...touch })),
    removals: said.removals ?? [],
    keeps: (said.keeps ?? []).map((key) => ({ key, reason: 'test' })),
    revisions: [{ source: must(parseSourceName('git')), revision: `r${expected.sequence + 1}` }],
    ...said.forged,
  };
  return { delta, held };
}
