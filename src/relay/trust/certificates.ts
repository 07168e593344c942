import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ClusterId, ClusterName, FleetName } from '../../model/fleet/ids.ts';
import { errorText } from '../../model/text/messages.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';
import type { StreamEnd } from '../../ports/transport.ts';
import type { AgentCertificate } from '../session.ts';

/** The subject of every client certificate that a relay server issues: a name for people, without effect. */
export const CLIENT_COMMON_NAME = 'fleetrelay-agent';

/** A relay server dates its client certificates back by this time, because the clock of another replica may be slow. */
export const BACKDATE_MS = 5 * 60 * 1000;

/** The agent for which a relay server has issued a certificate. */
interface AgentIdentity {
  readonly fleet: string;
  readonly cluster: string;
  readonly clusterId: string;
}

const IDENTITY = /^spiffe:\/\/([^/]+)\/cluster\/([^/]+)\/id\/([^/]+)$/;

/** The alternative name of a client certificate that identifies its agent. */
export function identityUri({ fleet, cluster, clusterId }: AgentIdentity): string {
  return `spiffe://${fleet}/cluster/${encodeURIComponent(cluster)}/id/${encodeURIComponent(clusterId)}`;
}

function identityOf(uri: string): AgentIdentity | undefined {
  try {
    const [, ...parts] = IDENTITY.exec(uri) ?? [];
    const [fleet, cluster, clusterId] = parts.map(decodeURIComponent);
    return fleet && cluster && clusterId ? { fleet, cluster, clusterId } : undefined;
  } catch {
    return undefined;
  }
}

/** The content of a client certificate; its signature and its times are checked elsewhere. */
export interface ClientCertificate extends AgentCertificate {
  /** Milliseconds since 1970. */
  readonly validFrom: number;
  /** DNS names. */
  readonly names: readonly string[];
  /** Empty: another authority has issued it. A relay server writes exactly one. */
  readonly identities: readonly AgentIdentity[];
}

/** Reads a certificate (DER or PEM); undefined if it is none. */
export function readCertificate(bytes: Uint8Array | string): ClientCertificate | undefined {
  try {
    return contentOf(new X509Certificate(bytes));
  } catch {
    return undefined;
  }
}

/** Reads a client certificate and checks that the key belongs to it (PEM). The problem names no part of the key. */
export function readPair({
  key,
  certificate,
}: {
  readonly key: string;
  readonly certificate: string;
}): Result<ClientCertificate> {
  const read = readCertificate(certificate);
  if (read === undefined) return problem('the client certificate is no certificate in PEM form');
  try {
    const isOwn = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    return isOwn ? ok(read) : problem('the key does not belong to the client certificate');
  } catch (error) {
    return problem(`the key of the client certificate cannot be read (${errorText(error)})`);
  }
}

function contentOf(certificate: X509Certificate): ClientCertificate {
  const names = alternativeNames(certificate.subjectAltName ?? '');
  const identities = names.flatMap(({ type, value }) => (type === 'URI' ? (identityOf(value) ?? []) : []));
  const isIssuedByRelay = identities.length > 0;
  const validFrom = certificate.validFromDate.getTime();
  // Node writes one name of the subject per line. In a certificate of another authority it has another meaning.
  const [, registration] = /^serialNumber=(\d{1,15})$/m.exec(certificate.subject) ?? [];
  return {
    names: names.flatMap(({ type, value }) => (type === 'DNS' ? [value.toLowerCase()] : [])),
    identities,
    validFrom,
    issuedAt: isIssuedByRelay ? validFrom + BACKDATE_MS : validFrom,
    expiresAt: certificate.validToDate.getTime(),
    serial: certificate.serialNumber.toLowerCase(),
    ...(isIssuedByRelay && registration !== undefined ? { registration: Number(registration) } : {}),
  };
}

