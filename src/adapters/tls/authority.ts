// The certificate library is large and needs `reflect-metadata` before it: this file is only imported when a certificate
// has to be made.
import 'reflect-metadata';
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { CertificateOrder } from '../../ports/certificate-authority.ts';
import { type AuthorityFiles, BACKDATE_MS, CA_MS } from './authorities.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SERVER_MS = 365 * DAY_MS;
/** `serialNumber` among the names of a subject. */
const SUBJECT_SERIAL_NUMBER = '2.5.4.5';
const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** What a server certificate is to say. `now` in milliseconds since 1970. */
export interface IssueRequest {
  readonly names: readonly string[];
  readonly ips: readonly string[];
  readonly now: number;
}

/** A new authority (P-256, 365 days), or a certificate for the key of one. */
export async function createAuthority(now: number, caKey?: Uint8Array): Promise<AuthorityFiles> {
  const keys = caKey === undefined ? await generateKeys() : await importKeys(caKey);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=fleetrelay relay CA',
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + CA_MS),
    signingAlgorithm: caKey === undefined ? P256 : algorithmOf(createPrivateKey(Buffer.from(caKey))),
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { ca: pem(certificate), caKey: caKey ?? (await exportKey(keys.privateKey)) };
}

/** A server certificate with a key of its own (P-256, 365 days), signed by the authority. */
export async function issueServerCertificate(
  authority: AuthorityFiles,
  request: IssueRequest,
): Promise<{ readonly certificate: Uint8Array; readonly key: Uint8Array }> {
  const keys = await generateKeys();
  const certificate = await sign(authority, {
    subject: 'CN=fleetrelay management server',
    validFrom: request.now - BACKDATE_MS,
    validUntil: request.now + SERVER_MS,
    publicKey: await PublicKey.create(keys.publicKey),
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([
        ...request.names.map((value) => ({ type: 'dns' as const, value })),
        ...request.ips.map((value) => ({ type: 'ip' as const, value })),
      ]),
    ],
  });
  return { certificate: pem(certificate), key: await exportKey(keys.privateKey) };
}

/** A client certificate for the key of the order, signed by the authority; it ends no later than the authority. */
export async function issueClientCertificate(
  authority: AuthorityFiles,
  order: CertificateOrder,
  validUntil: number,
): Promise<{ readonly certificate: Uint8Array; readonly expiresAt: number }> {
  const certificate = await sign(authority, {
    subject: [
      { CN: [order.commonName] },
      ...(order.registration === undefined ? [] : [{ [SUBJECT_SERIAL_NUMBER]: [String(order.registration)] }]),
    ],
    validFrom: order.validFrom,
    validUntil,
    publicKey: new PublicKey(Buffer.from(order.publicKey)),
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension([
        { type: 'dns', value: order.dnsName },
        { type: 'url', value: order.uri },
      ]),
    ],
  });
  return { certificate: pem(certificate), expiresAt: certificate.notAfter.getTime() };
}

/** Signs what is no authority itself. */
async function sign(
  authority: AuthorityFiles,
  leaf: {
    readonly subject: string | JsonName;
    readonly validFrom: number;
    readonly validUntil: number;
    readonly publicKey: PublicKey;
    readonly extensions: readonly Extension[];
  },
): Promise<X509Certificate> {
  const ca = new X509Certificate(Buffer.from(authority.ca).toString('utf8'));
  const caKey = createPrivateKey(Buffer.from(authority.caKey));
  const caKeys = await importKeys(authority.caKey);
  return X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: leaf.subject,
    issuer: ca.subject,
    notBefore: new Date(leaf.validFrom),
    notAfter: new Date(Math.min(leaf.validUntil, ca.notAfter.getTime())),
    signingAlgorithm: algorithmOf(caKey),
    signingKey: caKeys.privateKey,
    publicKey: leaf.publicKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      ...leaf.extensions,
      await SubjectKeyIdentifierExtension.create(leaf.publicKey),
      await AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  switch (asymmetricKeyDetails?.namedCurve) {
    case 'prime256v1':
      return P256;
    case 'secp384r1':
      return { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' };
    default:
      throw new Error('the key of the certificate authority is neither ECDSA on P-256 or P-384 nor RSA');
  }
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(P256, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

async function importKeys(key: Uint8Array): Promise<webcrypto.CryptoKeyPair> {
  const privateKey = createPrivateKey(Buffer.from(key));
  const algorithm = algorithmOf(privateKey);
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
}

async function exportKey(key: webcrypto.CryptoKey): Promise<Uint8Array> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  const text = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' });
  return Buffer.from(text);
}

function pem(certificate: X509Certificate): Uint8Array {
  return Buffer.from(`${certificate.toString('pem')}\n`);
}

/** Positive, as the standard demands, and not guessable. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}
