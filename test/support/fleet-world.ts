import { load } from 'js-yaml';
import { createMemoryStore } from '../../src/adapters/stores/memory.ts';
import type { ReplicaSetup } from '../../src/compose/serve/foundation.ts';
import { createManagementServer, type ManagementServer } from '../../src/compose/serve/management-server.ts';
import type { PlanSetup } from '../../src/compose/serve/plans.ts';
import type { ServedDomain } from '../../src/compose/serve/server-part.ts';
import { createHealthServer } from '../../src/domains/health/compose/server.ts';
import type { XdsSetup } from '../../src/domains/health/xds/xds.ts';
import { servedDomains } from '../../src/domains/servers.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import {
  type AgentHello,
  type AgentHolding,
  type InputDelta,
  type InventoryEntry,
  type KindState,
  type ObjectResult,
  TAKES_OBJECT_DRIFT_MODE,
} from '../../src/model/agent/agent.ts';
import type { AgentSettings } from '../../src/model/agent/agent-settings.ts';
import { inventoryDigest } from '../../src/model/agent/inventory-digest.ts';
import type { DecodedFile } from '../../src/model/fleet/desired.ts';
import type { Drift } from '../../src/model/fleet/drift.ts';
import type { FileSignatures } from '../../src/model/fleet/file-signature.ts';
import {
  type ClusterId,
  type ClusterName,
  type Digest,
  parseFleetName,
  parseSourceName,
  type SourceName,
} from '../../src/model/fleet/ids.ts';
import {
  type AdmissionPosition,
  comparePositions,
  metaOf,
  type OutputPosition,
  type SequencedDelta,
} from '../../src/model/fleet/output.ts';
import type { PolicyBounds } from '../../src/model/fleet/relay-config.ts';
import { rightsOfSources, type SourceAllow } from '../../src/model/fleet/source-rights.ts';
import type { ClusterSize } from '../../src/model/limits/quotas.ts';
import type { ObjectHealth } from '../../src/model/objects/object-health/health.ts';
import { displayKey, type ObjectKey, objectKey, refOfObject } from '../../src/model/objects/object-key.ts';
import { objectDigest, sha256, snapshotDigest } from '../../src/model/text/digest.ts';
import type { JsonObject, JsonValue } from '../../src/model/text/json.ts';
import { must } from '../../src/model/values/result.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/log.ts';
import type { SnapshotStore } from '../../src/ports/snapshot-store.ts';
import type { Source, SourceCondition, SourceListener } from '../../src/ports/source.ts';
import type {
  AgentListener,
  AgentSession,
  HelloDecision,
  ReportedHolding,
  SendOutcome,
} from '../../src/relay/session.ts';
import { createStepTags, type StepTags } from '../../src/relay/trust/step-tags.ts';
import type { BeginSlice } from '../../src/runtime/loop.ts';
import type { StoreLock } from '../../src/runtime/replica/store-lock.ts';
import { createKubernetesSource } from '../../src/sources/kubernetes/kubernetes-source.ts';
import { claimedFile } from '../../src/sources/tree/foreign-files.ts';
import { decodeFile } from './decode-file.ts';
import type { FakeCustomResources } from './fake-custom-resources.ts';
import { silentLog } from './silent-log.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** The real management server between sources, agents and a status branch that a test plays. */
export interface FleetWorld {
  readonly clock: VirtualClock;
  readonly server: ManagementServer;
  /** The first source. */
  readonly source: FakeSource;
  sourceNamed(name: string): FakeSource;
  readonly store: SnapshotStore;
  readonly statusFiles: ReadonlyMap<string, string>;
  /** Hand them to the next world, and the agents outlive this server. */
  readonly agents: FakeAgents;
  statusUpdates(): number;
  agent(cluster: string, id?: string): FakeAgent;
  /** Lets everything that is due happen. */
  settle(): Promise<void>;
}

/** Agents that outlive a server, and what they speak to just now. */
export interface FakeAgents {
  listener: AgentListener | undefined;
  readonly known: Map<string, FakeAgent>;
  /** Of the relay to which they connect; absent: of one secret. */
  tags?: StepTags;
}

