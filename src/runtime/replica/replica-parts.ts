import type { Engine } from '../../engine/graph.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { Source } from '../../ports/source.ts';
import type { Deadlines } from '../deadlines.ts';
import type { ClusterReadings } from '../ledger/cluster-state.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { elapsedAddress } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';
import type { Windows } from '../removals/windows.ts';
import type { Sessions } from '../sessions.ts';
import type { SourceTable } from '../source-table.ts';
import type { Journal } from '../stored/journal.ts';
import type { AdmissionCounter } from './admission-counter.ts';
import { type Admitting, createAdmitting } from './admitting.ts';
import type { Candidacy } from './candidacy.ts';
import { type Claims, claimedCluster, createClaims } from './claims.ts';
import { createElapsedMirror, type ElapsedMirror } from './elapsed-mirror.ts';
import { createEpochRecorder } from './epoch.ts';
import { createFollowedTrees } from './followed-trees.ts';
import { createMirror, type Mirror, mirroredCluster } from './mirror.ts';
import { createOwnSources, type OwnSources } from './own-sources.ts';
import { createPeers, type Peers } from './peers.ts';
import { createProbes, type Probes, probedCluster } from './probes.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { ADMISSION_KEY } from './records.ts';
import { setRole } from './role.ts';
import type { SingleFlight } from './single-flight.ts';
import { createStagedSources, type StagedSources } from './staged-sources.ts';
import { createVerdicts, judgedCluster, type Verdicts } from './verdicts.ts';

