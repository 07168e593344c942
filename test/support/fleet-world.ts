import { load } from 'js-yaml';
import { createMemoryStore } from '../../src/adapters/stores/memory.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { decodeFile } from '../../src/manifest/decode-file.ts';
import type { AgentHello, AgentHolding, InventoryEntry, ObjectResult } from '../../src/model/agent.ts';
import { sha256, snapshotDigest } from '../../src/model/digest.ts';
import { type ClusterId, type ClusterName, parseFleetName, parseSourceName } from '../../src/model/ids.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { displayKey, type ObjectKey } from '../../src/model/object-key.ts';
import type { SequencedDelta } from '../../src/model/output.ts';
import { must } from '../../src/model/result.ts';
import type { SnapshotStore } from '../../src/ports/snapshot-store.ts';
import type { Admission, AgentListener, AgentSession, SendOutcome } from '../../src/relay/session.ts';
import { createManagementServer, type ManagementServer } from '../../src/runtime/management-server.ts';
import type { Source, SourceCondition, SourceListener } from '../../src/sources/source.ts';
import { silentLog } from './silent-log.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** The real management server between sources, agents and a status branch that a test plays. */
export interface FleetWorld {
  readonly clock: VirtualClock;
  readonly server: ManagementServer;
  readonly source: FakeSource;
  readonly store: SnapshotStore;
  readonly statusFiles: ReadonlyMap<string, string>;
  statusUpdates(): number;
  agent(cluster: string, id?: string): FakeAgent;
  /** Lets everything that is due happen. */
  settle(): Promise<void>;
}

export interface FakeSource {
  /** A revision with these changed files (null: gone) enters. */
  push(changes: Readonly<Record<string, string | null>>): void;
  condition(condition: Partial<SourceCondition>): void;
}

export interface FakeAgent {
  /** Every delta that arrived, oldest first. */
  readonly deltas: readonly SequencedDelta[];
  connect(hello?: Partial<AgentHello>): Admission;
  disconnect(): void;
  /** Objects that the agent cannot apply, by key as people write it. */
  readonly failing: Set<string>;
  /** From now on deltas are not answered, until released. */
  pause(): void;
  /** Answers what waits: it was accepted, or the stream broke before it arrived. */
  release(outcome: 'accepted' | 'lost'): void;
  holding(): AgentHolding;
}

export const fleetName = must(parseFleetName('test'));
const sourceName = must(parseSourceName('main'));

/** Starts a world; give it the store of an earlier one to restart the server. */
export async function createFleetWorld(
  given: {
    readonly store?: SnapshotStore;
    readonly statusFiles?: Map<string, string>;
    readonly clock?: VirtualClock;
  } = {},
): Promise<FleetWorld> {
  const clock = given.clock ?? createVirtualClock();
  const store = given.store ?? createMemoryStore();
  const statusFiles = given.statusFiles ?? new Map<string, string>();
  let updates = 0;
  let listener: AgentListener | undefined;
  const fake = createFakeSource();
  const server = await createManagementServer(
    {
      graph: createGraph(),
      store,
      sources: [fake.source],
      relay: {
        start: async (agents) => {
          listener = agents;
          return { host: '127.0.0.1', port: 0 };
        },
        drain: async () => undefined,
      },
      statusSink: {
        readAll: async () => ({ ok: true, files: new Map(statusFiles) }),
        update: (changes) => {
          for (const [path, text] of changes) {
            if ((statusFiles.get(path) ?? null) !== text) updates++;
            if (text === null) statusFiles.delete(path);
            else statusFiles.set(path, text);
          }
        },
        setMinInterval: () => undefined,
        condition: () => ({ state: 'synced', message: '', commit: null }),
      },
      parseYaml: (text) => load(text) as JsonValue,
      clock,
      log: silentLog,
    },
    { fleet: fleetName, version: '0.0.0', bounds: { guards: {}, safeModes: [] } },
  );
  await server.start();
  const agents = new Map<string, FakeAgent>();
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await clock.advance(200);
  };
  return {
    clock,
    server,
    source: fake,
    store,
    statusFiles,
    statusUpdates: () => updates,
    agent: (cluster, id = `id-${cluster}`) => {
      const known = agents.get(`${cluster}/${id}`);
      if (known !== undefined) return known;
      if (listener === undefined) throw new Error('the server has not started');
      const agent = createFakeAgent(listener, cluster as ClusterName, id as ClusterId);
      agents.set(`${cluster}/${id}`, agent);
      return agent;
    },
    settle,
  };
}

