import type { Registration } from '../../model/ledger.ts';
import { type OutputPosition, positionAfter } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { type LedgerRecords, recordKey } from './records.ts';
import { isLater, type Revocation } from './revocation.ts';

/** The registrations, their positions and their revocations. */
export interface Registrations {
  registration(cluster: string): Registration | undefined;
  registrations(): Iterable<Registration>;
  /** Null deletes the binding of the name to a cluster id. */
  setRegistration(cluster: string, registration: Registration | null): void;
  /** Assigns the next position of a registered cluster, each once. Throws if the cluster is not registered. */
  nextPosition(cluster: string): OutputPosition;
  /** The revocation of client certificates of the cluster; undefined if no registration of its name has ended. */
  revocation(cluster: string): Revocation | undefined;
  /**
   * A valid certificate was issued for the registration with this number. So this many registrations of the name have ended,
   * even if the store has lost them.
   */
  heardOfRegistration(cluster: string, number: number): void;
}

/** The registrations, with their changes by another replica or by the repository. */
export interface RegistrationTable extends Registrations {
  /** Takes over the records of another replica. */
  remember(cluster: string, registration: Registration | undefined, revocation: Revocation | undefined): void;
  /** Ends the registration of the name and revokes its certificates. */
  end(cluster: string): void;
}

export function createRegistrations(deps: {
  readonly records: Pick<LedgerRecords, 'registrations' | 'revocations'>;
  readonly epoch: () => number;
  readonly clock: Clock;
  readonly fleet: RecordWriter;
  /** The writer of the registration of a cluster. */
  readonly writerOf: (cluster: string) => RecordWriter;
}): RegistrationTable {
  const { records, clock, fleet } = deps;
  const known = new Map(records.registrations);
  const revocations = new Map(records.revocations);

  const setRegistration = (cluster: string, registration: Registration | null): void => {
    if (registration === null) known.delete(cluster);
    else known.set(cluster, registration);
    deps.writerOf(cluster).put(recordKey.registration(cluster), registration);
  };
  return {
    registration: (cluster) => known.get(cluster),
    registrations: () => known.values(),
    setRegistration,
    remember: (cluster, registration, revocation) => {
      if (registration === undefined) known.delete(cluster);
      else known.set(cluster, registration);
      if (revocation === undefined || !isLater(revocation, revocations.get(cluster))) return;
      revocations.set(cluster, revocation);
      fleet.noted(recordKey.revocation(cluster), { ...revocation });
    },
    revocation: (cluster) => revocations.get(cluster),
    heardOfRegistration: (cluster, number) => {
      const before = revocations.get(cluster);
      if (number <= (before?.ended ?? 0)) return;
      const revocation = { notBefore: 0, ...before, ended: number };
      revocations.set(cluster, revocation);
      fleet.put(recordKey.revocation(cluster), revocation);
      const registration = known.get(cluster);
      if (registration !== undefined) setRegistration(cluster, { ...registration, predecessors: number });
    },
    end: (cluster) => {
      const ended = revocations.get(cluster)?.ended ?? 0;
      // Every replica detects the end, and may have received it from another one already: it counts once.
      const predecessors = known.get(cluster)?.predecessors ?? ended;
      const revocation = { notBefore: clock.now(), ended: Math.max(ended, predecessors + 1) };
      setRegistration(cluster, null);
      revocations.set(cluster, revocation);
      fleet.put(recordKey.revocation(cluster), revocation);
    },
    nextPosition: (cluster) => {
      const registration = known.get(cluster);
      if (registration === undefined) throw new Error(`cluster ${cluster} is not registered`);
      const last = registration.position;
      // An agent may know a later epoch than this store's: then this cluster continues in that epoch, the others do not.
      const isLater = deps.epoch() > last.epoch;
      const position = isLater ? { epoch: deps.epoch(), sequence: 1 } : positionAfter(last);
      setRegistration(cluster, { ...registration, position });
      return position;
    },
  };
}
