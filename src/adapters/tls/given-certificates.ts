import { X509Certificate } from 'node:crypto';
import { pemBlocks } from './authorities.ts';
import { expiryOf, fits, parseCertificate } from './certificate-checks.ts';
import { readIfThere } from './files.ts';
import type { ServerCertificate } from './server-certificate.ts';

/** Where certificates that somebody else manages are (PEM). */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/**
 * Reads certificates that somebody else manages. Throws with a clear text if a file is missing, the key does not fit, the
 * certificate is not valid at `now` (milliseconds since 1970), or who trusts the authority would not believe it.
 */
export async function readServerCertificate(files: CertificateFiles, now: number): Promise<ServerCertificate> {
  const { certFile, keyFile, caFile } = files;
  const [certificate, key, { roots: ca, expiresAt: rootsExpireAt }] = await Promise.all([
    readNeeded(certFile, `${SETTING}.certFile, --tls-cert-file; ${REMEDY}`),
    readNeeded(keyFile, `${SETTING}.keyFile, --tls-key-file; ${REMEDY}`),
    readRoots(caFile, `${SETTING}.caFile; ${REMEDY}`),
  ]);
  checkPair(certificate, key, certFile, keyFile);
  checkValid(certificate, certFile, now);
  if (!leadsTo(certificate, ca)) {
    throw new Error(
      `${certFile} is not signed by a certificate of ${caFile}: agents that trust the one refuse the other`,
    );
  }
  return { certificate, key, ca, expiresAt: expiryOf(certificate), rootsExpireAt };
}

/** Where the files of the server's certificate are named, and what to do without them. */
const SETTING = 'relay.tls.certificate';
const REMEDY = 'bring certificate and key, or name neither, and the server makes its own';

/** `said`: where the file was named, and what may be done; empty: the path says enough. */
async function readNeeded(path: string, said = ''): Promise<Uint8Array> {
  const bytes = await readIfThere(path);
  if (bytes === undefined) throw new Error(`${path} is missing${said === '' ? '' : ` (${said})`}`);
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

/** An authority and its key, with when it ends, read from files. Throws with a clear text if they are not that. */
export async function readSigningPair(
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
  now: number,
): Promise<{ readonly certificate: Uint8Array; readonly key: Uint8Array; readonly expiresAt: number }> {
  const [certificate, key] = await Promise.all([readNeeded(certFile), readNeeded(keyFile)]);
  checkPair(certificate, key, certFile, keyFile);
  checkValid(certificate, certFile, now);
  if (!parseCertificate(certificate, certFile).ca) {
    throw new Error(`${certFile} is not the certificate of an authority: it may sign nothing (CA:FALSE)`);
  }
  return { certificate, key, expiresAt: expiryOf(certificate) };
}

/**
 * The certificates of authorities in a file, and when the last of them ends. Throws with a clear text, and with what is
 * `said` of the file, if there is none.
 */
export async function readRoots(
  path: string,
  said?: string,
): Promise<{ readonly roots: Uint8Array; readonly expiresAt: number }> {
  const roots = await readNeeded(path, said);
  const all = pemBlocks(Buffer.from(roots).toString('utf8'), 'CERTIFICATE');
  if (all.length === 0) throw new Error(`${path} holds no certificate in PEM form`);
  return { roots, expiresAt: Math.max(...all.map((block) => expiryOf(Buffer.from(block)))) };
}

/** Throws with a clear text if no certificate of these is a root: the platform would believe nobody by them. */
export function checkRooted(authorities: Uint8Array, path: string): void {
  const blocks = pemBlocks(Buffer.from(authorities).toString('utf8'), 'CERTIFICATE');
  if (blocks.map((block) => new X509Certificate(block)).some((certificate) => isIssuer(certificate, certificate)))
    return;
  throw new Error(`${path} holds no root: add the certificates that the authority in it leads to, up to the last one`);
}

/** Longest chain that is followed. */
const LONGEST_CHAIN = 10;

/** Is a certificate (the first of a PEM text, with what leads on from it) signed by one of these, or one of them itself? */
function leadsTo(chain: Uint8Array, ca: Uint8Array): boolean {
  const read = (pem: Uint8Array): X509Certificate[] =>
    pemBlocks(Buffer.from(pem).toString('utf8'), 'CERTIFICATE').map((block) => new X509Certificate(block));
  const [leaf, ...between] = read(chain);
  const roots = read(ca);
  let last = leaf;
  for (let length = 0; last !== undefined && length < LONGEST_CHAIN; length += 1) {
    const signed = last;
    if (roots.some((root) => root.fingerprint256 === signed.fingerprint256 || isIssuer(root, signed))) return true;
    last = between.find((candidate) => candidate !== signed && isIssuer(candidate, signed));
  }
  return false;
}

function isIssuer(issuer: X509Certificate, signed: X509Certificate): boolean {
  return signed.checkIssued(issuer) && signed.verify(issuer.publicKey);
}
