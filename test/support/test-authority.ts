import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  Pkcs10CertificateRequest,
  type PublicKeyType,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
export const DAY_MS = 24 * 60 * 60 * 1000;

/** What a certificate says; times in milliseconds since 1970. */
export interface TestCertificate {
  readonly names?: readonly string[];
  readonly ips?: readonly string[];
  readonly uri?: string;
  readonly from: number;
  readonly to: number;
}

/** An authority of a test, which signs every requested certificate. */
export interface TestAuthority {
  /** PEM. */
  readonly root: string;
  /** For the key of a request (DER); PEM. */
  issue(request: Uint8Array, certificate: TestCertificate): Promise<string>;
  /** A server's certificate for this machine, with its key (PEM). */
  serverPair(from: number, to: number): Promise<{ readonly certificate: string; readonly key: string }>;
  /** A server's certificate alone (DER). */
  server(from: number, to: number): Promise<Uint8Array>;
  /** An authority below this one, and its certificate (PEM). */
  below(from: number, to: number): Promise<TestAuthority>;
}

/** A root of its own. */
export async function createTestAuthority(from: number, to: number): Promise<TestAuthority> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // A name of its own: without key identifiers the platform tells issuers apart by nothing else.
    name: `CN=test root ${serialNumber()}`,
    notBefore: new Date(from),
    notAfter: new Date(to),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return authorityOf(certificate, keys.privateKey);
}

function authorityOf(certificate: X509Certificate, signingKey: webcrypto.CryptoKey): TestAuthority {
  const sign = (publicKey: PublicKeyType, subject: string, said: TestCertificate, ca: boolean) =>
    X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject,
      issuer: certificate.subject,
      notBefore: new Date(said.from),
      notAfter: new Date(said.to),
      signingAlgorithm: ALGORITHM,
      signingKey,
      publicKey,
      extensions: [
        new BasicConstraintsExtension(ca, undefined, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth]),
        ...alternativeNames(said),
      ],
    });
  return {
    root: pem(certificate),
    async issue(request, said) {
      const { publicKey } = new Pkcs10CertificateRequest(new Uint8Array(request));
      return pem(await sign(publicKey, 'CN=fleetrelay-agent', said, false));
    },
    async server(from, to) {
      const { publicKey } = await newKeys();
      const signed = await sign(publicKey, 'CN=server', { names: ['localhost'], from, to }, false);
      return new Uint8Array(signed.rawData);
    },
    async serverPair(from, to) {
      const { publicKey, privateKey } = await newKeys();
      const said = { names: ['localhost'], ips: ['127.0.0.1'], from, to };
      const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', privateKey));
      const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' });
      return { certificate: pem(await sign(publicKey, 'CN=server', said, false)), key: key.toString() };
    },
    async below(from, to) {
      const keys = await newKeys();
      return authorityOf(
        await sign(keys.publicKey, `CN=test intermediate ${serialNumber()}`, { from, to }, true),
        keys.privateKey,
      );
    },
  };
}

function alternativeNames({ names = [], ips = [], uri }: TestCertificate): SubjectAlternativeNameExtension[] {
  const all: JsonGeneralName[] = [
    ...names.map((value) => ({ type: 'dns' as const, value })),
    ...ips.map((value) => ({ type: 'ip' as const, value })),
  ];
  if (uri !== undefined) all.push({ type: 'url', value: uri });
  return all.length === 0 ? [] : [new SubjectAlternativeNameExtension(all)];
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

function serialNumber(): string {
  return `40${randomBytes(8).toString('hex')}`;
}
