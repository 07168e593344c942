import { X509Certificate } from 'node:crypto';
import type { ClusterId, ClusterName, FleetName } from '../../model/ids.ts';
import type { StreamEnd } from '../../ports/transport.ts';
import type { AgentCertificate } from '../session.ts';
import { type AgentIdentity, identityOf } from './identity-uri.ts';

/** The subject of every client certificate that a server issues: a name for people, which decides nothing. */
export const CLIENT_COMMON_NAME = 'fleetrelay-agent';

/**
 * Certificates that a relay server issues are valid from so long before they are issued: the clock of another replica may
 * be behind.
 */
export const BACKDATE_MS = 5 * 60 * 1000;

/** A client certificate that the transport has found right: signed by a root of clients, and of this time. */
export interface PeerCertificate extends AgentCertificate {
  /** Its DNS names. */
  readonly names: readonly string[];
  /** For whom a relay server has issued it; empty: another authority has. More than one is nothing that we make. */
  readonly identities: readonly AgentIdentity[];
}

/** Reads a certificate (DER); undefined if it is none. */
export function readPeerCertificate(der: Uint8Array): PeerCertificate | undefined {
  try {
    const certificate = new X509Certificate(der);
    const names = alternativeNames(certificate.subjectAltName ?? '');
    const identities = names.flatMap(({ type, value }) => (type === 'URI' ? (identityOf(value) ?? []) : []));
    const validFrom = certificate.validFromDate.getTime();
    return {
      names: names.flatMap(({ type, value }) => (type === 'DNS' ? [value.toLowerCase()] : [])),
      identities,
      issuedAt: identities.length === 0 ? validFrom : validFrom + BACKDATE_MS,
      expiresAt: certificate.validToDate.getTime(),
      serial: certificate.serialNumber.toLowerCase(),
      ...(identities.length === 0 ? {} : registrationOf(certificate.subject)),
    };
  } catch {
    return undefined;
  }
}

/** As Node writes a subject: a name a line. Another authority may mean something else by it. */
function registrationOf(subject: string): { readonly registration?: number } {
  const [, digits] = /^serialNumber=(\d{1,15})$/m.exec(subject) ?? [];
  return digits === undefined ? {} : { registration: Number(digits) };
}

/**
 * The alternative names as Node writes them: `DNS:a, URI:"b\u0020c"`; a value that could be taken for more than one is a
 * JSON text.
 */
function alternativeNames(text: string): { readonly type: string; readonly value: string }[] {
  const names: { type: string; value: string }[] = [];
  for (const [, type = '', value = ''] of text.matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy)) {
    names.push({ type, value: value.startsWith('"') ? String(JSON.parse(value)) : value });
  }
  return names;
}

/**
 * Why this certificate does not speak for the cluster; undefined if it does. `issuedHere`: only certificates that a relay
 * server has issued count, which say the fleet and the cluster id; else the name among the DNS names is enough.
 */
export function judgeCertificate(
  { names, identities }: PeerCertificate,
  {
    fleet,
    cluster,
    issuedHere,
  }: { readonly fleet: FleetName; readonly cluster: ClusterName; readonly issuedHere: boolean },
): StreamEnd | undefined {
  const [identity, ...more] = identities;
  if (identity === undefined && issuedHere)
    return mismatch('the certificate that was shown does not say for whom it is');
  if (more.length > 0) return mismatch('the certificate that was shown is for more than one cluster');
  if (identity !== undefined && identity.fleet !== fleet) {
    return mismatch('the certificate that was shown is of another fleet');
  }
  if (!names.includes(cluster) || (identity !== undefined && identity.cluster !== cluster)) {
    return mismatch('the certificate that was shown is not that of the cluster that it was sent with');
  }
  return undefined;
}

/** Is the certificate for another cluster id than this one? One that says none is for any. */
export function isForOtherId({ identities }: PeerCertificate, clusterId: ClusterId): boolean {
  return identities.some((identity) => identity.clusterId !== clusterId);
}

/** The end of somebody whose certificate is not what it is shown for. */
export function mismatch(message: string): StreamEnd {
  return { code: 'unauthenticated', reason: 'CertificateMismatch', message };
}
