import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorText } from '../../model/messages.ts';
import { ok, problem, type Result } from '../../model/result.ts';
import type { CertificateFacts, CertificateRequests } from '../../ports/certificate-requests.ts';

/** Keys and requests by the platform's own cryptography. What makes a request is loaded when the first one is made. */
export function createCertificateRequests(): CertificateRequests {
  return {
    async create() {
      const { makeRequest } = await import('./make-request.ts');
      return makeRequest();
    },
    inspect,
    verifies,
  };
}

function inspect({
  key,
  certificate,
}: {
  readonly key: string;
  readonly certificate: string;
}): Result<CertificateFacts> {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(certificate);
  } catch {
    return problem('the client certificate is no certificate in PEM form');
  }
  try {
    if (!parsed.checkPrivateKey(createPrivateKey(key))) return problem('the key is not that of the client certificate');
  } catch (error) {
    // What OpenSSL says of a key names no part of it.
    return problem(`the key of the client certificate cannot be read (${errorText(error)})`);
  }
  const names = alternativeNames(parsed);
  const ofType = (wanted: string): string[] => names.flatMap(({ type, value }) => (type === wanted ? [value] : []));
  return ok({
    notBefore: parsed.validFromDate.getTime(),
    notAfter: parsed.validToDate.getTime(),
    names: ofType('DNS'),
    uris: ofType('URI'),
  });
}

/** A name that would need quoting is none of ours. */
function alternativeNames({
  subjectAltName = '',
}: X509Certificate): { readonly type: string; readonly value: string }[] {
  return subjectAltName.split(', ').map((entry) => {
    const colon = entry.indexOf(':');
    return { type: entry.slice(0, colon), value: entry.slice(colon + 1) };
  });
}

/** A chain that is longer is not followed. */
const LONGEST_CHAIN = 10;

function verifies(chain: readonly Uint8Array[], roots: string, now: number): boolean {
  try {
    // As the platform does at a handshake: only what has signed itself ends a chain.
    const anchors = certificatesOf(roots).filter((root) => root.ca && isIssuer(root, root) && isValid(root, now));
    const [leaf, ...rest] = chain.slice(0, LONGEST_CHAIN).map((der) => new X509Certificate(der));
    let last = leaf;
    const left = new Set(rest);
    while (last !== undefined && isValid(last, now)) {
      const signed = last;
      if (anchors.some((anchor) => isIssuer(anchor, signed))) return true;
      last = [...left].find((candidate) => candidate.ca && isIssuer(candidate, signed));
      if (last !== undefined) left.delete(last);
    }
    return false;
  } catch {
    return false;
  }
}

function isIssuer(issuer: X509Certificate, signed: X509Certificate): boolean {
  return signed.checkIssued(issuer) && signed.verify(issuer.publicKey);
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now < validToDate.getTime();
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

function certificatesOf(pem: string): X509Certificate[] {
  return (pem.match(CERTIFICATE) ?? []).map((text) => new X509Certificate(text));
}
