import type { Engine } from '../../engine/graph.ts';
import { isJsonObject, objectOf, textOf } from '../../model/json.ts';
import type { Registration } from '../../model/ledger.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import {
  type ClusterMapKind,
  type ClusterReadings,
  clusterCodecs,
  clusterMapKinds,
  clusterMapName,
  snapshotSince,
  stageClusterMap,
} from '../ledger/cluster-state.ts';
import { type Ledger, unseenAgent } from '../ledger/ledger.ts';
import type { Revocation } from '../ledger/records.ts';
import { recordKey, recordShape } from '../ledger/records.ts';
import { isLater } from '../ledger/registrations.ts';
import type { Loop } from '../loop.ts';
import { atOneMoment, readMap } from '../stored/read-map.ts';
import { changesBetween } from '../stored/stored-map.ts';
import type { Candidacy } from './candidacy.ts';
import { claimKey } from './claims.ts';
import { readJson } from './records.ts';
import { createSingleFlight } from './single-flight.ts';

/**
 * What other replicas keep of the clusters that they serve, staged here as well: so every replica computes the same
 * outputs for all clusters.
 */
export interface Mirror {
  start(): void;
  /** The store has changed there, or may have (all of it). */
  wake(cluster?: string): void;
  /** What was read of a cluster last. */
  readings(cluster: string): ClusterReadings;
  /** The cluster is this replica's own from now on: what was read of it is soon out of date. */
  forget(cluster: string): void;
  stop(): Promise<void>;
}