function createFakeSource(): FakeSource & { readonly source: Source } {
  let listener: SourceListener | undefined;
  const files = new Map<string, string>();
  let revision = 0;
  const say = (condition: Partial<SourceCondition>): void =>
    listener?.condition({ source: sourceName, state: 'synced', reason: 'Synced', message: '', ...condition });
  return {
    source: {
      name: sourceName,
      address: 'test://main',
      start: (to) => {
        listener = to;
      },
      trigger: () => undefined,
      accept: () => false,
      read: async (path) => {
        const text = files.get(path);
        return text === undefined ? undefined : new TextEncoder().encode(text);
      },
      stop: async () => undefined,
    },
    condition: say,
    push: (changes) => {
      for (const [path, text] of Object.entries(changes)) {
        if (text === null) files.delete(path);
        else files.set(path, text);
      }
      const decoded = new Map([...files].map(([path, text]) => [path, decode(path, text)]));
      const all = [...decoded.values()];
      revision++;
      listener?.observe({
        source: sourceName,
        revision: `r${revision}`,
        state: all.every(({ reading }) => reading.readable) ? 'whole' : 'partial',
        changes: Object.keys(changes).map((path) => ({ path, file: decoded.get(path)?.reading ?? null })),
        diagnostics: all.flatMap(({ diagnostics }) => diagnostics),
      });
      say({ revision: `r${revision}` });
    },
  };
}

function decode(path: string, text: string) {
  return decodeFile(path, new TextEncoder().encode(text), sha256(text));
}

function createFakeAgent(listener: AgentListener, cluster: ClusterName, clusterId: ClusterId): FakeAgent {
  const deltas: SequencedDelta[] = [];
  const entries = new Map<ObjectKey, InventoryEntry>();
  const failing = new Set<string>();
  let position = { epoch: 0, sequence: 0 };
  let session: AgentSession | undefined;
  let paused = false;
  let waiting: { readonly delta: SequencedDelta; readonly answer: (outcome: SendOutcome) => void } | undefined;
  let instances = 0;

  const digest = () =>
    snapshotDigest(
      [...entries.values()].filter(({ phase }) => phase === 'held').map((entry) => [entry.key, entry.digest]),
    );
  const holding = (): AgentHolding => ({ position, digest: digest(), revisions: [], entries: [...entries.values()] });
  const take = (delta: SequencedDelta): readonly ObjectResult[] => {
    position = delta.position;
    for (const { key, digest: content, origins, scope } of delta.upserts) {
      entries.set(key, { key, digest: content, origins, scope, phase: 'held' });
    }
    for (const { key, origins, scope } of delta.touches) {
      const entry = entries.get(key);
      if (entry !== undefined) entries.set(key, { ...entry, origins, scope });
    }
    const removed = delta.removals.map((key) => ({ key, entry: entries.get(key) }));
    for (const { key } of removed) entries.delete(key);
    if (digest() !== delta.to) throw new Error('the delta does not lead where it says');
    return [
      ...delta.upserts.map(({ key, digest: content }) => resultOf(key, content, failing)),
      ...removed.flatMap(({ key, entry }): ObjectResult[] =>
        entry === undefined ? [] : [{ key, digest: entry.digest, state: 'removed', reason: '', message: '' }],
      ),
    ];
  };
  const accept = (delta: SequencedDelta, answer: (outcome: SendOutcome) => void): void => {
    const results = take(delta);
    answer({ type: 'accepted' });
    listener.results(cluster, results);
  };

  return {
    deltas,
    failing,
    holding,
    connect: (changes = {}) => {
      instances++;
      const instance = `${clusterId}-${instances}`;
      const hello = { cluster, clusterId, instance, version: '0.0.0', capabilities: [], ...changes };
      const admission = listener.admit(hello);
      if (admission.type !== 'admitted') return admission;
      session = {
        hello,
        send: (delta) =>
          new Promise((answer) => {
            deltas.push(delta);
            if (paused) waiting = { delta, answer };
            else queueMicrotask(() => accept(delta, answer));
          }),
        close: () => undefined,
      };
      listener.connected(session, holding());
      listener.results(
        cluster,
        [...entries.values()].map(({ key, digest: content }) => resultOf(key, content, failing)),
      );
      return admission;
    },
    disconnect: () => {
      if (session !== undefined) listener.disconnected(session, 'test');
      session = undefined;
    },
    pause: () => {
      paused = true;
    },
    release: (outcome) => {
      paused = false;
      const { delta, answer } = waiting ?? {};
      waiting = undefined;
      if (delta === undefined || answer === undefined) return;
      if (outcome === 'accepted') accept(delta, answer);
      else answer({ type: 'disconnected' });
    },
  };
}

function resultOf(key: ObjectKey, digest: ObjectResult['digest'], failing: ReadonlySet<string>): ObjectResult {
  return failing.has(displayKey(key))
    ? { key, digest, state: 'failed', reason: 'Rejected', message: 'the cluster said no' }
    : { key, digest, state: 'applied', reason: '', message: '' };
}
