import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { request } from 'node:https';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 60 * 60 * 1000;

/** A certificate and its key; PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

/** An authority for people and for servers on this machine. */
export interface PeopleAuthority {
  readonly ca: string;
  /** `subject` as in `CN=ann,O=fleetrelay:read`. */
  person(subject: string, options?: { readonly expired?: boolean }): Promise<Identity>;
  /** For 127.0.0.1. */
  server(): Promise<Identity>;
}

export async function createPeopleAuthority(): Promise<PeopleAuthority> {
  const keys = await newKeys();
  const now = Date.now();
  const root = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=people',
    notBefore: new Date(now - 2 * DAY_MS),
    notAfter: new Date(now + DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const issue = async (subject: string, usage: ExtendedKeyUsage, notAfter: number): Promise<Identity> => {
    const own = await newKeys();
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject,
      issuer: root.subject,
      notBefore: new Date(now - 2 * DAY_MS),
      notAfter: new Date(notAfter),
      signingAlgorithm: ALGORITHM,
      signingKey: keys.privateKey,
      publicKey: own.publicKey,
      extensions: [
        new ExtendedKeyUsageExtension([usage]),
        new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
      ],
    });
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey)).toString('base64');
    return {
      certificate: certificate.toString('pem'),
      key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
    };
  };
  return {
    ca: root.toString('pem'),
    person: (subject, { expired = false } = {}) =>
      issue(subject, ExtendedKeyUsage.clientAuth, expired ? now - DAY_MS : now + DAY_MS),
    server: () => issue('CN=server', ExtendedKeyUsage.serverAuth, now + DAY_MS),
  };
}

/** Asks over TLS; a body makes it a POST. */
export function askSecurely(
  url: string,
  tls: { readonly ca: string } & Partial<Identity>,
  { body, token }: { readonly body?: object; readonly token?: string } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const { ca, certificate, key } = tls;
  return new Promise((resolve, reject) => {
    const call = request(url, {
      ca,
      ...(certificate === undefined ? {} : { cert: certificate, key }),
      agent: false,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      },
    });
    call.once('error', reject);
    call.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

function serialNumber(): string {
  return `40${randomBytes(8).toString('hex')}`;
}
