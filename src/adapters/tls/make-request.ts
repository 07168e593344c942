// @peculiar/x509 must be loaded after `reflect-metadata`, and costs a tenth of a second: this file is only imported when a
// request has to be made.
import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import type { CertificateRequest } from '../../ports/certificate-requests.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A new key (P-256) and a request that it has signed. */
export async function makeRequest(): Promise<CertificateRequest> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm: ALGORITHM });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' });
  return { key: key.toString(), request: new Uint8Array(request.rawData) };
}