/** Parses alternative names as Node writes them: `DNS:a, URI:"b\u0020c"`; an ambiguous value is a JSON text. */
function alternativeNames(text: string): { readonly type: string; readonly value: string }[] {
  return [...text.matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy)].map(([, type = '', value = '']) => ({
    type,
    value: value.startsWith('"') ? String(JSON.parse(value)) : value,
  }));
}

/**
 * Why a certificate does not authenticate the cluster; undefined if it does.
 *
 * @param issuedHere true: only certificates of a relay server are accepted, which contain fleet and cluster id; false: the
 *   name of the cluster among the DNS names is enough
 */
export function judgeCertificate(
  { names, identities }: ClientCertificate,
  {
    fleet,
    cluster,
    issuedHere,
  }: { readonly fleet: FleetName; readonly cluster: ClusterName; readonly issuedHere: boolean },
): StreamEnd | undefined {
  const [identity, ...more] = identities;
  if (identity === undefined && issuedHere) {
    return mismatch('the certificate that was shown does not say for whom it is');
  }
  if (more.length > 0) return mismatch('the certificate that was shown is for more than one cluster');
  if (identity !== undefined && identity.fleet !== fleet) {
    return mismatch('the certificate that was shown is of another fleet');
  }
  if (!names.includes(cluster) || (identity !== undefined && identity.cluster !== cluster)) {
    return mismatch('the certificate does not belong to this cluster name');
  }
  return undefined;
}

/** Whether a certificate names another cluster id. A certificate without an id is for any. */
export function isForOtherId({ identities }: ClientCertificate, clusterId: ClusterId): boolean {
  return identities.some((identity) => identity.clusterId !== clusterId);
}

/** The end of a stream whose certificate is not for the agent that shows it. */
export function mismatch(message: string): StreamEnd {
  return unauthenticated('CertificateMismatch', message);
}

/** The end of a stream whose caller is not authenticated. */
export function unauthenticated(reason: string, message: string): StreamEnd {
  return { code: 'unauthenticated', reason, message };
}

/** Longer chains are not followed. */
const LONGEST_CHAIN = 10;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/**
 * Whether these roots (PEM) alone verify a chain (DER, the leaf first) at `now`, by the rule of TLS: only a self-signed
 * certificate is a root.
 */
export function verifiesChain(chain: readonly Uint8Array[], roots: string, now: number): boolean {
  const isValid = ({ validFromDate, validToDate }: X509Certificate): boolean =>
    validFromDate.getTime() <= now && now < validToDate.getTime();
  try {
    const anchors = (roots.match(CERTIFICATE) ?? [])
      .map((text) => new X509Certificate(text))
      .filter((root) => root.ca && isIssuer(root, root) && isValid(root));
    const certificates = chain.slice(0, LONGEST_CHAIN).map((der) => new X509Certificate(der));
    return leadsTo(certificates, (signed) => anchors.some((anchor) => isIssuer(anchor, signed)), isValid);
  } catch {
    return false;
  }
}

/**
 * Follows a chain from its leaf, the first certificate, to the issuer of each. True at the first certificate that
 * `isVerified`; false at the end of the chain, or at a certificate that is not usable.
 */
export function leadsTo(
  chain: readonly X509Certificate[],
  isVerified: (certificate: X509Certificate) => boolean,
  isUsable: (certificate: X509Certificate) => boolean = () => true,
): boolean {
  let [last, ...left] = chain.slice(0, LONGEST_CHAIN);
  while (last !== undefined && isUsable(last)) {
    if (isVerified(last)) return true;
    const signed: X509Certificate = last;
    last = left.find((candidate) => candidate.ca && isIssuer(candidate, signed));
    left = left.filter((candidate) => candidate !== last);
  }
  return false;
}

/** Whether `issuer` has signed the other certificate. */
export function isIssuer(issuer: X509Certificate, signed: X509Certificate): boolean {
  return signed.checkIssued(issuer) && signed.verify(issuer.publicKey);
}