export interface MirrorDeps {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly store: SnapshotStore;
  readonly candidacy: Candidacy;
  /** What of the clusters is staged already, as it was read when this server started. */
  readonly staged: ReadonlyMap<string, ClusterReadings>;
  /** This replica serves the cluster: its own memory is the truth. */
  readonly isOwn: (cluster: string) => boolean;
  /** The cluster's agent is at another replica that lives. */
  readonly isConnected: (cluster: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Longer than a replica that says nothing counts as alive: by then whoever keeps a cluster has written it anew. */
const OLDER_COPY_MS = 12_000;

/** The cluster that a changed record of the store is about. */
export function mirroredCluster(key: string): string | undefined {
  const [prefix, cluster] = key.split('/');
  return prefix === 'clusters' || prefix === 'registrations' || prefix === 'assumed-warm' ? cluster : undefined;
}

export function createMirror(deps: MirrorDeps): Mirror {
  const { store, isOwn } = deps;
  const known = new Map(deps.staged);
  // Of the claim under which that was written.
  const writers = new Map<string, string>();
  const patience = createPatience(deps.clock);
  const due = new Set<string>();
  let readsAll = true;

  const readAll = async (cluster: string): Promise<void> => {
    if (isOwn(cluster)) return;
    // In this order: the assumed-warm record ends together with what is known instead, which is read after it.
    const assumedWarm = (await store.get(recordKey.assumedWarm(cluster))) !== undefined;
    const registration = asRegistration((await readJson(store, recordKey.registration(cluster))).value);
    const before = known.get(cluster) ?? {};
    const { writer, ...found } = await readMaps(store, cluster, before);
    const isOlder = patience.waitsFor(
      cluster,
      isOlderCopy(before, found) && (writer === '' || writer === writers.get(cluster)),
    );
    const after = isOlder ? before : found;
    const revocation = asRevocation((await readJson(store, recordKey.revocation(cluster))).value);
    // Its agent may have come here meanwhile.
    if (isOwn(cluster)) return;
    const held = registration ?? registrationOfLost(deps, cluster, revocation);
    const staged = { registration: held, assumedWarm, revocation };
    if (writer !== '') writers.set(cluster, writer);
    known.set(cluster, stage(deps, cluster, staged, before, after));
    const isLost =
      isOlder || clusterMapKinds.some((kind) => before[kind]?.type === 'complete' && after[kind]?.type !== 'complete');
    if (held !== undefined && (registration === undefined || isLost)) restore(deps, cluster);
  };
  const lookAtAll = async (): Promise<void> => {
    const prefix = recordKey.registration('');
    for await (const { key } of store.list(prefix)) due.add(key.slice(prefix.length));
    for (const { cluster } of deps.ledger.registrations()) due.add(cluster);
  };
  const task = createSingleFlight(deps, 'reading what other replicas keep', async () => {
    if (readsAll) {
      // Before it is listed: what changes meanwhile is listed again.
      readsAll = false;
      await lookAtAll().catch((error: unknown) => {
        readsAll = true;
        throw error;
      });
    }
    for (const cluster of due) {
      due.delete(cluster);
      try {
        await readAll(cluster);
      } catch (error) {
        due.add(cluster);
        throw error;
      }
    }
    for (const cluster of patience.clusters()) due.add(cluster);
    return due.size > 0;
  });
  const wake = (cluster?: string): void => {
    if (cluster === undefined) readsAll = true;
    else due.add(cluster);
    task.wake();
  };
  // Whoever led before may have died before it could write what was lost.
  deps.candidacy.onChange(() => wake());
  return {
    start: wake,
    wake,
    readings: (cluster) => known.get(cluster) ?? {},
    forget: (cluster) => {
      known.delete(cluster);
      writers.delete(cluster);
      patience.forget(cluster);
    },
    stop: task.stop,
  };
}

/**
 * Clusters of which the store holds an older copy: who keeps one gets its time to write it anew. If nobody does, the copy
 * is all there is.
 */
function createPatience(clock: Clock) {
  const since = new Map<string, number>();
  return {
    waitsFor: (cluster: string, isOlder: boolean): boolean => {
      const begun = since.get(cluster) ?? clock.monotonic();
      const waits = isOlder && clock.monotonic() - begun < OLDER_COPY_MS;
      if (waits) since.set(cluster, begun);
      else since.delete(cluster);
      return waits;
    },
    clusters: (): Iterable<string> => since.keys(),
    forget: (cluster: string): void => void since.delete(cluster),
  };
}

async function readMaps(
  store: SnapshotStore,
  cluster: string,
  before: ClusterReadings,
): Promise<Required<ClusterReadings> & { readonly writer: string }> {
  const claim = claimKey(cluster);
  const names = clusterMapKinds.map((kind) => clusterMapName(cluster, kind));
  return atOneMoment(store, [claim, ...names], async () => ({
    writer: textOf(objectOf((await readJson(store, claim)).value).session),
    entries: await read(store, cluster, 'entries', before),
    live: await read(store, cluster, 'live', before),
    kinds: await read(store, cluster, 'kinds', before),
    results: await read(store, cluster, 'results', before),
  }));
}

/**
 * A writer only counts up: an older copy of the store has taken over, and the writer has not written anew yet. Who has
 * claimed the cluster since may count from less.
 */
function isOlderCopy(before: ClusterReadings, found: ClusterReadings): boolean {
  return clusterMapKinds.some((kind) => {
    const [last, now] = [before[kind], found[kind]];
    return last?.type === 'complete' && now?.type === 'complete' && now.map.sequence < last.map.sequence;
  });
}

async function read<Kind extends ClusterMapKind>(
  store: SnapshotStore,
  cluster: string,
  kind: Kind,
  before: ClusterReadings,
): Promise<NonNullable<ClusterReadings[Kind]>> {
  const last = before[kind];
  const map = last?.type === 'complete' ? last.map : undefined;
  return (await readMap(store, clusterMapName(cluster, kind), clusterCodecs[kind], map as never)) as never;
}

/**
 * A registration that is not in the store was lost with it, unless the cluster was deregistered: then nobody declares it,
 * or its certificates were made void since. Undefined: there is none.
 */
function registrationOfLost(
  { engine, ledger, loop }: MirrorDeps,
  cluster: string,
  revocation: Revocation | undefined,
): Registration | undefined {
  loop.settle();
  const isRevoked = revocation !== undefined && isLater(revocation, ledger.revocation(cluster));
  const isOver = engine.clusters.get('', cluster) === undefined || isRevoked;
  return isOver ? undefined : ledger.registration(cluster);
}

/** The leader writes again what the store has lost of a cluster, as long as nobody serves it. */
function restore({ ledger, candidacy }: MirrorDeps, cluster: string): void {
  if (candidacy.turn() === undefined) return;
  ledger.restore(cluster, { key: claimKey(cluster), ifVersion: null });
}

/** Gives what of the readings is staged now. */
function stage(
  deps: MirrorDeps,
  cluster: string,
  {
    registration,
    assumedWarm,
    revocation,
  }: {
    readonly registration: Registration | undefined;
    readonly assumedWarm: boolean;
    readonly revocation: Revocation | undefined;
  },
  before: ClusterReadings,
  after: ClusterReadings,
): ClusterReadings {
  const { engine, loop, ledger } = deps;
  loop.settle();
  // What lived there belongs to a registration, also if it is in the store still.
  const isOther = registration?.id !== ledger.registration(cluster)?.id;
  const last = isOther ? onlyEntries(before) : before;
  const now = registration === undefined ? onlyEntries(after) : after;
  loop.transact(() => {
    ledger.replicateRegistration(cluster, registration, revocation);
    stageAgent(deps, cluster, registration, assumedWarm);
    if (isOther || registration === undefined) ledger.forgetSnapshot(cluster);
    for (const kind of clusterMapKinds) stageKind(engine, cluster, kind, last, now);
    if (now.entries?.type === 'complete') ledger.markEntriesComplete(cluster);
    if (now.live?.type === 'complete' && now.kinds?.type === 'complete') {
      engine.inputs.snapshots.set('', cluster, { since: snapshotSince(now.live.map) });
    }
  });
  return now;
}

function onlyEntries({ entries }: ClusterReadings): ClusterReadings {
  return entries === undefined ? {} : { entries };
}

/** What has come back damaged or is gone is not taken for empty: what was known of it stays. */
function stageKind<Kind extends ClusterMapKind>(
  engine: Engine,
  cluster: string,
  kind: Kind,
  before: ClusterReadings,
  after: ClusterReadings,
): void {
  const [last, now] = [before[kind], after[kind]];
  if (now?.type !== 'complete') return;
  const known = last?.type === 'complete' ? last.map : undefined;
  if (known === undefined) {
    const input = {
      entries: engine.inputs.ledger,
      live: engine.inputs.live,
      kinds: engine.inputs.kinds,
      results: engine.inputs.results,
    }[kind];
    const gone = [...input.entries(cluster)].filter(({ key }) => !now.map.values.has(key));
    for (const { key } of gone) input.delete(cluster, key);
    stageClusterMap(engine, cluster, kind, now.map.values as never);
  } else stageClusterMap(engine, cluster, kind, changesBetween(known as never, now.map as never) as never);
}

function stageAgent(
  { engine, isConnected }: MirrorDeps,
  cluster: string,
  registration: Registration | undefined,
  assumedWarm: boolean,
): void {
  const { agents } = engine.inputs;
  if (registration === undefined) {
    if (assumedWarm) agents.set('', cluster, { ...unseenAgent, assumedWarm });
    else agents.delete('', cluster);
    return;
  }
  const { warm, since, kindsAsWritten = false } = registration;
  const connected = isConnected(cluster);
  agents.set('', cluster, { ...unseenAgent, connected, since, warm, assumedWarm, kindsAsWritten });
}

function asRevocation(value: unknown): Revocation | undefined {
  return recordShape.revocation(value as never) ? (value as Revocation) : undefined;
}

function asRegistration(value: unknown): Registration | undefined {
  return isJsonObject(value as never) ? (value as Registration) : undefined;
}
