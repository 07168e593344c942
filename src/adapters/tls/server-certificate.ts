import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { CertificateSource } from '../../model/fleet/relay-config.ts';
import { isIssuer, leadsTo } from '../../relay/trust/certificates.ts';
import { readIfThere, writePrivate } from './files.ts';
import { type Authorities, BACKDATE_MS, pemBlocks, rootsText, signingAuthority } from './own-authority.ts';

/** The server's certificate, its key, and the roots that agents trust. PEM texts. */
export interface ServerCertificate {
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
  readonly ca: Uint8Array;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** When the last root expires, if the roots are managed outside. */
  readonly rootsExpireAt?: number;
}

/** Paths of certificates that are managed outside (PEM). */
type CertificateFiles = Omit<Extract<CertificateSource, { readonly type: 'files' }>, 'type'>;

const DAY_MS = 24 * 60 * 60 * 1000;
/** Life of a certificate in milliseconds. */
const LIFE_MS = 365 * DAY_MS;
/** A certificate with less than a third of its life left is renewed. */
const RENEW_BEFORE_MS = 122 * DAY_MS;

/**
 * The server's certificate in `dir` (`tls.crt`, `tls.key`), signed by the current authority. A new one is made if there is none, or if
 * it has expired or is about to expire, has another authority, or lacks one of the names.
 *
 * @param wanted further names and addresses that agents may dial
 */
export async function ensureSigned(
  dir: string,
  authorities: Authorities,
  wanted: readonly string[],
  now: number,
): Promise<ServerCertificate> {
  const authority = signingAuthority(authorities, now);
  if (authority === undefined) throw new Error(`there is no certificate authority in ${dir} that can sign`);
  const hosts = [...new Set(['localhost', hostname().toLowerCase(), '127.0.0.1', '::1', ...wanted])];
  const names = hosts.filter((host) => isIP(host) === 0);
  const ips = hosts.filter((host) => isIP(host) !== 0);
  const ca = Buffer.from(rootsText(authorities));
  const paths = { certificate: join(dir, 'tls.crt'), key: join(dir, 'tls.key') };
  const [certificate, key] = await Promise.all([readIfThere(paths.certificate), readIfThere(paths.key)]);
  if (certificate !== undefined && key !== undefined) {
    const parsed = parseCertificate(certificate, 'tls.crt');
    const end = parsed.validToDate.getTime();
    // No certificate outlives its authority: then a new one would gain nothing.
    const lastsAsLongAsItCan = end - now > RENEW_BEFORE_MS || end > authority.expiresAt - DAY_MS;
    const isGood =
      fits(parsed, key) &&
      parsed.verify(new X509Certificate(authority.certificate).publicKey) &&
      parsed.validFromDate.getTime() <= now &&
      end > now &&
      lastsAsLongAsItCan &&
      names.every((name) => parsed.checkHost(name) !== undefined) &&
      ips.every((ip) => parsed.checkIP(ip) !== undefined);
    if (isGood) return { certificate, key, ca, expiresAt: end };
  }
  const { issueServerCertificate } = await import('./x509.ts');
  const validity = { validFrom: now - BACKDATE_MS, validUntil: now + LIFE_MS };
  const fresh = await issueServerCertificate(authority, { names, ips, ...validity });
  // The key first: a crash between the two leaves a pair that does not fit, which the next start replaces.
  writePrivate(paths.key, fresh.key);
  writePrivate(paths.certificate, fresh.certificate);
  return { ...fresh, ca, expiresAt: expiryOf(fresh.certificate) };
}

/** The setting that names the files of the server's certificate, and the remedy without them. */
const SETTING = 'relay.tls.certificate';
const REMEDY = 'bring certificate and key, or name neither, and the server makes its own';

/**
 * Reads certificates that are managed outside. Throws with a text for people if a file is missing, the key does not fit, the
 * certificate is not valid at `now` (milliseconds since 1970), or the authority does not verify it.
 */
