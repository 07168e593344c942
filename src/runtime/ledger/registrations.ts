import type { Registration } from '../../model/ledger.ts';
import type { OutputPosition } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RecordWriter } from '../stored/write-group.ts';
import { type LedgerRecords, recordKey } from './records.ts';

/** Which cluster id each name belongs to, and what belongs to that. */
export interface Registrations {
  registration(cluster: string): Registration | undefined;
  registrations(): Iterable<Registration>;
  /** Null forgets the binding of the name to a cluster id. */
  setRegistration(cluster: string, registration: Registration | null): void;
  /** Takes the next position of a registered cluster; each is given out once. */
  nextPosition(cluster: string): OutputPosition;
  /** Client certificates of the cluster that were issued earlier (milliseconds since 1970) do not count any more. */
  certificatesNotBefore(cluster: string): number;
}

/** The registrations, and how they change at the word of the store or of the repository. */
export interface RegistrationTable extends Registrations {
  /** It is in the store like this. */
  remember(cluster: string, registration: Registration | undefined, revoked: number): void;
  /** Certificates that were issued until now are void. */
  revoke(cluster: string): void;
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
  const revoked = new Map([...records.revocations].map(([cluster, { notBefore }]) => [cluster, notBefore]));

  const setRegistration = (cluster: string, registration: Registration | null): void => {
    if (registration === null) known.delete(cluster);
    else known.set(cluster, registration);
    deps.writerOf(cluster).put(recordKey.registration(cluster), registration);
  };
  return {
    registration: (cluster) => known.get(cluster),
    registrations: () => known.values(),
    setRegistration,
    remember: (cluster, registration, notBefore) => {
      if (registration === undefined) known.delete(cluster);
      else known.set(cluster, registration);
      if (notBefore <= (revoked.get(cluster) ?? 0)) return;
      revoked.set(cluster, notBefore);
      fleet.noted(recordKey.revocation(cluster), { notBefore });
    },
    certificatesNotBefore: (cluster) => revoked.get(cluster) ?? 0,
    revoke: (cluster) => {
      const notBefore = clock.now();
      revoked.set(cluster, notBefore);
      fleet.put(recordKey.revocation(cluster), { notBefore });
    },
    nextPosition: (cluster) => {
      const registration = known.get(cluster);
      if (registration === undefined) throw new Error(`cluster ${cluster} is not registered`);
      const last = registration.position;
      // An agent may have seen a later epoch than this store's: then its own goes on, and no other cluster's is moved.
      const isLater = deps.epoch() > last.epoch;
      const position = isLater ? { epoch: deps.epoch(), sequence: 1 } : { ...last, sequence: last.sequence + 1 };
      setRegistration(cluster, { ...registration, position });
      return position;
    },
  };
}
