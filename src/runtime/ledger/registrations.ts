import type { Registration } from '../../model/fleet/ledger.ts';
import { type OutputPosition, positionAfter } from '../../model/fleet/output.ts';
import type { Receipt } from '../../model/fleet/receipt.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AgentCertificate } from '../../relay/session.ts';
import type { ReceiptingWriter, RecordWriter } from '../stored/group.ts';
import { type LedgerRecords, type Revocation, recordKey } from './records.ts';

/** The registrations, their positions and their revocations. */
export function createRegistrations(deps: {
  readonly records: Pick<LedgerRecords, 'registrations' | 'revocations'>;
  readonly epoch: () => number;
  readonly clock: Clock;
  readonly fleet: RecordWriter;
  /** The writer of the registration of a cluster. */
  readonly writerOf: (cluster: string) => ReceiptingWriter;
}) {
  const { records, clock, fleet } = deps;
  const known = new Map(records.registrations);
  const revocations = new Map(records.revocations);

  const setRegistration = (cluster: string, registration: Registration | null): void => {
    remember(cluster, registration);
    deps.writerOf(cluster).put(recordKey.registration(cluster), registration);
  };
  const remember = (cluster: string, registration: Registration | null): void => {
    if (registration === null) known.delete(cluster);
    else known.set(cluster, registration);
  };
  const revoke = (cluster: string, revocation: Revocation): void => {
    revocations.set(cluster, revocation);
    fleet.put(recordKey.revocation(cluster), revocation);
  };
  return {
    registration: (cluster: string) => known.get(cluster),
    registrations: () => known.values(),
    /** Null deletes the binding of the name to a cluster id. */
    setRegistration,
    /** Of the registration as it was set last. */
    registrationReceipt: (cluster: string): Receipt =>
      deps.writerOf(cluster).receipt([recordKey.registration(cluster)]),
    /** Takes over the records of another replica. */
    remember: (cluster: string, registration: Registration | undefined, revocation: Revocation | undefined) => {
      remember(cluster, registration ?? null);
      if (revocation === undefined || !isLater(revocation, revocations.get(cluster))) return;
      revocations.set(cluster, revocation);
      fleet.noted(recordKey.revocation(cluster), revocation);
    },
    /** The revocation of client certificates of the cluster; undefined if no registration of its name has ended. */
    revocation: (cluster: string) => revocations.get(cluster),
    /**
     * A valid certificate was issued for the registration with this number. So this many registrations of the name have ended,
     * even if the store has lost them.
     */
    noteEndedRegistrations: (cluster: string, number: number): void => {
      const before = revocations.get(cluster);
      if (number <= (before?.ended ?? 0)) return;
      revoke(cluster, { notBefore: 0, ...before, ended: number });
      const registration = known.get(cluster);
      if (registration !== undefined) setRegistration(cluster, { ...registration, predecessors: number });
    },
    /** Ends the registration of the name and revokes its certificates. */
    end: (cluster: string): void => {
      const ended = revocations.get(cluster)?.ended ?? 0;
      // Every replica detects the end, and may have received it from another one already: it counts once.
      const predecessors = known.get(cluster)?.predecessors ?? ended;
      setRegistration(cluster, null);
      revoke(cluster, { notBefore: clock.now(), ended: Math.max(ended, predecessors + 1) });
    },
    /** Assigns the next position of a registered cluster, each once. Throws if the cluster is not registered. */
    nextPosition: (cluster: string): OutputPosition => {
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

/** True if `one` is the later revocation. */
export function isLater(one: Revocation, other: Revocation | undefined): boolean {
  if (other === undefined) return true;
  return one.ended === other.ended ? one.notBefore > other.notBefore : one.ended > other.ended;
}

/**
 * True if the certificate was issued for a registration that has ended. The time of issue decides for a certificate without a
 * number (from another authority) or with a higher number than is known (the store has lost registrations).
 */
export function isVoid(certificate: AgentCertificate, revocation: Revocation | undefined): boolean {
  if (revocation === undefined) return false;
  const { registration } = certificate;
  const { ended, notBefore } = revocation;
  if (registration === undefined || registration > ended) return certificate.issuedAt < notBefore;
  return registration < ended;
}