/** What a replica among several stands on. */
export interface SharedDeps {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly deadlines: Deadlines;
  readonly journal: Journal;
  readonly store: SnapshotStore;
  readonly counter: AdmissionCounter;
  readonly candidacy: Candidacy;
  /** A person wants nothing new of the source to be admitted for now. */
  readonly isSuspended: (source: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SharedOptions {
  readonly version: string;
  /** HOST:PORT or URL of this replica's HTTP, for the clients of the others. */
  readonly advertise: string;
  readonly engine: number;
  /** The lease is in the store: without the store nothing new is admitted. */
  readonly needsStore: boolean;
}

/** What the sources of one of several replicas read, and what of it is admitted. */
export interface SharedSources {
  readonly staged: StagedSources;
  readonly own: OwnSources;
  /** There may be something to admit, or not any more. */
  changed(): void;
  /** Who is told of that. */
  onChange(listener: () => void): void;
}

/** `table`: what becomes of these sources; it is asked later only. */
export function createSharedSources(
  deps: SharedDeps,
  sources: readonly Source[],
  table: () => SourceTable,
): SharedSources {
  const staged = createStagedSources(deps);
  const listeners: (() => void)[] = [];
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const hasSynced = (name: string): boolean => table().get(name)?.condition.state === 'synced';
  const own = createOwnSources({ sources, staged, hasSynced, changed });
  return { staged, own, changed, onChange: (listener) => void listeners.push(listener) };
}

/** What the rest of the server does when this replica becomes the one that judges, or is so no more. */
export interface Judgement {
  /** Reads what was held and approved; the result stages it. Rejects if the store cannot be asked. */
  load(): Promise<() => void>;
  /** Stages that nothing of it is known. */
  unload(): void;
  /** Reads the declarations as last known good; the result stages them. */
  declarations(): Promise<() => void>;
  readonly mayLeave: Windows['mayLeave'];
  /** It judges now, or no more. */
  changed(judges: boolean): void;
}

/** What a replica among several is made from. */
export interface ReplicaDeps extends SharedDeps {
  readonly sources: SourceTable;
  readonly sessions: Sessions;
  readonly shared: SharedSources;
  readonly judgement: Judgement;
  /** What of the clusters was read and staged when this server started. */
  readonly staged: ReadonlyMap<string, ClusterReadings>;
}

/** The parts of a replica; each tells the others through their `wake`. */
export interface Parts {
  readonly admitting: Admitting;
  readonly publisher: Publisher;
  readonly claims: Claims;
  readonly peers: Peers;
  readonly probes: Probes;
  readonly mirror: Mirror;
  readonly verdicts: Verdicts;
  readonly elapsed: ElapsedMirror;
  readonly epoch: SingleFlight;
}

/** How long the last words about a cluster may take to become durable. */
export const RELEASE_MS = 1_000;

export function createParts(deps: ReplicaDeps, options: SharedOptions): Parts {
  const { counter, loop, sources, shared, judgement } = deps;
  const id = deps.candidacy.id;
  const names = shared.own.all().map(({ source }) => source.name);
  const later: { parts?: Parts } = {};
  const parts = (): Parts => {
    if (later.parts === undefined) throw new Error('a replica was woken before it was made');
    return later.parts;
  };
  const peers = createPeers(
    {
      ...deps,
      own: () => ({ ...options, address: options.advertise, sources: names, admitted: counter.current() }),
      // Agents of those that are gone are gone; a claim may be read before its replica is heard for the first time.
      changed: (moved) => {
        const { admitting, claims, epoch, mirror } = parts();
        admitting.wake();
        epoch.wake();
        for (const [cluster, { replica }] of claims.others()) if (moved.has(replica)) mirror.wake(cluster);
        if (moved.size > 0) loop.transact(() => undefined);
      },
    },
    id,
  );
  const probes = createProbes(deps, id);
  const claims = createClaims({ ...deps, peers, probe: probes.ask, ...aboutClaims(deps, parts) }, id);
  const mirror = createMirror({
    ...deps,
    isOwn: claims.owns,
    isConnected: (cluster) => peers.isAlive(claims.others().get(cluster)?.replica ?? ''),
  });
  const followed = createFollowedTrees(deps.store, shared.staged);
  const publisher = createPublisher(
    {
      ...deps,
      ...shared,
      followed,
      leads: () => deps.candidacy.turn() !== undefined,
      allHaveSpoken: () => sources.allHaveSpoken(),
      knownElsewhere: (name) => peers.alive().some((peer) => peer.sources.includes(name)),
    },
    options,
  );
  const verdicts = createVerdicts({
    ...deps,
    judges: () => parts().admitting.judges(),
    isOwn: claims.serves,
    mayLeave: judgement.mayLeave,
  });
  const elapsed = createElapsedMirror({
    ...deps,
    elapsed: deps.engine.inputs.elapsed,
    leads: () => parts().admitting.judges(),
  });
  const admitting = createAdmitting(
    {
      ...deps,
      ...{ staged: shared.staged, followed, publisher, sources: names },
      ...{ guard: deps.candidacy.guard, turn: deps.candidacy.turn },
      ...aboutTurns(deps, parts),
    },
    options,
  );
  const epoch = createEpochRecorder(deps, (begun) => {
    counter.seen({ epoch: begun, sequence: 0 });
    admitting.wake();
  });
  later.parts = { admitting, publisher, claims, peers, probes, mirror, verdicts, elapsed, epoch };
  loop.addSink(() => {
    const group = admitting.group();
    if (group !== undefined && admitting.judges()) verdicts.write(group);
  });
  return later.parts;
}

function aboutClaims({ journal, ledger, loop }: ReplicaDeps, parts: () => Parts) {
  return {
    release: async (cluster: string): Promise<void> => {
      await journal.flush(RELEASE_MS);
      // Its agent may have come back meanwhile.
      if (!parts().claims.serves(cluster)) ledger.disown(cluster);
    },
    changed: (cluster: string): void => {
      const { admitting, claims, mirror, verdicts } = parts();
      if (claims.holds(cluster)) {
        ledger.resume(cluster);
        verdicts.wake(cluster);
      } else mirror.wake(cluster);
      admitting.wake();
      loop.transact(() => undefined);
    },
  };
}

function aboutTurns(deps: ReplicaDeps, parts: () => Parts) {
  const { counter, loop, sessions, sources, shared, judgement } = deps;
  return {
    hearOthers: (): void => {
      const { peers, claims } = parts();
      for (const { admitted } of peers.alive()) counter.seen(admitted);
      for (const { claimed } of claims.others().values()) counter.claimed(claimed);
    },
    readDeclarations: async (): Promise<() => void> => {
      const stage = await judgement.declarations();
      return () => {
        stage();
        parts().verdicts.stageNone();
      };
    },
    beginJudging: async (hasTurn: () => boolean): Promise<void> => {
      const { verdicts } = parts();
      await verdicts.begin();
      const stage = await judgement.load();
      if (!hasTurn()) return;
      loop.transact(() => {
        stage();
        verdicts.stageNone();
      });
      setRole(deps, 'leader');
    },
    judgingBegan: (): void => {
      judgement.changed(true);
      // The others wait for its word, also if nothing else changes.
      loop.transact(() => undefined);
    },
    endJudging: (): void => {
      // First of all: whoever judges without what was held and counted would let it pass.
      setRole(deps, 'follower');
      loop.transact(judgement.unload);
      judgement.changed(false);
    },
    entered: (): void => {
      for (const cluster of sessions.keys()) parts().verdicts.wake(cluster);
      acceptElsewhere(sources, shared.staged);
    },
  };
}

/** The store has changed at these keys. */
export function hearKeys(
  { admitting, claims, elapsed, mirror, probes, verdicts }: Parts,
  keys: readonly string[],
): void {
  for (const key of keys) {
    const claimed = claimedCluster(key);
    const probed = probedCluster(key);
    const judged = judgedCluster(key);
    const mirrored = mirroredCluster(key);
    if (key === ADMISSION_KEY || key.startsWith('trees/')) admitting.wake();
    else if (claimed !== undefined) claims.wake(claimed);
    else if (probed !== undefined) probes.wake(probed);
    else if (judged !== undefined) verdicts.wake(judged);
    else if (mirrored !== undefined) mirror.wake(mirrored);
    else if (elapsedAddress(key) !== undefined) elapsed.wake(key);
  }
}

/** A person has accepted at another replica what waits here as well. */
function acceptElsewhere(sources: SourceTable, staged: StagedSources): void {
  for (const { source, condition } of sources.all()) {
    const admitted = staged.source(source.name)?.revision?.revision;
    if (admitted !== undefined && condition.refusedRevision === admitted) source.accept(admitted);
  }
}
