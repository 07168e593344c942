import type { ServerCore } from '../core.ts';
import type { Deadlines } from '../deadlines.ts';
import type { ServerBus } from '../events.ts';
import type { History } from '../history/history.ts';
import type { ClusterReadings } from '../ledger/cluster-state.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ApprovalOutcomes } from '../removals/approval-files.ts';
import type { Approvals } from '../removals/approvals.ts';
import type { Windows } from '../removals/windows.ts';
import type { Sessions } from '../sessions.ts';
import type { SourceTable } from '../source-table.ts';
import type { ObservedStatuses } from '../status/observed-statuses.ts';
import type { AdmissionCounter } from './admission.ts';
import { createAdmissionReceipts } from './admission-receipts.ts';
import { createAdmitting, type Judgement } from './admitting.ts';
import type { Candidacy } from './candidacy.ts';
import { createClusterLeases } from './cluster-leases.ts';
import { createEpochRecorder } from './epoch.ts';
import type { OwnTurn } from './own-turn.ts';
import { createPeers } from './peers.ts';
import { createPublisher } from './publisher.ts';
import { createRemovalPermits } from './removal-permits.ts';
import type { Replica } from './replica.ts';
import { createReplicatedClusters } from './replicated-clusters.ts';
import { createReplicatedRecords, replicatedInputs } from './replicated-records.ts';
import { createFollowedTrees, type OwnSources, type StagedSources } from './sources.ts';

export interface ReplicaDeps extends ServerCore {
  readonly events: ServerBus;
  readonly role: Pick<Replica, 'leads' | 'knowsAll'>;
  readonly ledger: Ledger;
  readonly deadlines: Deadlines;
  readonly observed: ObservedStatuses;
  readonly windows: Windows;
  readonly approvals: Approvals;
  readonly outcomes: ApprovalOutcomes;
  readonly counter: AdmissionCounter;
  readonly history: Pick<History, 'settled'>;
  readonly candidacy: Candidacy;
  readonly ownTurn: OwnTurn;
  /** A person has suspended the source: no new revision of it is admitted. */
  readonly isSuspended: (source: string) => boolean;
  readonly sources: SourceTable;
  readonly sessions: Sessions;
  readonly staged: StagedSources;
  readonly own: OwnSources;
  readonly judgement: Judgement;
  /** The maps of the clusters that were read and staged when this process started. */
  readonly readings: ReadonlyMap<string, ClusterReadings>;
}

export interface ReplicaOptions {
  readonly version: string;
  /** HOST:PORT or URL of this replica's HTTP, for the clients of the others. */
  readonly advertise: string;
  /** Generation of the engine. */
  readonly engine: number;
  /** The leader's lease is in the store: without the store nothing new is admitted. */
  readonly needsStore: boolean;
}

/** Time limit for making the last records of a cluster durable. */
export const RELEASE_MS = 1_000;

export type Parts = ReturnType<typeof createParts>;

/** The parts of one of several replicas: each is made of earlier ones, and tells later ones by events. */
export function createParts(deps: ReplicaDeps, options: ReplicaOptions) {
  const { candidacy, counter, history, journal, ledger, loop, own, role, sources, staged, judgement } = deps;
  const { version, engine, advertise: address } = options;
  const names = own.all().map(({ source }) => source.name);
  const heartbeat = () => ({ version, engine, address, sources: names, admitted: counter.current() });
  const peers = createPeers({ ...deps, heartbeat }, candidacy.id);
  const flush = async (cluster: string): Promise<boolean> => {
    const isNoted = await history.settled(cluster).then(
      () => true,
      () => false,
    );
    await journal.flush(RELEASE_MS);
    return isNoted && journal.failure() === undefined;
  };
  const leases = createClusterLeases({ ...deps, peers, flush, disown: ledger.disown }, candidacy.id);
  const isConnected = (cluster: string): boolean => peers.isAlive(leases.others().get(cluster)?.replica ?? '');
  const clusters = createReplicatedClusters({ ...deps, isOwn: leases.owns, isConnected });
  const followed = createFollowedTrees(deps.store, staged);
  const hasTurn = (): boolean => candidacy.turn() !== undefined;
  const knownElsewhere = (name: string): boolean => peers.alive().some((peer) => peer.sources.includes(name));
  const { allHaveSpoken } = sources;
  const publisher = createPublisher({ ...deps, followed, allHaveSpoken, knownElsewhere, leads: hasTurn }, options);
  const permits = createRemovalPermits({ ...deps, isOwn: leases.serves, mayLeave: judgement.mayLeave });
  const records = createReplicatedRecords({ ...deps, ...role, inputs: replicatedInputs(deps) });
  const noteOthers = (): void => {
    const alive = peers.alive();
    for (const { admitted } of alive) counter.stated(admitted);
    for (const { stated } of leases.others().values()) counter.stated(stated);
    deps.outcomes.lose(counter.provenLoss());
    for (const { admitted } of alive) counter.seen(admitted);
  };
  const admitting = createAdmitting({ ...deps, followed, publisher, permits, noteOthers }, options);
  const epoch = createEpochRecorder(deps);
  const admissionReceipt = createAdmissionReceipts({ ...deps, publisher, leads: hasTurn });
  loop.addSink('admission', () => {
    const group = publisher.group();
    if (group !== undefined && role.leads()) permits.write(group);
  });
  return { admitting, publisher, leases, peers, clusters, permits, records, epoch, admissionReceipt };
}
