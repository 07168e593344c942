// The certificate library is large and needs `reflect-metadata` before it: this file is only imported when a certificate
// has to be made.
import 'reflect-metadata';
import { createPrivateKey, createPublicKey, randomBytes, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const DAY_MS = 24 * 60 * 60 * 1000;
const CA_DAYS = 3650;
const SERVER_DAYS = 365;
/** Clocks of agents may be a little behind. */
const BACKDATE_MS = 60 * 60 * 1000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** PEM texts of an authority. */
export interface AuthorityFiles {
  readonly ca: Uint8Array;
  readonly caKey: Uint8Array;
}

/** What a server certificate is to say. `now` in milliseconds since 1970. */
export interface IssueRequest {
  readonly names: readonly string[];
  readonly ips: readonly string[];
  readonly now: number;
}

/** A new authority (P-256, ten years), or a certificate for the key of one. */
export async function createAuthority(now: number, caKey?: Uint8Array): Promise<AuthorityFiles> {
  const keys = caKey === undefined ? await generateKeys() : await importKeys(caKey);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=fleetrelay relay CA',
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + CA_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
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
  const ca = new X509Certificate(Buffer.from(authority.ca).toString('utf8'));
  const caKeys = await importKeys(authority.caKey);
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=fleetrelay management server',
    issuer: ca.subject,
    notBefore: new Date(request.now - BACKDATE_MS),
    notAfter: new Date(Math.min(request.now + SERVER_DAYS * DAY_MS, ca.notAfter.getTime())),
    signingAlgorithm: ALGORITHM,
    signingKey: caKeys.privateKey,
    publicKey: keys.publicKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([
        ...request.names.map((value) => ({ type: 'dns' as const, value })),
        ...request.ips.map((value) => ({ type: 'ip' as const, value })),
      ]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  return { certificate: pem(certificate), key: await exportKey(keys.privateKey) };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

async function importKeys(key: Uint8Array): Promise<webcrypto.CryptoKeyPair> {
  const privateKey = createPrivateKey(Buffer.from(key));
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, ALGORITHM, true, ['verify']),
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
