import { execFileSync } from 'node:child_process';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority, issueClientCertificate, readCertificateRequest } from '../../../src/adapters/tls/x509.ts';
import { must } from '../../../src/model/values/result.ts';
import {
  BACKDATE_MS,
  CLIENT_COMMON_NAME,
  identityUri,
  judgeCertificate,
  readCertificate,
} from '../../../src/relay/trust/certificates.ts';
import { judgeRequest } from '../../../src/relay/trust/registrar.ts';
import { noProgram, programPath } from '../../support/programs.ts';
import { clusterName, FLEET } from '../../support/relay-world.ts';
import { createTestAuthority, DAY_MS } from '../../support/test-authority.ts';

// What OpenSSL makes, as an agent that is none of ours might send it.

const EAST = clusterName('east');
const URI = identityUri({ fleet: FLEET, cluster: EAST, clusterId: 'east-id' });
const P256 = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'relay-requests-'));
});

afterAll(() => rmSync(dir, { recursive: true }));

/** A request (DER). */
function requestOf(...args: readonly string[]): Buffer {
  const out = join(dir, 'request.der');
  const subject = args.includes('-subj') ? [] : ['-subj', '/'];
  const key = args.includes('-newkey') || args.includes('-key') ? [] : P256;
  const files = ['-keyout', join(dir, 'request.key'), '-outform', 'DER', '-out', out];
  execFileSync(programPath('openssl'), ['req', '-new', '-nodes', ...key, ...subject, ...files, ...args], {
    stdio: 'pipe',
  });
  return readFileSync(out);
}

async function judge(der: Uint8Array): Promise<string | undefined> {
  const facts = await readCertificateRequest(der);
  return facts.ok ? judgeRequest(facts.value, { cluster: EAST, uri: URI })?.reason : 'MalformedRequest';
}

/** The key of an older sort, which `req` alone does not make. */
function keyFile(name: string, ...args: readonly string[]): string {
  const file = join(dir, name);
  execFileSync(programPath('openssl'), [...args, '-out', file], { stdio: 'pipe' });
  return file;
}

