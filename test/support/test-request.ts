import 'reflect-metadata';
import { createPrivateKey, createPublicKey, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A certificate request (DER) for a key that is there already (PEM, P-256). */
export async function createTestRequest(key: string): Promise<Uint8Array> {
  const privateKey = createPrivateKey(key);
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const keys = {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, ALGORITHM, true, ['verify']),
  };
  const request = await Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm: ALGORITHM });
  return new Uint8Array(request.rawData);
}
