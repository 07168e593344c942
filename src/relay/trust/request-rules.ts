import { createPublicKey, type KeyObject } from 'node:crypto';
import { quote } from '../../model/ids.ts';
import type { CertificateRequestFacts } from '../../ports/certificate-authority.ts';
import type { StreamEnd } from '../../ports/transport.ts';
import { CLIENT_COMMON_NAME } from './peer-certificate.ts';

const CURVES: readonly string[] = ['prime256v1', 'secp384r1'];
const LEAST_RSA_BITS = 2048;
/** Larger ones cost the server more than they are worth. */
const MOST_RSA_BITS = 8192;

/**
 * Why no certificate is made of a request; undefined: nothing speaks against it. The names that the certificate will have
 * are the server's choice; a request that asks for others is refused all the same, so that nobody gets less than it thinks.
 */
export function judgeRequest(
  { proven, publicKey, names, authority }: CertificateRequestFacts,
  allowed: { readonly cluster: string; readonly uri: string },
): StreamEnd | undefined {
  // First, since the platform cannot check the signatures of every odd key.
  const weakness = weaknessOf(publicKey);
  if (weakness !== undefined) return refusal('WeakKey', weakness);
  if (!proven) return refusal('BadSignature', 'the certificate request is not signed by the key that it is for');
  if (authority) return refusal('AuthorityAsked', 'the certificate request asks for the right to sign certificates');
  const other = names.find(({ type, value }) => !isAllowed(type, value, allowed));
  if (other !== undefined) {
    const message = `the certificate request asks for the name ${other.type} ${quote(other.value)}, which is not the cluster's`;
    return refusal('OtherName', message);
  }
  return undefined;
}

function isAllowed(
  type: CertificateRequestFacts['names'][number]['type'],
  value: string,
  { cluster, uri }: { readonly cluster: string; readonly uri: string },
): boolean {
  switch (type) {
    case 'CN':
      return value === CLIENT_COMMON_NAME || value === cluster;
    case 'DNS':
      return value === cluster;
    case 'URI':
      return value === uri;
    case 'other':
      return false;
    default:
      return type satisfies never;
  }
}

function weaknessOf(publicKey: Uint8Array): string | undefined {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
  } catch {
    return 'the key of the certificate request cannot be read';
  }
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'ec':
      return CURVES.includes(namedCurve) ? undefined : `a key on the curve ${quote(namedCurve)}: use P-256 or P-384`;
    case 'rsa':
      if (modulusLength < LEAST_RSA_BITS)
        return `an RSA key of ${modulusLength} bits, at least ${LEAST_RSA_BITS} are needed`;
      return modulusLength > MOST_RSA_BITS
        ? `an RSA key of ${modulusLength} bits, at most ${MOST_RSA_BITS} are taken`
        : undefined;
    default:
      return `a key of the kind ${quote(String(key.asymmetricKeyType))}: use ECDSA on P-256 or P-384, or RSA`;
  }
}

function refusal(reason: string, message: string): StreamEnd {
  return { code: 'invalid', reason, message };
}
