import { durableAlready, type Receipt } from '../../model/fleet/receipt.ts';
import type { JsonValue } from '../../model/text/json.ts';
import type { StoreEvent } from '../../ports/snapshot-store.ts';
import type { AgentSession, ReportedHolding } from '../../relay/session.ts';
import type { ServerCore } from '../core.ts';
import type { Deadlines } from '../deadlines.ts';
import type { History } from '../history/history.ts';
import type { ClusterReadings } from '../ledger/cluster-state.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordKey } from '../ledger/records.ts';
import type { ApprovalOutcomes } from '../removals/approval-files.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { Windows } from '../removals/windows.ts';
import type { Sessions } from '../sessions.ts';
import type { KeyedTask, SingleFlight } from '../single-flight.ts';
import type { SourceTable } from '../source-table.ts';
import type { ObservedStatuses } from '../status/observed-statuses.ts';
import { jsonWrite } from '../stored/json-record.ts';
import { ADMISSION_KEY, type AdmissionCounter } from './admission.ts';
import { createAdmissionReceipts } from './admission-receipts.ts';
import { type Admitting, createAdmitting, type Judgement } from './admitting.ts';
import type { Candidacy } from './candidacy.ts';
import { catchUp } from './catch-up.ts';
import { type ClusterLeases, createClusterLeases } from './cluster-leases.ts';
import { createEpochRecorder } from './epoch.ts';
import { createPeers, type Peers } from './peers.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { createRemovalPermits, type RemovalPermits } from './removal-permits.ts';
import { behindAgent, provenAdmission, type Replica, type ReplicaView } from './replica.ts';
import { createReplicatedClusters, type ReplicatedClusters, replicatedCluster } from './replicated-clusters.ts';
import { createReplicatedRecords, replicatedInputs } from './replicated-records.ts';
import { createFollowedTrees, type OwnSources, type StagedSources } from './sources.ts';

interface SharedDeps extends ServerCore {
  readonly ledger: Ledger;
  readonly deadlines: Deadlines;
  readonly observed: ObservedStatuses;
  readonly windows: Windows;
  readonly approvals: Approvals;
  readonly outcomes: ApprovalOutcomes;
  readonly counter: AdmissionCounter;
  readonly history: Pick<History, 'settled'>;
  readonly candidacy: Candidacy;
  /** A person has suspended the source: no new revision of it is admitted. */
  readonly isSuspended: (source: string) => boolean;
}

interface SharedOptions {
  readonly version: string;
  /** HOST:PORT or URL of this replica's HTTP, for the clients of the others. */
  readonly advertise: string;
  /** Generation of the engine. */
  readonly engine: number;
  /** The leader's lease is in the store: without the store nothing new is admitted. */
  readonly needsStore: boolean;
}

interface ReplicaDeps extends SharedDeps {
  readonly sources: SourceTable;
  readonly sessions: Sessions;
  readonly staged: StagedSources;
  readonly own: OwnSources;
  readonly judgement: Judgement;
  /** The maps of the clusters that were read and staged when this process started. */
  readonly readings: ReadonlyMap<string, ClusterReadings>;
}

interface Parts {
  readonly admitting: Admitting;
  readonly publisher: Publisher;
  readonly leases: ClusterLeases;
  readonly peers: Peers;
  readonly clusters: ReplicatedClusters;
  readonly permits: RemovalPermits;
  readonly records: KeyedTask;
  readonly epoch: SingleFlight;
  readonly admissionReceipt: (source: string) => Receipt;
}

/** Time limit for making the last records of a cluster durable. */
const RELEASE_MS = 1_000;
/** How often all records of other replicas are read: the notice of a change may be lost. */
const SWEEP_MS = 120_000;