export interface FakeSource {
  /** A revision with these changed files (null: gone) enters. */
  push(changes: Readonly<Record<string, string | null>>): void;
  /** From the next push on, which has to name one of them, a kustomization or chart claims these files of it. */
  claim(paths: readonly string[], claimant: string, isWanted: boolean): void;
  condition(condition: Partial<SourceCondition>): void;
  /** From now on every read of its files fails. */
  breakReading(): void;
  /** Revisions that it was told to accept. */
  readonly accepted: readonly string[];
  /** What this version makes of a file's text; the file is the same for all versions. */
  understands: (text: string) => string;
  /** The verdicts on its files with a RemovalApproval, from the next push on; undefined: signatures do not count. */
  signatures: FileSignatures | undefined;
  /** Called when the source is to read its repository; by default the read is done at once. */
  onLook: () => Promise<void>;
}

export interface FakeAgent {
  /** The server that the next connect reaches. */
  dial: () => AgentListener;
  isConnected(): boolean;
  /** The holding that it reported last. */
  hello(): AgentHello;
  /** The server that it is connected to. */
  at(): AgentListener | undefined;
  /** Every delta that arrived, oldest first. */
  readonly deltas: readonly SequencedDelta[];
  connect(hello?: Partial<AgentHello>): HelloDecision;
  /** Connects as over the relay: the server may have to catch up first. Undefined: it could not in time. */
  reach(hello?: Partial<AgentHello>): Promise<HelloDecision | undefined>;
  /** The stream ends, and the server notices. */
  disconnect(): void;
  /** The server has ended and cannot notice. */
  abandon(): void;
  /** The reasons with which servers ended its sessions. */
  readonly closed: readonly string[];
  /** The cluster is restored from a backup, or without any owned object. */
  restore(entries: readonly InventoryEntry[]): void;
  /** It was sent a delta at this position, by some server. */
  seen(position: OutputPosition): void;
  /** The admission that its holding was computed from; undefined: the server sent none. */
  admitted: AdmissionPosition | undefined;
  /** As if a server of the fleet had sent its inventory with this admission: its tag is valid. */
  wasSent(admitted: AdmissionPosition): void;
  /** The next delta is refused at once. */
  rejectNext(): void;
  /** Said in the hello. */
  capabilities: readonly string[];
  /** The policy settings that it received. */
  readonly settings: readonly AgentSettings[];
  /** Called when a delta arrives. */
  onDelta: () => void;
  /** The agent says which kinds its cluster has: a step of its input. */
  lists(kinds: readonly KindState[]): void;
  /** The agent says what lives in its cluster: a step of its input. Kinds: absent, as after the step before. */
  discovers(
    step: {
      readonly upserts?: readonly JsonObject[];
      readonly removals?: readonly JsonObject[];
      readonly kinds?: readonly KindState[];
    },
    taken?: () => void,
  ): void;
  /** The agent says how an applied object is, by its key as people write it. */
  finds(object: string, health: ObjectHealth): void;
  /** The agent says what others have done to an applied object, which it leaves so; undefined: it is as declared again. */
  drifts(object: string, drift: Drift | undefined): void;
  /** Objects that the agent cannot apply, by key as people write it. */
  readonly failing: Set<string>;
  /** From now on deltas are not answered, until released. */
  pause(): void;
  /** Answers what waits: it was accepted, or the stream broke before it arrived. */
  release(outcome: 'accepted' | 'lost'): void;
  holding(): AgentHolding;
}

export const fleetName = must(parseFleetName('test'));

const stepTags = createStepTags([new Uint8Array(32).fill(7)]);

function tagsOf({ tags = stepTags }: FakeAgents): StepTags {
  return tags;
}

