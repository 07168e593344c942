import type {
  AgentHello,
  AgentHolding,
  HoldingClaim,
  InputDelta,
  InventoryEntry,
  LiveObject,
  ObjectResult,
} from '../../src/model/agent/agent.ts';
import type { AgentSettings } from '../../src/model/agent/agent-settings.ts';
import { inventoryDigest } from '../../src/model/agent/inventory-digest.ts';
import {
  type ClusterName,
  type Digest,
  type FleetName,
  parseClusterId,
  parseClusterName,
  parseFleetName,
} from '../../src/model/fleet/ids.ts';
import { claimOf, comparePositions, type OutputPosition, type SequencedDelta } from '../../src/model/fleet/output.ts';
import { excessText } from '../../src/model/limits/quotas.ts';
import { type ObjectKey, parseObjectKey } from '../../src/model/objects/object-key.ts';
import { objectDigest, snapshotDigest } from '../../src/model/text/digest.ts';
import { compareText, type JsonObject } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import type {
  AgentCertificate,
  AgentListener,
  AgentSession,
  ConnectionState,
  HelloDecision,
  InputSnapshot,
  RegistrationRequest,
  RelayRefusal,
  ReportedHolding,
  ServerListener,
} from '../../src/relay/session.ts';

/** The fleet of servers in tests. */
export const FLEET = must(parseFleetName('fleet'));

/** A cluster name known to be good. */
export function clusterName(text: string): ClusterName {
  return must(parseClusterName(text));
}

/** A cluster id known to be good. */
export function clusterId(text: string) {
  return must(parseClusterId(text));
}

/** The key of a ConfigMap in namespace `web`. */
export function configMapKey(name: string): ObjectKey {
  return must(parseObjectKey(`/ConfigMap/web/${name}`));
}

/** A ConfigMap with this datum. */
export function configMap(name: string, datum: string): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'web' }, data: { datum } };
}

/** A live ConfigMap. */
export function liveConfigMap(name: string, datum: string): LiveObject {
  const value = configMap(name, datum);
  return { key: configMapKey(name), value, digest: objectDigest(value) };
}

/** An input snapshot of ConfigMaps, name to datum. */
export function inputOf(data: Readonly<Record<string, string>>): InputSnapshot {
  const objects = Object.entries(data).map(([name, datum]) => liveConfigMap(name, datum));
  return {
    objects: new Map(objects.map((object) => [object.key, object])),
    kinds: [{ kind: '/ConfigMap', state: 'complete', message: '' }],
  };
}

/** A snapshot of outputs: name to datum. */
export type Outputs = ReadonlyMap<string, string>;

/** The digest of a snapshot of outputs. */
export function outputsDigest(outputs: Outputs): Digest {
  return snapshotDigest(
    [...outputs].map(([name, datum]) => [configMapKey(name), objectDigest(configMap(name, datum))]),
  );
}

/** The delta from one snapshot of outputs to another. */
export function deltaOf(from: Outputs, to: Outputs, position: OutputPosition): SequencedDelta {
  const upserts = [...to]
    .filter(([name, datum]) => from.get(name) !== datum)
    .map(([name, datum]) => ({
      ...liveConfigMap(name, datum),
      origins: [{ source: 'fleet' as never, path: `clusters/east/${name}.yaml` }],
      scope: [clusterName('east'), clusterName('west')],
    }))
    .sort((a, b) => compareText(a.key, b.key));
  const removals = [...from.keys()]
    .filter((name) => !to.has(name))
    .map(configMapKey)
    .sort(compareText);
  return {
    position,
    from: outputsDigest(from),
    to: outputsDigest(to),
    upserts,
    touches: [],
    removals,
    keeps: [],
    revisions: [{ source: 'fleet' as never, revision: 'abc' }],
  };
}

/** An agent's memory: takes deltas durably and remembers everything that it was told. */
export interface FakeAgent extends ServerListener {
  readonly entries: Map<string, InventoryEntry>;
  readonly deltas: SequencedDelta[];
  readonly states: ConnectionState[];
  readonly acknowledged: Digest[];
  readonly settingsHeard: AgentSettings[];
  /** The fleets that deltas came from, each time it changed. */
  readonly fleets: FleetName[];
  position(): OutputPosition;
  /** Deltas wait until this resolves before they are durable. */
  gate: Promise<void>;
  /** The reason for refusing every delta, if there is one. */
  refusal: string | undefined;
}

function refused(reason: string) {
  return { accepted: false, reason, message: 'refused as an agent does' } as const;
}

