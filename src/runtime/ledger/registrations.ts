import type { Registration } from '../../model/ledger.ts';
import { type OutputPosition, positionAfter } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { type LedgerRecords, recordKey } from './records.ts';
import { isLater, type Revocation } from './revocation.ts';

/** Which cluster id each name belongs to, and what belongs to that. */
export interface Registrations {
  registration(cluster: string): Registration | undefined;
  registrations(): Iterable<Registration>;
  /** Null forgets the binding of the name to a cluster id. */
  setRegistration(cluster: string, registration: Registration | null): void;
  /** Takes the next position of a registered cluster; each is given out once. */
  nextPosition(cluster: string): OutputPosition;
  /** Which client certificates of the cluster do not count any more; undefined: no registration of its name is over. */
  revocation(cluster: string): Revocation | undefined;
  /**
   * A certificate that counts was issued for the registration of this number: so many of the name are over, also if the
   * store has lost that.
   */
  heardOfRegistration(cluster: string, number: number): void;
}

/** The registrations, and how they change at the word of the store or of the repository. */
export interface RegistrationTable extends Registrations {
  /** It is in the store like this. */
  remember(cluster: string, registration: Registration | undefined, revocation: Revocation | undefined): void;
  /** The registration of the name is over, and the certificates that were issued for it are void. */
  end(cluster: string): void;
}

export function createRegistrations(deps: {
  readonly records: Pick<LedgerRecords, 'registrations' | 'revocations'>;
  readonly epoch: () => number;
  readonly clock: Clock;
  readonly fleet: RecordWriter;
  /** Who writes the registration of a cluster. */
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
      // Every replica sees the end for itself, and may have heard of it before: it is counted once.
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
      // An agent may have seen a later epoch than this store's: then its own goes on, and no other cluster's is moved.
      const isLater = deps.epoch() > last.epoch;
      const position = isLater ? { epoch: deps.epoch(), sequence: 1 } : positionAfter(last);
      setRegistration(cluster, { ...registration, position });
      return position;
    },
  };
}