/** One of several servers of a fleet, which share a store. */
export function createSharedReplica(deps: ReplicaDeps, options: SharedOptions): Replica {
  const parts = createParts(deps, options);
  const { admitting, clusters, epoch, leases, peers, permits, publisher, records } = parts;
  const { candidacy, counter, loop, own, sources, sessions, staged, store, windows } = deps;
  let isDown = false;
  let unwatch = (): void => undefined;
  let cancelSweep = (): void => undefined;

  const changed = (event: StoreEvent): void => {
    if (event.type === 'changed') {
      for (const key of event.keys) wakeFor(parts, key);
      return;
    }
    isDown = event.type === 'down' || (isDown && event.type !== 'up');
    if (event.type === 'lost') for (const part of [publisher, leases, windows]) part.storeLost();
    for (const part of [epoch, admitting, leases, clusters, records]) part.wake();
    loop.transact(() => undefined);
  };
  const sweep = (): void => {
    cancelSweep = deps.clock.schedule(SWEEP_MS, sweep);
    for (const part of [leases, clusters, records]) part.wake();
    for (const cluster of sessions.keys()) permits.wake(cluster);
  };
  candidacy.onChange(admitting.wake);
  own.onChange(admitting.wake);

  return {
    leads: admitting.judges,
    admitted: counter.current,
    mayStart: () => staged.published()?.open === true,
    hasCommitted: () => staged.published()?.open === true,
    knowsAll: () => sources.allAreComplete(),
    hasReadAnew: (source) => own.hasCommitted(source) ?? !counter.isBehind(),
    obstacle: (cluster) => {
      // This process was suspended beyond the end of its turn: another leader may have judged otherwise since.
      if (admitting.isOver()) return '';
      const engine = staged.published()?.engine;
      if (engine !== undefined && engine !== options.engine) return otherGeneration(engine, options.engine);
      if (!leases.holds(cluster) && !isDown && !leases.isStuck()) return '';
      return behindAgent(cluster, counter.current(), sessions.get(cluster)?.admitted);
    },
    caughtUp: () => catchUp(deps, parts),
    judge: leases.judge,
    connected: (session, holding) => connect(deps, parts, session, holding),
    disconnected: leases.disconnected,
    revoke: (cluster) => {
      if (leases.serves(cluster)) return durableAlready;
      const registration = deps.ledger.registration(cluster) as unknown as JsonValue | undefined;
      return leases.revoke(cluster, jsonWrite(recordKey.registration(cluster), registration ?? null));
    },
    accepted: parts.admissionReceipt,
    lastAdmitted: (source) => staged.publishedSource(source)?.revision?.revision,
    isAlive: peers.isAlive,
    view: () => viewOf(deps, options, parts, isDown),
    start: async () => {
      unwatch = store.watch(changed);
      await admitting.follow();
      for (const part of [clusters, records, leases]) part.wake();
      peers.start();
      candidacy.start();
      cancelSweep = deps.clock.schedule(SWEEP_MS, sweep);
    },
    stop: async () => {
      cancelSweep();
      // While the guards still let this replica write.
      await deps.journal.flush(RELEASE_MS);
      await leases.stop();
      await admitting.stop();
      await candidacy.stop();
      await Promise.all([clusters, permits, records, peers, epoch].map((part) => part.stop()));
      unwatch();
    },
  };
}

function createParts(deps: ReplicaDeps, options: SharedOptions): Parts {
  const { candidacy, counter, loop, own, staged, judgement } = deps;
  const names = own.all().map(({ source }) => source.name);
  const { version, engine, advertise: address } = options;
  const peers = createPeers(
    {
      ...deps,
      heartbeat: () => ({ version, engine, address, sources: names, admitted: counter.current() }),
      changed: (moved) => peersChanged(deps, parts, moved),
    },
    candidacy.id,
  );
  const leases = createClusterLeases(
    {
      ...{ ...deps, peers },
      changed: (cluster) => leaseChanged(deps, parts, cluster),
      release: (cluster) => release(deps, parts, cluster),
      disown: deps.ledger.disown,
    },
    candidacy.id,
  );
  const clusters = createReplicatedClusters({
    ...deps,
    isOwn: leases.owns,
    isConnected: (cluster) => peers.isAlive(leases.others().get(cluster)?.replica ?? ''),
  });
  const followed = createFollowedTrees(deps.store, staged);
  const publisher = createPublisher(
    {
      ...{ ...deps, followed },
      leads: () => candidacy.turn() !== undefined,
      allHaveSpoken: () => deps.sources.allHaveSpoken(),
      knownElsewhere: (name) => peers.alive().some((peer) => peer.sources.includes(name)),
    },
    options,
  );
  const judges = (): boolean => parts.admitting.judges();
  const permits = createRemovalPermits({ ...deps, judges, isOwn: leases.serves, mayLeave: judgement.mayLeave });
  const records = createReplicatedRecords({ ...deps, leads: judges, inputs: replicatedInputs(deps) });
  const admitting = createAdmitting(
    {
      ...{ ...deps, followed, publisher, permits },
      noteOthers: () => {
        const alive = peers.alive();
        for (const { admitted } of alive) counter.stated(admitted);
        for (const { stated } of leases.others().values()) counter.stated(stated);
        deps.outcomes.lose(counter.provenLoss());
        for (const { admitted } of alive) counter.seen(admitted);
      },
      entered: () => {
        for (const cluster of deps.sessions.keys()) permits.wake(cluster);
        acceptElsewhere(deps);
      },
    },
    options,
  );
  const epoch = createEpochRecorder(deps, (begun) => {
    counter.seen({ epoch: begun, sequence: 0 });
    admitting.wake();
  });
  const admissionReceipt = createAdmissionReceipts({ ...deps, publisher, leads: () => candidacy.turn() !== undefined });
  const parts: Parts = { admitting, publisher, leases, peers, clusters, permits, records, epoch, admissionReceipt };
  loop.addSink('admission', () => {
    const group = publisher.group();
    if (group !== undefined && judges()) permits.write(group);
  });
  return parts;
}