/** Starts a world; give it the store of an earlier one to restart the server. */
export async function createFleetWorld(
  given: {
    readonly store?: SnapshotStore;
    readonly statusFiles?: Map<string, string>;
    /** Resolves when the status branch answers; at once if there is none. */
    readonly readStatus?: () => Promise<void>;
    /** Takes what the status sink is to call when the branch holds its changes; absent: that is called at once. */
    readonly publishing?: (published: () => void) => void;
    readonly clock?: VirtualClock;
    readonly agents?: FakeAgents;
    /** Names of the sources, in their order. */
    readonly sources?: readonly string[];
    /** Which approvals count; absent: all. */
    readonly approvals?: PolicyBounds['approvals'];
    /** As in the RelayConfig. */
    readonly ignoreLiveOptOuts?: boolean;
    readonly driftMode?: PolicyBounds['driftMode'];
    /** What the RelayConfig allows to sources, by name; absent: everything is allowed to each. */
    readonly allow?: Readonly<Record<string, SourceAllow>>;
    /** A last source, `custom`, of these custom resources; their status is written. */
    readonly custom?: FakeCustomResources;
    /** It is one of several servers. */
    readonly replicas?: ReplicaSetup;
    /** It is the only one, and has locked its store. */
    readonly lock?: StoreLock;
    /** Absent: all of them. */
    readonly domains?: readonly ServedDomain[];
    /** Envoys are served. */
    readonly xds?: XdsSetup;
    /** Of the server alone, where it is not the agents' and the test's. */
    readonly serverClock?: Clock;
    readonly log?: Log;
    readonly quotas?: ClusterSize;
    readonly deltaBytes?: number;
    /** How far its repositories may loosen the guards. Default: as they like. */
    readonly guardBounds?: PolicyBounds['guards'];
    /** Where commits of the server are cut into slices. Default: nowhere, since its clock stands still. */
    readonly plans?: PlanSetup;
    readonly beginSlice?: BeginSlice;
  } = {},
): Promise<FleetWorld> {
  const clock = given.clock ?? createVirtualClock();
  const serverClock = given.serverClock ?? clock;
  const store = given.store ?? createMemoryStore();
  const statusFiles = given.statusFiles ?? new Map<string, string>();
  let updates = 0;
  let stated = false;
  const agents: FakeAgents = given.agents ?? { listener: undefined, known: new Map() };
  const fakes = (given.sources ?? ['main']).map((name) => createFakeSource(must(parseSourceName(name))));
  const custom = given.custom === undefined ? [] : [customSource(given.custom, serverClock)];
  const { approvals, ignoreLiveOptOuts, driftMode } = given;
  const bounds = {
    ...{ guards: given.guardBounds ?? {}, safeModes: [], webhookRemediator: false },
    ...(approvals && { approvals }),
    ...(ignoreLiveOptOuts === undefined ? {} : { ignoreLiveOptOuts }),
    ...(driftMode === undefined ? {} : { driftMode }),
  };
  const rights = rightsOfSources(
    given.allow === undefined
      ? []
      : [...fakes, ...custom].map(({ source: { name } }) => {
          const allow = given.allow?.[name];
          return { name, ...(allow && { allow }) };
        }),
  );
  const server = await createManagementServer(
    {
      graph: createGraph(),
      domains: given.domains ?? (given.xds === undefined ? servedDomains : domainsWith(given.xds)),
      store,
      sources: [...fakes, ...custom].map(({ source }) => {
        const own = rights.get(source.name);
        return own === undefined ? source : { ...source, rights: own };
      }),
      customResources: custom,
      relay: {
        signer: tagsOf(agents).signer,
        start: async (listener) => {
          agents.listener = listener;
          return { host: '127.0.0.1', port: 0 };
        },
        drain: async () => undefined,
      },
      statusSink: {
        readAll: async () => {
          await given.readStatus?.();
          return { ok: true, files: new Map(statusFiles) };
        },
        update: (changes, _summary, published) => {
          // As the real sink: the first call states the complete set.
          if (!stated) for (const path of statusFiles.keys()) if (!changes.has(path)) statusFiles.delete(path);
          stated = true;
          for (const [path, text] of changes) {
            if ((statusFiles.get(path) ?? null) !== text) updates++;
            if (text === null) statusFiles.delete(path);
            else statusFiles.set(path, text);
          }
          if (given.publishing === undefined) published();
          else given.publishing(published);
        },
        setMinInterval: () => undefined,
        condition: () => ({ state: 'synced', message: '', commit: null }),
      },
      parseYaml: (text) => load(text) as JsonValue,
      clock: serverClock,
      log: given.log ?? silentLog,
      ...(given.replicas === undefined ? {} : { replicas: given.replicas }),
      ...(given.lock === undefined ? {} : { lock: given.lock }),
      ...(given.beginSlice === undefined ? {} : { beginSlice: given.beginSlice }),
      ...(given.plans === undefined ? {} : { plans: given.plans }),
    },
    {
      fleet: fleetName,
      version: '0.0.0',
      bounds,
      ...(given.quotas && { quotas: given.quotas }),
      ...(given.deltaBytes && { deltaBytes: given.deltaBytes }),
    },
  );
  await server.start();
  const sourceNamed = (name: string): FakeSource => {
    const found = fakes.find(({ source }) => source.name === name);
    if (found === undefined) throw new Error(`there is no source ${name}`);
    return found;
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await clock.advance(200);
  };
  return {
    clock,
    server,
    source: sourceNamed(fakes[0]?.source.name ?? ''),
    sourceNamed,
    agents,
    store,
    statusFiles,
    statusUpdates: () => updates,
    agent: (cluster, id = `id-${cluster}`) => {
      const known = agents.known.get(`${cluster}/${id}`);
      const dial = (): AgentListener => listenerOf(agents);
      if (known !== undefined) {
        known.dial = dial;
        return known;
      }
      const agent = createFakeAgent(dial, cluster as ClusterName, id as ClusterId, () => tagsOf(agents));
      agents.known.set(`${cluster}/${id}`, agent);
      return agent;
    },
    settle,
  };
}

