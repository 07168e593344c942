import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ensureRelaySecret, readRelaySecret, relaySecretIn } from '../../../src/adapters/tls/relay-secret.ts';
import { readServerCertificate } from '../../../src/adapters/tls/server-certificate.ts';
import { noProgram, programPath } from '../../support/programs.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';

const NOW = Date.UTC(2026, 5, 1);
const DAY_MS = 24 * 60 * 60 * 1000;
const NONE = { names: [], ips: [] };

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'relay-trust-'));
});

afterEach(() => rm(dir, { recursive: true }));

async function modes(folder: string): Promise<Record<string, string>> {
  const files = await readdir(folder);
  const entries = files.map(async (file) => [file, ((await stat(join(folder, file))).mode & 0o777).toString(8)]);
  return Object.fromEntries(await Promise.all(entries));
}

describe('the server certificate', () => {
  test('is made once, readable by its owner only, for a year and for the names that are dialled', async () => {
    const folder = join(dir, 'trust');
    const made = await ensureServerCertificate(folder, { names: ['relay.example'], ips: ['10.0.0.7'] }, NOW);
    expect(await modes(folder)).toEqual({ 'ca.crt': '600', 'ca.key': '600', 'tls.crt': '600', 'tls.key': '600' });
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const certificate = new X509Certificate(made.certificate);
    const ca = new X509Certificate(made.ca);
    expect(certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.checkIssued(ca)).toBe(true);
    expect([ca.ca, certificate.ca]).toEqual([true, false]);
    expect(made.expiresAt).toBe(NOW + 365 * DAY_MS);
    for (const name of ['localhost', 'relay.example']) expect(certificate.checkHost(name)).toBe(name);
    for (const ip of ['127.0.0.1', '::1', '10.0.0.7']) expect(certificate.checkIP(ip)).toBe(ip);
    expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
    const again = await ensureServerCertificate(folder, { names: ['relay.example'], ips: ['10.0.0.7'] }, NOW);
    expect(Buffer.from(again.certificate)).toEqual(Buffer.from(made.certificate));
  });

  test('that lacks a name that is wanted now is made anew by the same authority', async () => {
    const first = await ensureServerCertificate(dir, NONE, NOW);
    const second = await ensureServerCertificate(dir, { names: ['new.example'], ips: [] }, NOW + DAY_MS);
    expect(Buffer.from(second.ca)).toEqual(Buffer.from(first.ca));
    expect(new X509Certificate(second.certificate).verify(new X509Certificate(first.ca).publicKey)).toBe(true);
    expect(Buffer.from(second.key)).not.toEqual(Buffer.from(first.key));
  });

  test('is not made anew for the rest of the life of its authority, which it cannot outlive', async () => {
    const first = await ensureServerCertificate(dir, NONE, NOW);
    const second = await ensureServerCertificate(dir, NONE, NOW + 270 * DAY_MS);
    expect(Buffer.from(second.certificate)).toEqual(Buffer.from(first.certificate));
  });

  test.skipIf(noProgram('openssl'))('of an authority of ten years is renewed by the same authority', async () => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(dir, 'ca.key')];
    const subject = ['-subj', '/CN=fleetrelay relay CA', '-days', '3650', '-out', join(dir, 'ca.crt')];
    execFileSync(programPath('openssl'), ['req', '-x509', ...key, ...subject], { stdio: 'ignore' });
    const start = Date.now() + DAY_MS;
    const first = await ensureServerCertificate(dir, NONE, start);
    const second = await ensureServerCertificate(dir, NONE, start + 300 * DAY_MS);
    expect(second.expiresAt).toBe(Math.floor((start + 665 * DAY_MS) / 1000) * 1000);
    expect(Buffer.from(second.ca)).toEqual(Buffer.from(first.ca));
  });

  test.each(['tls.crt', 'tls.key'])('survives a crash before %s was written', async (file) => {
    const first = await ensureServerCertificate(dir, NONE, NOW);
    await rm(join(dir, file));
    const second = await ensureServerCertificate(dir, NONE, NOW);
    expect(Buffer.from(second.ca)).toEqual(Buffer.from(first.ca));
    await readServerCertificate(files(dir), NOW);
  });

  test('survives a crash between the authority and its key', async () => {
    await ensureServerCertificate(dir, NONE, NOW);
    await rm(join(dir, 'ca.crt'));
    const second = await ensureServerCertificate(dir, NONE, NOW);
    expect(new X509Certificate(second.certificate).verify(new X509Certificate(second.ca).publicKey)).toBe(true);
  });

  test('of an authority whose key is gone is not made anew: agents trust it', async () => {
    await ensureServerCertificate(dir, NONE, NOW);
    await rm(join(dir, 'ca.key'));
    await expect(ensureServerCertificate(dir, NONE, NOW)).rejects.toThrow(/ca\.key: restore the key/);
  });

  test('made by two processes at once has one authority', async () => {
    const both = await Promise.all([ensureServerCertificate(dir, NONE, NOW), ensureServerCertificate(dir, NONE, NOW)]);
    expect(Buffer.from(both[0].ca)).toEqual(Buffer.from(both[1].ca));
  });
});