/** See `release` of the cluster leases. */
async function release(
  { history, journal, ledger }: ReplicaDeps,
  { leases }: Parts,
  cluster: string,
): Promise<boolean> {
  const isNoted = await history.settled(cluster).then(
    () => true,
    () => false,
  );
  await journal.flush(RELEASE_MS);
  // Its agent may have reconnected meanwhile.
  if (leases.serves(cluster)) return true;
  // What waits would be lost, and the lease cannot be released now.
  if ((!isNoted || journal.failure() !== undefined) && leases.owns(cluster)) return false;
  ledger.disown(cluster);
  return true;
}

/** The heartbeats were read; `moved`: the replicas that have fallen silent or become alive. */
function peersChanged({ loop }: SharedDeps, parts: Parts, moved: ReadonlySet<string>): void {
  parts.admitting.wake();
  parts.epoch.wake();
  // An agent counts as connected while its replica lives; a lease may be read before the first heartbeat.
  for (const [cluster, { replica }] of parts.leases.others()) if (moved.has(replica)) parts.clusters.wake(cluster);
  if (moved.size > 0) loop.transact(() => undefined);
}

/** This replica or another one has obtained or lost the lease of the cluster. */
function leaseChanged({ ledger, loop }: SharedDeps, parts: Parts, cluster: string): void {
  if (parts.leases.holds(cluster)) {
    ledger.resume(cluster);
    parts.permits.wake(cluster);
  } else parts.clusters.wake(cluster);
  parts.admitting.wake();
  loop.transact(() => undefined);
}

/** Accepts at this replica the revisions that a person has accepted at another one. */
function acceptElsewhere({ sources, staged }: ReplicaDeps): void {
  for (const { source, condition } of sources.all()) {
    const admitted = staged.publishedSource(source.name)?.revision?.revision;
    if (admitted !== undefined && condition.refusedRevision === admitted) source.accept(admitted);
  }
}

/** The record has changed in the store. */
function wakeFor({ admitting, clusters, leases, peers, permits, records }: Parts, key: string): void {
  const [prefix, cluster = ''] = key.split('/');
  if (prefix === ADMISSION_KEY || prefix === 'trees') admitting.wake();
  else if (prefix === 'cluster-leases') leases.wake(cluster);
  else if (prefix === 'probes') peers.wakeProbe(cluster);
  else if (prefix === 'removal-permits') permits.wake(cluster);
  else if (replicatedCluster(key) !== undefined) clusters.wake(cluster);
  else records.wake(key);
}

/** An agent is connected: this replica writes its cluster from now on, and requests the lease. */
function connect(
  deps: ReplicaDeps,
  { admitting, leases, clusters }: Parts,
  session: AgentSession,
  holding: ReportedHolding,
): void {
  const { cluster } = session.hello;
  const stated = provenAdmission(holding);
  deps.counter.stated(stated);
  // A follower may not have read yet what its leader has admitted.
  if (admitting.judges()) deps.outcomes.lose(deps.counter.provenLoss());
  // First: it ends the writing of an earlier session whose lease was lost.
  leases.connected(session, stated);
  deps.ledger.own(cluster, clusters.readings(cluster), leases.guard(cluster));
  clusters.forget(cluster);
}

function viewOf(
  { candidacy, counter, staged }: ReplicaDeps,
  options: SharedOptions,
  { admitting, peers }: Parts,
  isDown: boolean,
): ReplicaView {
  const leader = candidacy.leader();
  const address = leader === candidacy.id ? options.advertise : peers.get(leader ?? '')?.address;
  return {
    id: candidacy.id,
    leads: admitting.judges(),
    leader: leader === undefined ? null : { id: leader, address: address || null },
    admitted: counter.current(),
    alive: peers.alive().length + 1,
    problem: problemOf(staged, options, leader, isDown),
  };
}

function problemOf(
  staged: StagedSources,
  { engine, needsStore }: SharedOptions,
  leader: string | undefined,
  isDown: boolean,
): string {
  const admitted = staged.published();
  if (admitted !== undefined && admitted.engine !== engine) return otherGeneration(admitted.engine, engine);
  if (isDown && needsStore) return 'the store does not answer: what was admitted is sent, and nothing new is admitted';
  return leader === undefined ? 'no replica leads just now: nothing new is admitted' : '';
}

function otherGeneration(leaders: number, ours: number): string {
  return `OtherGeneration: what is admitted is computed by replicas of another version (engine ${leaders}, this one is ${ours}); it sends nothing until the leader is of its own`;
}
