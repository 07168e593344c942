import type { AgentCertificate } from '../../relay/session.ts';

/** That registrations of a cluster's name are over, and their client certificates with them. */
export interface Revocation {
  /**
   * How many registrations of the name are over. A certificate says how many were when it was issued, so whose clock says
   * what is of no importance.
   */
  readonly ended: number;
  /** When the last one ended (milliseconds since 1970, by the clock of the replica that has noted it). */
  readonly notBefore: number;
}

/** Does the one tell of a later end than the other? */
export function isLater(one: Revocation, other: Revocation | undefined): boolean {
  if (other === undefined) return true;
  return one.ended === other.ended ? one.notBefore > other.notBefore : one.ended > other.ended;
}

/**
 * Was the certificate issued for a registration that is over? One that says nothing of registrations (another
 * authority has issued it), or of more of them than are known here (the store has lost some), is judged by its time.
 */
export function isVoid(certificate: AgentCertificate, revocation: Revocation | undefined): boolean {
  if (revocation === undefined) return false;
  const { registration } = certificate;
  const { ended, notBefore } = revocation;
  if (registration === undefined || registration > ended) return certificate.issuedAt < notBefore;
  return registration < ended;
}
