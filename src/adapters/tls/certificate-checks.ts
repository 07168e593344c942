import { createPrivateKey, X509Certificate } from 'node:crypto';

/** Is this (PEM) the key of the certificate? */
export function fits(certificate: X509Certificate, key: Uint8Array): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(Buffer.from(key)));
  } catch {
    return false;
  }
}

/** Reads the first certificate of a PEM text; throws with a text that names its path. */
export function parseCertificate(pem: Uint8Array, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new Error(`${path} holds no certificate in PEM form`, { cause: error });
  }
}

/** When the first certificate of a PEM text ends: milliseconds since 1970. */
export function expiryOf(certificate: Uint8Array): number {
  return new X509Certificate(certificate).validToDate.getTime();
}
