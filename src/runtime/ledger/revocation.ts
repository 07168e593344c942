import type { AgentCertificate } from '../../relay/session.ts';

/** The end of registrations of a cluster's name, and of their client certificates. */
export interface Revocation {
  /**
   * Number of ended registrations of the name. A certificate contains this number as of its issue, so the comparison needs no
   * clock.
   */
  readonly ended: number;
  /** When the last one ended, in milliseconds since 1970 by the clock of the replica that recorded it. */
  readonly notBefore: number;
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