describe.skipIf(noProgram('openssl'))('a certificate request is taken', () => {
  test.each<[string, readonly string[]]>([
    ['without any name', []],
    ['on P-384', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384']],
    ['with RSA of 2048 bits', ['-newkey', 'rsa:2048']],
    [
      'with the names that the certificate will have',
      ['-subj', '/CN=fleetrelay-agent', '-addext', `subjectAltName=DNS:east,URI:${URI}`],
    ],
    ['with the cluster as its common name', ['-subj', '/CN=east']],
    [
      'that asks for no right to sign',
      ['-addext', 'basicConstraints=CA:FALSE', '-addext', 'keyUsage=digitalSignature'],
    ],
  ])('%s', async (_what, args) => {
    expect(await judge(requestOf(...args))).toBeUndefined();
  });
});

describe.skipIf(noProgram('openssl'))('a certificate request is refused', () => {
  test.each<[string, readonly string[], string]>([
    ['with another common name', ['-subj', '/CN=west'], 'OtherName'],
    ['with another name beside the right one', ['-addext', 'subjectAltName=DNS:east,DNS:west'], 'OtherName'],
    ['with the name of a server', ['-addext', 'subjectAltName=DNS:localhost'], 'OtherName'],
    ['with a wildcard', ['-addext', 'subjectAltName=DNS:*'], 'OtherName'],
    ['with another id', ['-addext', `subjectAltName=URI:${URI}2`], 'OtherName'],
    ['with an address', ['-addext', 'subjectAltName=IP:127.0.0.1'], 'OtherName'],
    ['with a mail address', ['-addext', 'subjectAltName=email:east@example.org'], 'OtherName'],
    ['with the role of a person', ['-subj', '/O=fleetrelay:operate/CN=east'], 'OtherName'],
    ['with two common names', ['-subj', '/CN=east/CN=west'], 'OtherName'],
    ['with the CA bit', ['-addext', 'basicConstraints=critical,CA:TRUE'], 'AuthorityAsked'],
    ['with the right to sign', ['-addext', 'keyUsage=keyCertSign'], 'AuthorityAsked'],
    ['with RSA of 1024 bits', ['-newkey', 'rsa:1024'], 'WeakKey'],
    ['with RSA of 2047 bits', ['-newkey', 'rsa:2047'], 'WeakKey'],
    ['on P-224', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-224'], 'WeakKey'],
    ['on another curve of 256 bits', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'], 'WeakKey'],
  ])('%s', async (_what, args, reason) => {
    expect(await judge(requestOf(...args))).toBe(reason);
  });

  test('with a wrong signature', async () => {
    const der = requestOf();
    const last = der.length - 1;
    der[last] = (der[last] ?? 0) ^ 1;
    expect(await judge(der)).toBe('BadSignature');
  });

  test('whose key was exchanged for another of the same length', async () => {
    const victim = requestOf();
    const other = must(await readCertificateRequest(requestOf())).publicKey;
    const own = Buffer.from(must(await readCertificateRequest(victim)).publicKey);
    const at = victim.indexOf(own);
    const forged = Buffer.concat([victim.subarray(0, at), other, victim.subarray(at + own.length)]);
    expect(must(await readCertificateRequest(forged)).publicKey).toEqual(other);
    expect(await judge(forged)).toBe('BadSignature');
  });

  test.each<[string, () => Uint8Array]>([
    ['nothing', () => new Uint8Array(0)],
    ['text', () => Buffer.from('-----BEGIN CERTIFICATE REQUEST-----')],
    ['half a request', () => requestOf().subarray(0, 100)],
    ['nesting without end', () => Buffer.alloc(8 * 1024, Buffer.from([0x30, 0x80]))],
    ['noise', () => Buffer.alloc(4096, 0xa5)],
    ['a key', () => readFileSync(keyFile('ed.der', 'genpkey', '-algorithm', 'ed25519', '-outform', 'DER'))],
  ])('that is %s', async (_what, make) => {
    expect(await judge(make())).toBe('MalformedRequest');
  });

  test('with an unsupported kind of key', async () => {
    const key = keyFile('ed.pem', 'genpkey', '-algorithm', 'ed25519');
    expect(await judge(requestOf('-key', key))).toBe('WeakKey');
  });
});

describe.skipIf(noProgram('openssl'))('a client certificate', () => {
  const now = Date.now();

  async function issue(publicKey: Uint8Array, lifeMs = 60_000, registration?: number) {
    const authority = await createAuthority({ validFrom: now - 60_000, validUntil: now + 365 * DAY_MS });
    const names = { commonName: CLIENT_COMMON_NAME, dnsName: EAST, uri: URI };
    const numbered = registration === undefined ? {} : { registration };
    const order = { publicKey, ...names, ...numbered, validFrom: now - BACKDATE_MS };
    return { authority, ...(await issueClientCertificate(authority, order, now + lifeMs)) };
  }

  test.each<[string, readonly string[]]>([
    ['P-256', []],
    ['RSA', ['-newkey', 'rsa:2048']],
  ])('for a key of %s names its cluster and no more; OpenSSL accepts it of a client only', async (_what, args) => {
    const facts = must(await readCertificateRequest(requestOf(...args)));
    const { authority, certificate, expiresAt } = await issue(facts.publicKey);
    const parsed = new X509Certificate(certificate);
    expect(parsed.subject).toBe('CN=fleetrelay-agent');
    expect(parsed.subjectAltName).toBe(`DNS:east, URI:${URI}`);
    expect(parsed.ca).toBe(false);
    expect(
      parsed.publicKey.equals(createPublicKey({ key: Buffer.from(facts.publicKey), format: 'der', type: 'spki' })),
    ).toBe(true);
    expect(expiresAt).toBe(Math.floor((now + 60_000) / 1000) * 1000);
    writeFileSync(join(dir, 'ca.pem'), authority.ca);
    writeFileSync(join(dir, 'client.pem'), certificate);
    const verify = (purpose: string): string =>
      execFileSync(
        programPath('openssl'),
        ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', join(dir, 'ca.pem'), join(dir, 'client.pem')],
        { encoding: 'utf8', stdio: 'pipe' },
      );
    expect(verify('sslclient')).toContain('OK');
    expect(() => verify('sslserver')).toThrow();
  });

  test('ends with its authority at the latest', async () => {
    const { publicKey } = must(await readCertificateRequest(requestOf()));
    const { expiresAt, authority } = await issue(publicKey, 1000 * 24 * 60 * 60 * 1000);
    expect(expiresAt).toBe(new X509Certificate(authority.ca).validToDate.getTime());
  });

  test('is read with its names and the second of its issue', async () => {
    const { publicKey } = must(await readCertificateRequest(requestOf()));
    const { certificate } = await issue(publicKey);
    const read = readCertificate(new X509Certificate(certificate).raw);
    expect(read).toMatchObject({
      names: ['east'],
      identities: [{ fleet: FLEET, cluster: 'east', clusterId: 'east-id' }],
      issuedAt: Math.floor(now / 1000) * 1000,
      serial: new X509Certificate(certificate).serialNumber.toLowerCase(),
    });
    expect(read).not.toHaveProperty('registration');
  });

  test.each([0, 7, 999_999_999])('contains registration %i in its subject', async (registration) => {
    const { publicKey } = must(await readCertificateRequest(requestOf()));
    const { certificate, authority } = await issue(publicKey, 60_000, registration);
    const parsed = new X509Certificate(certificate);
    expect(parsed.subject).toBe(`CN=fleetrelay-agent\nserialNumber=${registration}`);
    expect(parsed.subjectAltName).toBe(`DNS:east, URI:${URI}`);
    expect(parsed.verify(new X509Certificate(authority.ca).publicKey)).toBe(true);
    expect(readCertificate(parsed.raw)?.registration).toBe(registration);
  });
});

describe.skipIf(noProgram('openssl'))('a certificate speaks', () => {
  function read(...extensions: readonly string[]) {
    const out = join(dir, 'self.der');
    const args = extensions.flatMap((extension) => ['-addext', extension]);
    const files = ['-keyout', join(dir, 'self.key'), '-outform', 'DER', '-out', out];
    execFileSync(programPath('openssl'), ['req', '-x509', '-nodes', ...P256, '-subj', '/CN=east', ...args, ...files], {
      stdio: 'pipe',
    });
    const certificate = readCertificate(readFileSync(out));
    if (certificate === undefined) throw new Error('it cannot be read');
    return certificate;
  }
  const judged = (certificate: ReturnType<typeof read>, issuedHere: boolean) =>
    judgeCertificate(certificate, { fleet: FLEET, cluster: EAST, issuedHere })?.reason;

  test('by its DNS name, where others issue certificates', () => {
    expect(judged(read('subjectAltName=DNS:east'), false)).toBeUndefined();
    expect(judged(read('subjectAltName=DNS:EAST,URI:spiffe://example.org/ns/web'), false)).toBeUndefined();
    expect(judged(read('subjectAltName=DNS:other, DNS:east'), false)).toBeUndefined();
  });

  test('by nothing else', () => {
    expect(judged(read(), false)).toBe('CertificateMismatch');
    expect(judged(read('subjectAltName=DNS:west'), false)).toBe('CertificateMismatch');
    expect(judged(read('subjectAltName=email:east@east'), false)).toBe('CertificateMismatch');
  });

  test('by a name inside of another one in no way', async () => {
    const authority = await createTestAuthority(Date.now() - DAY_MS, Date.now() + DAY_MS);
    const times = { from: Date.now() - DAY_MS, to: Date.now() + DAY_MS };
    for (const uri of ['https://x/, DNS:east', 'https://x/", DNS:east, URI:"', `https://x/, URI:${URI}, DNS:east`]) {
      const pem = await authority.issue(requestOf(), { uri, ...times });
      const certificate = readCertificate(new X509Certificate(pem).raw);
      expect(certificate).toMatchObject({ names: [], identities: [] });
    }
  });

  test('for the cluster and the fleet in it, which must be in it where this server issues', () => {
    expect(judged(read(`subjectAltName=DNS:east,URI:${URI}`), true)).toBeUndefined();
    expect(judged(read('subjectAltName=DNS:east'), true)).toBe('CertificateMismatch');
    const others = [
      identityUri({ fleet: 'other', cluster: 'east', clusterId: 'east-id' }),
      identityUri({ fleet: FLEET, cluster: 'west', clusterId: 'east-id' }),
    ];
    for (const uri of others) {
      for (const issuedHere of [true, false]) {
        expect(judged(read(`subjectAltName=DNS:east,URI:${uri}`), issuedHere)).toBe('CertificateMismatch');
        expect(judged(read(`subjectAltName=DNS:east,URI:${URI},URI:${uri}`), issuedHere)).toBe('CertificateMismatch');
      }
    }
  });
});