/** The domains of a server that serves Envoys. */
function domainsWith(xds: XdsSetup): readonly ServedDomain[] {
  return servedDomains.map((each) =>
    each.engine.name === 'health' ? { ...each, server: createHealthServer(xds) } : each,
  );
}

/** What a metric of a domain shows, by its one label; values of 0 are left out. */
export function shownBy({ server }: Pick<FleetWorld, 'server'>, metric: string): Readonly<Record<string, number>> {
  const reading = server.samples().get(metric);
  const samples = typeof reading === 'object' ? [...reading] : [];
  return Object.fromEntries(samples.filter(([, count]) => count !== 0));
}

function customSource({ resources, status }: FakeCustomResources, clock: Clock) {
  const name = must(parseSourceName('custom'));
  const deps = { resources, decode: decodeFile, clock, log: silentLog };
  const source = createKubernetesSource(deps, { name, address: 'test://custom' });
  return { source, resources, status, random: { next: () => 0.5, id: () => '0'.repeat(32) } };
}

function listenerOf({ listener }: FakeAgents): AgentListener {
  if (listener === undefined) throw new Error('the server has not started');
  return listener;
}

function createFakeSource(sourceName: SourceName): FakeSource & { readonly source: Source } {
  let listener: SourceListener | undefined;
  const files = new Map<string, string>();
  const claimed = new Map<string, { readonly claimant: string; readonly isWanted: boolean }>();
  let signatures: FileSignatures | undefined;
  let revision = 0;
  let broken = false;
  const accepted: string[] = [];
  let onLook = async (): Promise<void> => undefined;
  let understands = (text: string): string => text;
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
      look: () => onLook(),
      accept: (revision) => {
        accepted.push(revision);
        return true;
      },
      read: async (path) => {
        if (broken) throw new Error('the copy is damaged');
        const text = files.get(path);
        return text === undefined ? undefined : new TextEncoder().encode(text);
      },
      stop: async () => undefined,
    },
    condition: say,
    accepted,
    get understands() {
      return understands;
    },
    set understands(reads) {
      understands = reads;
    },
    get signatures() {
      return signatures;
    },
    set signatures(verdicts) {
      signatures = verdicts;
    },
    get onLook() {
      return onLook;
    },
    set onLook(look) {
      onLook = look;
    },
    breakReading: () => {
      broken = true;
    },
    claim: (paths, claimant, isWanted) => {
      for (const path of paths) claimed.set(path, { claimant, isWanted });
    },
    push: (changes) => {
      for (const [path, text] of Object.entries(changes)) {
        if (text === null) files.delete(path);
        else files.set(path, text);
      }
      const readAt = (path: string, text: string): DecodedFile => {
        const claim = claimed.get(path);
        return claim === undefined ? decode(path, text, understands) : claimedFile(text, claim);
      };
      const decoded = new Map([...files].map(([path, text]) => [path, readAt(path, text)]));
      const all = [...decoded.values()];
      revision++;
      listener?.observe({
        source: sourceName,
        revision: `r${revision}`,
        ...(signatures === undefined ? {} : { signatures }),
        state: all.every(({ reading }) => reading.readable) ? 'complete' : 'partial',
        changes: [...new Set([...Object.keys(changes), ...claimed.keys()])].map((path) => ({
          path,
          file: decoded.get(path)?.reading ?? null,
        })),
        diagnostics: all.flatMap(({ diagnostics }) => diagnostics),
      });
      say({ revision: `r${revision}` });
    },
  };
}

function decode(path: string, text: string, understands: (text: string) => string) {
  return decodeFile(path, new TextEncoder().encode(understands(text)), sha256(text));
}