/** An agent that holds nothing yet. */
export function createFakeAgent(): FakeAgent {
  const entries = new Map<string, InventoryEntry>();
  let claim: Pick<SequencedDelta, 'position' | 'admitted' | 'tag'> = { position: { epoch: 0, sequence: 0 } };
  const agent: FakeAgent = {
    entries,
    deltas: [],
    states: [],
    acknowledged: [],
    settingsHeard: [],
    fleets: [],
    fleet: () => (entries.size === 0 ? undefined : agent.fleets.at(-1)),
    kubernetesVersion: () => 'v1.36.3',
    gate: Promise.resolve(),
    refusal: undefined,
    position: () => claim.position,
    holding(): AgentHolding {
      const list = [...entries.values()];
      return {
        ...claim,
        digest: snapshotDigest(list.map((entry) => [entry.key, entry.digest])),
        entries: list,
      };
    },
    claim(): HoldingClaim {
      const { entries: list, ...head } = agent.holding();
      return { ...head, inventory: inventoryDigest(list) };
    },
    async delta(delta, fleet) {
      await agent.gate;
      if (agent.refusal !== undefined)
        return { accepted: false, reason: agent.refusal, message: 'refused by the test' };
      if (comparePositions(delta.position, claim.position) <= 0) return refused('OldPosition');
      if (delta.from !== agent.holding().digest) return refused('DifferentBase');
      const after = new Map([...entries.values()].map((entry) => [entry.key, entry.digest]));
      for (const key of delta.removals) after.delete(key);
      for (const { key, digest } of delta.upserts) after.set(key, digest);
      if (delta.to !== snapshotDigest(after)) return refused('DigestMismatch');
      for (const { key, digest, origins, scope } of delta.upserts) {
        entries.set(key, { key, digest, origins, scope, phase: 'held' });
      }
      for (const key of delta.removals) entries.delete(key);
      if (agent.fleets.at(-1) !== fleet) agent.fleets.push(fleet);
      claim = claimOf(delta);
      agent.deltas.push(delta);
      return { accepted: true };
    },
    inputAcknowledged: (digest) => agent.acknowledged.push(digest),
    settings: (settings) => agent.settingsHeard.push(settings),
    connection: (state) => agent.states.push(state),
  };
  return agent;
}

/** A server's owner: admits by a function that can be replaced, and remembers everything that it was told. */
export interface FakeOwner extends AgentListener {
  admission: (hello: AgentHello, certificate?: AgentCertificate) => HelloDecision;
  /** Judges registrations. */
  registration: (request: RegistrationRequest) => HelloDecision;
  readonly sessions: Map<ClusterName, { readonly session: AgentSession; readonly holding: ReportedHolding }>;
  readonly events: string[];
  /** What agents did that ended their sessions before they were up. */
  readonly breaches: string[];
  readonly refusals: RelayRefusal[];
  /** The highest that the fleet has begun. */
  epoch: number;
  /** The inventories that the server remembers. */
  readonly inventories: Map<ClusterName, readonly InventoryEntry[]>;
  readonly received: ObjectResult[];
  readonly inputs: { readonly cluster: ClusterName; readonly delta: InputDelta }[];
  readonly held: Map<ClusterName, Map<string, Digest>>;
}

/** An owner that admits every agent. */
export function createFakeOwner(): FakeOwner {
  const owner: FakeOwner = {
    admission: () => ({ type: 'admitted' }),
    registration: () => ({ type: 'admitted' }),
    sessions: new Map(),
    events: [],
    breaches: [],
    refusals: [],
    epoch: 0,
    inventories: new Map(),
    received: [],
    inputs: [],
    held: new Map(),
    caughtUp: async () => true,
    admit: (hello, certificate) => owner.admission(hello, certificate),
    mayRegister: (request) => owner.registration(request),
    issued: () => undefined,
    enrolledAgain: ({ cluster }, serial) => void owner.events.push(`enrolled again ${cluster} ${serial}`),
    connected(session, holding) {
      owner.sessions.set(session.hello.cluster, { session, holding });
      owner.events.push(`connected ${session.hello.cluster} ${session.hello.instance}`);
    },
    disconnected(session, reason) {
      if (owner.sessions.get(session.hello.cluster)?.session === session) owner.sessions.delete(session.hello.cluster);
      owner.events.push(`disconnected ${session.hello.cluster} ${session.hello.instance} ${reason.split(':')[0]}`);
    },
    refused(refusal) {
      owner.refusals.push(refusal);
      owner.breaches.push(`${refusal.cluster} ${refusal.reason}: ${refusal.message}`);
    },
    latestEpoch: () => owner.epoch,
    remembered(cluster, inventory) {
      const entries = owner.inventories.get(cluster);
      return entries !== undefined && inventoryDigest(entries) === inventory ? entries : undefined;
    },
    results: (_cluster, results) => {
      owner.received.push(...results);
      return 0;
    },
    aboveQuota: (cluster, excess) => void owner.breaches.push(`${cluster} ${excessText(excess)}`),
    inputDigests: (cluster) => [...(owner.held.get(cluster) ?? [])],
    input(cluster, delta, taken) {
      const held = owner.held.get(cluster) ?? new Map();
      owner.held.set(cluster, held);
      for (const key of delta.removals) held.delete(key);
      for (const { key, digest } of delta.upserts) held.set(key, digest);
      owner.inputs.push({ cluster, delta });
      taken();
    },
  };
  return owner;
}