function files(folder: string): { certFile: string; keyFile: string; caFile: string } {
  return { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key'), caFile: join(folder, 'ca.crt') };
}

describe('given certificates', () => {
  test('are read', async () => {
    const made = await ensureServerCertificate(dir, NONE, NOW);
    expect(await readServerCertificate(files(dir), NOW)).toMatchObject({ expiresAt: made.expiresAt });
  });

  test.each<[string, (folder: string) => Promise<unknown>, number, RegExp]>([
    ['a missing key', (folder) => rm(join(folder, 'tls.key')), NOW, /tls\.key is missing \(.*--tls-key-file.*or name/],
    ['no file', (folder) => rm(join(folder, 'tls.crt')), NOW, /tls\.crt is missing \(.*--tls-cert-file; bring/],
    ['a key of another', (folder) => copyFile(join(folder, 'ca.key'), join(folder, 'tls.key')), NOW, /not the key of/],
    ['no certificate', (folder) => writeFile(join(folder, 'tls.crt'), 'hello'), NOW, /tls\.crt holds no certificate/],
    ['no authority', (folder) => writeFile(join(folder, 'ca.crt'), ''), NOW, /ca\.crt holds no certificate/],
    ['an expired certificate', () => Promise.resolve(), NOW + 366 * DAY_MS, /tls\.crt has expired at 2027/],
    ['a certificate of the future', () => Promise.resolve(), NOW - 30 * DAY_MS, /tls\.crt is not valid before 2026/],
  ])('with %s are refused', async (_what, spoil, now, message) => {
    await ensureServerCertificate(dir, NONE, NOW);
    await spoil(dir);
    await expect(readServerCertificate(files(dir), now)).rejects.toThrow(message);
  });
});

describe('the relay secret', () => {
  test('is made once, readable by its owner only', async () => {
    const folder = join(dir, 'trust');
    const secret = await ensureRelaySecret(folder);
    expect(secret).toHaveLength(32);
    expect(await modes(folder)).toEqual({ 'relay-secret': '600' });
    expect(Buffer.from(await ensureRelaySecret(folder))).toEqual(Buffer.from(secret));
    expect(Buffer.from(await readRelaySecret(join(folder, 'relay-secret')))).toEqual(Buffer.from(secret));
  });

  test('made by two processes at once is one', async () => {
    const both = await Promise.all([ensureRelaySecret(dir), ensureRelaySecret(dir)]);
    expect(Buffer.from(both[0])).toEqual(Buffer.from(both[1]));
  });

  test.each(['', 'abc', 'z'.repeat(64)])(
    '%j is none, is not replaced, and is not repeated in the error',
    async (text) => {
      const path = join(dir, 'relay-secret');
      await writeFile(path, text);
      await expect(ensureRelaySecret(dir)).rejects.toThrow(/does not hold a relay secret/);
      expect(await readFile(path, 'utf8')).toBe(text);
    },
  );

  test('that is given and missing is an error', async () => {
    await expect(readRelaySecret(join(dir, 'nowhere'))).rejects.toThrow(/nowhere is missing/);
  });

  test('may be in the environment, and is not repeated where it is none', async () => {
    const text = 'ab'.repeat(32);
    expect(Buffer.from(relaySecretIn({ SECRET: ` ${text}\n` }, 'SECRET')).toString('hex')).toBe(text);
    for (const env of [{}, { SECRET: '' }]) expect(() => relaySecretIn(env, 'SECRET')).toThrow(/SECRET .* is not set/);
    const wrong = expect.objectContaining({
      message: expect.stringMatching(/^(?!.*sesame).*SECRET does not hold.*openssl rand/),
    });
    expect(() => relaySecretIn({ SECRET: 'sesame' }, 'SECRET')).toThrow(wrong);
  });
});
