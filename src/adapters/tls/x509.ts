// The certificate library is large and needs `reflect-metadata` before it. So this file is imported dynamically, when the
// first request or certificate is made or read.
import 'reflect-metadata';
import { createPrivateKey, createPublicKey, KeyObject, randomBytes, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { ok, problem, type Result } from '../../model/values/result.ts';
import type { CertificateOrder, CertificateRequestFacts } from '../../ports/certificate-authority.ts';
import type { CertificateRequest } from '../../ports/certificate-requests.ts';

/** `serialNumber` among the names of a subject. */
const SUBJECT_SERIAL_NUMBER = '2.5.4.5';
const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** PEM texts of an authority. */
export interface AuthorityFiles {
  readonly ca: Uint8Array;
  readonly caKey: Uint8Array;
}

/** Milliseconds since 1970. */
interface Validity {
  readonly validFrom: number;
  readonly validUntil: number;
}

/** A request that this key (PEM), or a new one (P-256), has signed. */
export async function makeRequest(key?: string): Promise<CertificateRequest> {
  const { keys, algorithm } =
    key === undefined ? { keys: await generateKeys(), algorithm: P256 } : importKeys(Buffer.from(key));
  const request = await Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm: algorithm });
  return { key: key ?? pemOfKey(keys.privateKey).toString(), request: new Uint8Array(request.rawData) };
}

/** Reads a certificate request (PKCS #10, DER). The problem: it is none. */
export async function readCertificateRequest(der: Uint8Array): Promise<Result<CertificateRequestFacts>> {
  try {
    const request = new Pkcs10CertificateRequest(Buffer.from(der));
    const { extensions, publicKey } = request;
    return ok({
      publicKey: new Uint8Array(publicKey.rawData),
      proven: await request.verify().catch(() => false),
      names: [...subjectNames(request), ...extensions.flatMap(alternativeNames)],
      authority: extensions.some(requestsSigning),
    });
  } catch {
    return problem('what was sent is no certificate request (PKCS #10, DER)');
  }
}

type Name = CertificateRequestFacts['names'][number];

function subjectNames(request: Pkcs10CertificateRequest): Name[] {
  const parts = request.subjectName.toJSON().flatMap((part) => Object.entries(part));
  return parts.flatMap(([type, values]) =>
    values.map((value): Name => ({ type: type === 'CN' ? 'CN' : 'other', value: String(value) })),
  );
}

function alternativeNames(extension: unknown): Name[] {
  if (!(extension instanceof SubjectAlternativeNameExtension)) return [];
  const types: Readonly<Record<string, Name['type']>> = { dns: 'DNS', url: 'URI' };
  return extension.names.items.map(({ type, value }): Name => ({ type: types[type] ?? 'other', value }));
}

function requestsSigning(extension: unknown): boolean {
  if (extension instanceof BasicConstraintsExtension) return extension.ca;
  return extension instanceof KeyUsagesExtension && (extension.usages & KeyUsageFlags.keyCertSign) !== 0;
}

/** A new authority (P-256); with `caKey` a certificate for that key. */
export async function createAuthority(
  { validFrom, validUntil }: Validity,
  caKey?: Uint8Array,
  commonName = 'fleetrelay relay CA',
): Promise<AuthorityFiles> {
  const { keys, algorithm } = caKey === undefined ? { keys: await generateKeys(), algorithm: P256 } : importKeys(caKey);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${commonName}`,
    notBefore: new Date(validFrom),
    notAfter: new Date(validUntil),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { ca: pem(certificate), caKey: caKey ?? pemOfKey(keys.privateKey) };
}

/** A server certificate with a new key (P-256), signed by the authority. It ends no later than the authority. */
export async function issueServerCertificate(
  authority: AuthorityFiles,
  {
    names,
    ips,
    commonName = 'fleetrelay management server',
    ...validity
  }: Validity & { readonly names: readonly string[]; readonly ips: readonly string[]; readonly commonName?: string },
): Promise<{ readonly certificate: Uint8Array; readonly key: Uint8Array }> {
  const keys = await generateKeys();
  const certificate = await sign(authority, {
    subject: `CN=${commonName}`,
    ...validity,
    publicKey: await PublicKey.create(keys.publicKey),
    usage: ExtendedKeyUsage.serverAuth,
    names: new SubjectAlternativeNameExtension([
      ...names.map((value) => ({ type: 'dns' as const, value })),
      ...ips.map((value) => ({ type: 'ip' as const, value })),
    ]),
  });
  return { certificate: pem(certificate), key: pemOfKey(keys.privateKey) };
}

/** A client certificate for the key of the order, signed by the authority. It ends no later than the authority. */
export async function issueClientCertificate(
  authority: AuthorityFiles,
  { commonName, registration, validFrom, publicKey, dnsName, uri }: CertificateOrder,
  validUntil: number,
): Promise<{ readonly certificate: Uint8Array; readonly expiresAt: number }> {
  const certificate = await sign(authority, {
    subject: [
      { CN: [commonName] },
      ...(registration === undefined ? [] : [{ [SUBJECT_SERIAL_NUMBER]: [String(registration)] }]),
    ],
    validFrom,
    validUntil,
    publicKey: new PublicKey(Buffer.from(publicKey)),
    usage: ExtendedKeyUsage.clientAuth,
    names: new SubjectAlternativeNameExtension([
      { type: 'dns', value: dnsName },
      { type: 'url', value: uri },
    ]),
  });
  return { certificate: pem(certificate), expiresAt: certificate.notAfter.getTime() };
}

/** A certificate that may sign no others. */
interface Leaf extends Validity {
  readonly subject: string | JsonName;
  readonly publicKey: PublicKey;
  readonly usage: ExtendedKeyUsage;
  readonly names: Extension;
}

async function sign(authority: AuthorityFiles, leaf: Leaf): Promise<X509Certificate> {
  const ca = new X509Certificate(Buffer.from(authority.ca).toString('utf8'));
  const { keys, algorithm } = importKeys(authority.caKey);
  return X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: leaf.subject,
    issuer: ca.subject,
    notBefore: new Date(leaf.validFrom),
    notAfter: new Date(Math.min(leaf.validUntil, ca.notAfter.getTime())),
    signingAlgorithm: algorithm,
    signingKey: keys.privateKey,
    publicKey: leaf.publicKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([leaf.usage]),
      leaf.names,
      await SubjectKeyIdentifierExtension.create(leaf.publicKey),
      await AuthorityKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(P256, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

/** Reads a private key (PEM). Throws for a kind of key that cannot sign certificates here. */
function importKeys(key: Uint8Array) {
  const privateKey = createPrivateKey(Buffer.from(key));
  const algorithm = algorithmOf(privateKey);
  const keys = {
    privateKey: privateKey.toCryptoKey(algorithm, false, ['sign']),
    publicKey: createPublicKey(privateKey).toCryptoKey(algorithm, true, ['verify']),
  };
  return { keys, algorithm };
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

function pemOfKey(key: webcrypto.CryptoKey): Buffer {
  return Buffer.from(KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }));
}

function pem(certificate: X509Certificate): Uint8Array {
  return Buffer.from(`${certificate.toString('pem')}\n`);
}

/** Positive, as X.509 demands, and not guessable. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}