function createFakeAgent(
  first: () => AgentListener,
  cluster: ClusterName,
  clusterId: ClusterId,
  tags: () => StepTags,
): FakeAgent {
  const deltas: SequencedDelta[] = [];
  const entries = new Map<ObjectKey, InventoryEntry>();
  const failing = new Set<string>();
  const drifting = new Map<string, Drift>();
  let position: OutputPosition = { epoch: 0, sequence: 0 };
  let admitted: AdmissionPosition | undefined;
  /** As the relay makes and verifies them. */
  let tag: string | undefined;
  let dial = first;
  /** At the other end of the session. */
  let listener: AgentListener | undefined;
  const listenerNow = (): AgentListener => listener ?? dial();
  let session: AgentSession | undefined;
  let paused = false;
  let waiting: { readonly delta: SequencedDelta; readonly answer: (outcome: SendOutcome) => void } | undefined;
  let instances = 0;
  let rejecting = false;
  let onDelta = (): void => undefined;
  let capabilities: readonly string[] = [TAKES_OBJECT_DRIFT_MODE];
  const closed: string[] = [];
  const gone = new WeakSet<AgentSession>();
  const settings: AgentSettings[] = [];

  const digest = () =>
    snapshotDigest(
      [...entries.values()].filter(({ phase }) => phase === 'held').map((entry) => [entry.key, entry.digest]),
    );
  const holding = (): AgentHolding => ({
    position,
    digest: digest(),
    ...(admitted === undefined ? {} : { admitted }),
    ...(tag === undefined ? {} : { tag }),
    entries: [...entries.values()],
  });
  const stepAt = (digest: Digest, at: Pick<AgentHolding, 'position' | 'admitted'>) => {
    const step = { fleet: fleetName, cluster, clusterId, position: at.position, digest };
    return at.admitted === undefined ? step : { ...step, admitted: at.admitted };
  };
  const reported = (): ReportedHolding => {
    const claim = holding();
    const proof = tags().verify(stepAt(claim.digest, claim), tag);
    const known = listenerNow().remembered(cluster, inventoryDigest(claim.entries));
    return { ...claim, entries: known ?? claim.entries, isKnown: known !== undefined, proof };
  };
  const take = (delta: SequencedDelta): readonly ObjectResult[] => {
    if (delta.admitted !== undefined && admitted !== undefined && comparePositions(delta.admitted, admitted) < 0) {
      throw new Error('the delta was computed from an earlier admission');
    }
    position = delta.position;
    admitted = delta.admitted;
    tag = delta.tag;
    for (const { key, digest: content, ...meta } of delta.upserts) {
      entries.set(key, { key, digest: content, ...metaOf(meta), phase: 'held' });
    }
    for (const { key, ...meta } of delta.touches) {
      const { stopped: _, driftMode: _mode, ...entry } = entries.get(key) ?? {};
      if ('digest' in entry) entries.set(key, { ...entry, ...metaOf(meta) });
    }
    const removed = delta.removals.map((key) => ({ key, entry: entries.get(key) }));
    for (const { key } of removed) entries.delete(key);
    if (digest() !== delta.to) throw new Error('the delta does not lead where it says');
    return [
      ...delta.upserts.map(({ key, digest: content }) => resultOf(key, content, { failing, drifting })),
      ...removed.flatMap(({ key, entry }): ObjectResult[] =>
        entry === undefined ? [] : [{ key, digest: entry.digest, state: 'removed', reason: '', message: '' }],
      ),
    ];
  };
  const accept = (delta: SequencedDelta, answer: (outcome: SendOutcome) => void): void => {
    const results = take(delta);
    answer({ type: 'accepted' });
    listenerNow().results(cluster, results);
  };
  const answerNow = (from: AgentSession | undefined, delta: SequencedDelta, answer: (o: SendOutcome) => void): void => {
    if (from !== session) return;
    if (paused) waiting = { delta, answer };
    else if (!rejecting) queueMicrotask(() => accept(delta, answer));
    else {
      rejecting = false;
      answer({ type: 'rejected', reason: 'Test', message: 'not now', holding: reported() });
    }
  };

  const takes = (
    step: Partial<Pick<InputDelta, 'upserts' | 'removals' | 'kinds'>>,
    taken = (): void => undefined,
  ): void => {
    const digest = snapshotDigest([]);
    listenerNow().input(cluster, { from: digest, to: digest, upserts: [], removals: [], ...step }, taken);
  };
  const agent: FakeAgent = {
    get dial() {
      return dial;
    },
    set dial(to) {
      dial = to;
    },
    get onDelta() {
      return onDelta;
    },
    set onDelta(listener) {
      onDelta = listener;
    },
    isConnected: () => session !== undefined,
    hello: () => {
      if (session === undefined) throw new Error('it is not connected');
      return session.hello;
    },
    at: () => listener,
    deltas,
    failing,
    holding,
    connect: (changes = {}) => {
      instances++;
      const hello = {
        cluster,
        clusterId,
        instance: `${clusterId}-${instances}`,
        version: '0.0.0',
        capabilities,
        ...changes,
      };
      const dialled = dial();
      const admission = dialled.admit(hello);
      if (admission.type !== 'admitted') {
        const { type, ...refusal } = admission;
        const caller = { cluster, address: '127.0.0.1', isProven: true, wasConnected: false };
        if (type !== 'retry') dialled.refused({ ...refusal, ...caller });
        return admission;
      }
      listener = dialled;
      const opened: AgentSession = {
        hello,
        send: (untagged, provesInventory = false) =>
          new Promise((answer) => {
            const delta = { ...untagged, tag: tags().sign(stepAt(untagged.to, untagged), provesInventory) };
            if (opened === session) deltas.push(delta);
            onDelta();
            answerNow(opened, delta, answer);
          }),
        settings: (said) => void settings.push(said),
        probe: async () => opened === session,
        close: (_kind, reason) => {
          closed.push(reason);
          // Abandoned, or over already.
          if (gone.has(opened)) return;
          gone.add(opened);
          if (opened === session) session = undefined;
          queueMicrotask(() => dialled.disconnected(opened, reason));
        },
      };
      session = opened;
      listener.connected(opened, reported());
      listener.results(
        cluster,
        [...entries.values()].map(({ key, digest: content }) => resultOf(key, content, { failing, drifting })),
      );
      return admission;
    },
    reach: async (changes) => ((await dial().caughtUp()) ? agent.connect(changes) : undefined),
    disconnect: () => {
      const ended = session;
      session = undefined;
      if (ended === undefined) return;
      gone.add(ended);
      listenerNow().disconnected(ended, 'test');
    },
    abandon: () => {
      session = undefined;
      waiting = undefined;
      paused = false;
    },
    finds: (object, health) => {
      const found = [...entries.values()].filter(({ key }) => displayKey(key) === object);
      listenerNow().results(
        cluster,
        found.map(({ key, digest: content }) => ({ ...resultOf(key, content, { failing, drifting }), health })),
      );
    },
    drifts: (object, drift) => {
      if (drift === undefined) drifting.delete(object);
      else drifting.set(object, drift);
      const found = [...entries.values()].filter(({ key }) => displayKey(key) === object);
      listenerNow().results(
        cluster,
        found.map(({ key, digest: content }) => resultOf(key, content, { failing, drifting })),
      );
    },
    lists: (kinds) => takes({ kinds }),
    discovers: ({ upserts = [], removals = [], kinds }, taken) =>
      takes(
        {
          upserts: upserts.map((value) => ({ key: keyOf(value), value, digest: objectDigest(value) })),
          removals: removals.map(keyOf),
          ...(kinds === undefined ? {} : { kinds }),
        },
        taken,
      ),
    closed,
    settings,
    restore: (restored) => {
      entries.clear();
      for (const entry of restored) entries.set(entry.key, entry);
    },
    seen: (other) => {
      position = other;
    },
    get admitted() {
      return admitted;
    },
    set admitted(other) {
      admitted = other;
    },
    wasSent: (other) => {
      admitted = other;
      tag = tags().sign(stepAt(digest(), holding()), true);
    },
    rejectNext: () => {
      rejecting = true;
    },
    get capabilities() {
      return capabilities;
    },
    set capabilities(said) {
      capabilities = said;
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
  return agent;
}

function keyOf(value: JsonObject): ObjectKey {
  return objectKey(must(refOfObject(value)));
}

function resultOf(
  key: ObjectKey,
  digest: ObjectResult['digest'],
  { failing, drifting }: { readonly failing: ReadonlySet<string>; readonly drifting: ReadonlyMap<string, Drift> },
): ObjectResult {
  const object = displayKey(key);
  if (failing.has(object)) {
    return { key, digest, state: 'failed', reason: 'Rejected', message: 'the cluster said no' };
  }
  const drift = drifting.get(object);
  return { key, digest, state: 'applied', reason: '', message: '', ...(drift === undefined ? {} : { drift }) };
}
