import { createPrivateKey, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { IssueRequest } from './authority.ts';
import { createPrivate, ensurePrivateFolder, readIfThere, writePrivate } from './files.ts';

/** PEM texts: what the server shows, its key, and the root that agents trust. */
export interface ServerCertificate {
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
  readonly ca: Uint8Array;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** More names and addresses that agents may dial. */
export interface CertificateNames {
  readonly names: readonly string[];
  readonly ips: readonly string[];
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** With less than a third of its life left, a certificate is renewed at the next start. */
const RENEW_BEFORE_MS = 122 * DAY_MS;

/**
 * The server's certificate in `DIR` (`ca.crt`, `ca.key`, `tls.crt`, `tls.key`). Made on first use by an own authority;
 * renewed by the same authority when it is expired or nearly so, or lacks one of the names; agents notice nothing.
 * `now` is in milliseconds since 1970. Throws with a clear text if files are there that do not fit together.
 */
export async function ensureServerCertificate(
  dir: string,
  wanted: CertificateNames,
  now: number,
): Promise<ServerCertificate> {
  await ensurePrivateFolder(dir);
  const names = [...new Set(['localhost', hostname().toLowerCase(), ...wanted.names])];
  const ips = [...new Set(['127.0.0.1', '::1', ...wanted.ips])];
  const authority = await ensureAuthority(dir, now);
  const paths = { certificate: join(dir, 'tls.crt'), key: join(dir, 'tls.key') };
  const [certificate, key] = await Promise.all([readIfThere(paths.certificate), readIfThere(paths.key)]);
  if (certificate !== undefined && key !== undefined && isGood(certificate, key, authority.ca, { names, ips }, now)) {
    return { certificate, key, ca: authority.ca, expiresAt: expiryOf(certificate) };
  }
  const { issueServerCertificate } = await import('./authority.ts');
  const request: IssueRequest = { names, ips, now };
  const fresh = await issueServerCertificate(authority, request);
  // The key first: a crash between the two leaves a pair that does not fit, which is made anew at the next start.
  await writePrivate(paths.key, fresh.key);
  await writePrivate(paths.certificate, fresh.certificate);
  return { ...fresh, ca: authority.ca, expiresAt: expiryOf(fresh.certificate) };
}

interface Authority {
  readonly ca: Uint8Array;
  readonly caKey: Uint8Array;
}

async function ensureAuthority(dir: string, now: number): Promise<Authority> {
  const paths = { ca: join(dir, 'ca.crt'), key: join(dir, 'ca.key') };
  const [ca, caKey] = await Promise.all([readIfThere(paths.ca), readIfThere(paths.key)]);
  if (ca !== undefined && caKey !== undefined) {
    checkPair(ca, caKey, paths.ca, paths.key);
    checkValid(ca, paths.ca, now);
    return { ca, caKey };
  }
  if (ca !== undefined) {
    throw new Error(`${paths.ca} is there without ${paths.key}: restore the key, or give certificates of your own`);
  }
  const { createAuthority } = await import('./authority.ts');
  const fresh = caKey === undefined ? await createAuthority(now) : await createAuthority(now, caKey);
  // A key without its certificate is what a crash right here leaves behind; the next start goes on with that key.
  if (caKey === undefined && !(await createPrivate(paths.key, fresh.caKey))) return ensureAuthority(dir, now);
  if (!(await createPrivate(paths.ca, fresh.ca))) return ensureAuthority(dir, now);
  return fresh;
}

function isGood(
  certificate: Uint8Array,
  key: Uint8Array,
  ca: Uint8Array,
  wanted: CertificateNames,
  now: number,
): boolean {
  const parsed = parseCertificate(certificate, 'tls.crt');
  return (
    fits(parsed, key) &&
    parsed.verify(parseCertificate(ca, 'ca.crt').publicKey) &&
    parsed.validFromDate.getTime() <= now &&
    parsed.validToDate.getTime() - now > RENEW_BEFORE_MS &&
    wanted.names.every((name) => parsed.checkHost(name) !== undefined) &&
    wanted.ips.every((ip) => parsed.checkIP(ip) !== undefined)
  );
}

/** Where certificates that somebody else manages are (PEM). */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/**
 * Reads certificates that somebody else manages. Throws with a clear text if a file is missing, the key does not fit, or
 * the certificate is not valid at `now` (milliseconds since 1970).
 */
export async function readServerCertificate(files: CertificateFiles, now: number): Promise<ServerCertificate> {
  const { certFile, keyFile, caFile } = files;
  const [certificate, key, ca] = await Promise.all([readNeeded(certFile), readNeeded(keyFile), readNeeded(caFile)]);
  checkPair(certificate, key, certFile, keyFile);
  checkValid(certificate, certFile, now);
  parseCertificate(ca, caFile);
  return { certificate, key, ca, expiresAt: expiryOf(certificate) };
}

async function readNeeded(path: string): Promise<Uint8Array> {
  const bytes = await readIfThere(path);
  if (bytes === undefined) throw new Error(`${path} is missing`);
  return bytes;
}

function checkPair(certificate: Uint8Array, key: Uint8Array, path: string, keyPath: string): void {
  if (!fits(parseCertificate(certificate, path), key)) throw new Error(`${keyPath} is not the key of ${path}`);
}

function checkValid(certificate: Uint8Array, path: string, now: number): void {
  const { validFromDate, validToDate } = parseCertificate(certificate, path);
  if (validToDate.getTime() <= now) throw new Error(`${path} has expired at ${validToDate.toISOString()}`);
  if (validFromDate.getTime() > now) throw new Error(`${path} is not valid before ${validFromDate.toISOString()}`);
}

function fits(certificate: X509Certificate, key: Uint8Array): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(Buffer.from(key)));
  } catch {
    return false;
  }
}

function parseCertificate(pem: Uint8Array, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new Error(`${path} holds no certificate in PEM form`, { cause: error });
  }
}

function expiryOf(certificate: Uint8Array): number {
  return new X509Certificate(certificate).validToDate.getTime();
}