export async function readServerCertificate(files: CertificateFiles, now: number): Promise<ServerCertificate> {
  const { certFile, keyFile, caFile } = files;
  const [certificate, key, { roots: ca, expiresAt: rootsExpireAt }] = await Promise.all([
    readNeeded(certFile, `${SETTING}.certFile, --tls-cert-file; ${REMEDY}`),
    readNeeded(keyFile, `${SETTING}.keyFile, --tls-key-file; ${REMEDY}`),
    readRoots(caFile, `${SETTING}.caFile; ${REMEDY}`),
  ]);
  const expiresAt = checkPair(certificate, key, files, now).validToDate.getTime();
  const roots = certificatesIn(ca);
  const isVerified = (signed: X509Certificate): boolean =>
    roots.some((root) => root.fingerprint256 === signed.fingerprint256 || isIssuer(root, signed));
  if (!leadsTo(certificatesIn(certificate), isVerified)) {
    throw new Error(
      `${certFile} is not signed by a certificate of ${caFile}: agents that trust the one refuse the other`,
    );
  }
  return { certificate, key, ca, expiresAt, rootsExpireAt };
}

/** Reads an authority and its key. Throws with a text for people if the files are not that. */
export async function readSigningPair(
  files: Pick<CertificateFiles, 'certFile' | 'keyFile'>,
  now: number,
): Promise<{ readonly certificate: Uint8Array; readonly key: Uint8Array; readonly expiresAt: number }> {
  const { certFile, keyFile } = files;
  const [certificate, key] = await Promise.all([readNeeded(certFile), readNeeded(keyFile)]);
  const parsed = checkPair(certificate, key, files, now);
  if (!parsed.ca) {
    throw new Error(`${certFile} is not the certificate of an authority: it may sign nothing (CA:FALSE)`);
  }
  return { certificate, key, expiresAt: parsed.validToDate.getTime() };
}

/** Reads the certificates of authorities, and when the last of them expires. `hint`: appended to the error without a file. */
export async function readRoots(
  path: string,
  hint?: string,
): Promise<{ readonly roots: Uint8Array; readonly expiresAt: number }> {
  const roots = await readNeeded(path, hint);
  const all = certificatesIn(roots);
  if (all.length === 0) throw new Error(`${path} holds no certificate in PEM form`);
  return { roots, expiresAt: Math.max(...all.map(({ validToDate }) => validToDate.getTime())) };
}

/** Throws with a text for people if none of the authorities is a root: the platform would verify no certificate by them. */
export function checkRooted(authorities: Uint8Array, path: string): void {
  if (certificatesIn(authorities).some((certificate) => isIssuer(certificate, certificate))) return;
  throw new Error(`${path} holds no root: add the certificates that the authority in it leads to, up to the last one`);
}

async function readNeeded(path: string, hint = ''): Promise<Uint8Array> {
  const bytes = await readIfThere(path);
  if (bytes === undefined) throw new Error(`${path} is missing${hint === '' ? '' : ` (${hint})`}`);
  return bytes;
}

/** Parses the certificate, and throws unless the key fits and it is valid at `now`. */
function checkPair(
  certificate: Uint8Array,
  key: Uint8Array,
  { certFile, keyFile }: Pick<CertificateFiles, 'certFile' | 'keyFile'>,
  now: number,
): X509Certificate {
  const parsed = parseCertificate(certificate, certFile);
  const { validFromDate, validToDate } = parsed;
  if (!fits(parsed, key)) throw new Error(`${keyFile} is not the key of ${certFile}`);
  if (validToDate.getTime() <= now) throw new Error(`${certFile} has expired at ${validToDate.toISOString()}`);
  if (validFromDate.getTime() > now) throw new Error(`${certFile} is not valid before ${validFromDate.toISOString()}`);
  return parsed;
}

/** Parses the first certificate of a PEM text. */
function parseCertificate(pem: Uint8Array, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error(`${path} holds no certificate in PEM form`, { cause });
  }
}

function fits(certificate: X509Certificate, key: Uint8Array): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(Buffer.from(key)));
  } catch {
    return false;
  }
}

function expiryOf(certificate: Uint8Array): number {
  return new X509Certificate(certificate).validToDate.getTime();
}

function certificatesIn(pem: Uint8Array): X509Certificate[] {
  return pemBlocks(Buffer.from(pem).toString('utf8'), 'CERTIFICATE').map((block) => new X509Certificate(block));
}
