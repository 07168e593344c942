import { X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Authorities, type Authority, rootsText, signingAuthority } from './authorities.ts';
import type { IssueRequest } from './authority.ts';
import { expiryOf, fits, parseCertificate } from './certificate-checks.ts';
import { ensurePrivateFolder, readIfThere, writePrivate } from './files.ts';
import { createOwnAuthority } from './own-authority.ts';

/** PEM texts: what the server shows, its key, and the roots that agents trust. */
export interface ServerCertificate {
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
  readonly ca: Uint8Array;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** When the last of the roots ends, if somebody else manages them. */
  readonly rootsExpireAt?: number;
}

/** More names and addresses that agents may dial. */
export interface CertificateNames {
  readonly names: readonly string[];
  readonly ips: readonly string[];
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** With less than a third of its life left, a certificate is renewed. */
const RENEW_BEFORE_MS = 122 * DAY_MS;

/**
 * The server's certificate in `DIR` (`tls.crt`, `tls.key`) with the authority that signs it (`ca.crt`, `ca.key`), both made
 * on first use. `now` is in milliseconds since 1970. Throws with a clear text if files are there that do not fit together.
 */
export async function ensureServerCertificate(
  dir: string,
  wanted: CertificateNames,
  now: number,
): Promise<ServerCertificate> {
  await ensurePrivateFolder(dir);
  const { authorities } = await createOwnAuthority(dir).refresh(now);
  return ensureSigned(dir, authorities, wanted, now);
}

/**
 * The server's certificate in `DIR`, signed by the authority whose turn it is; made on first use, and anew when it is
 * expired or nearly so, when another authority signs now, or when it lacks one of the names. Agents notice nothing.
 */
export async function ensureSigned(
  dir: string,
  authorities: Authorities,
  wanted: CertificateNames,
  now: number,
): Promise<ServerCertificate> {
  const authority = signingAuthority(authorities, now);
  if (authority === undefined) throw new Error(`there is no certificate authority in ${dir} that can sign`);
  const names = [...new Set(['localhost', hostname().toLowerCase(), ...wanted.names])];
  const ips = [...new Set(['127.0.0.1', '::1', ...wanted.ips])];
  const ca = Buffer.from(rootsText(authorities));
  const paths = { certificate: join(dir, 'tls.crt'), key: join(dir, 'tls.key') };
  const [certificate, key] = await Promise.all([readIfThere(paths.certificate), readIfThere(paths.key)]);
  if (certificate !== undefined && key !== undefined && isGood(certificate, key, authority, { names, ips }, now)) {
    return { certificate, key, ca, expiresAt: expiryOf(certificate) };
  }
  const { issueServerCertificate } = await import('./authority.ts');
  const request: IssueRequest = { names, ips, now };
  const fresh = await issueServerCertificate(authority, request);
  // The key first: a crash between the two leaves a pair that does not fit, which is made anew at the next start.
  await writePrivate(paths.key, fresh.key);
  await writePrivate(paths.certificate, fresh.certificate);
  return { ...fresh, ca, expiresAt: expiryOf(fresh.certificate) };
}

function isGood(
  certificate: Uint8Array,
  key: Uint8Array,
  authority: Authority,
  wanted: CertificateNames,
  now: number,
): boolean {
  const parsed = parseCertificate(certificate, 'tls.crt');
  const end = parsed.validToDate.getTime();
  // No certificate outlives its authority: then a new one would gain nothing.
  const lastsAsLongAsItCan = end - now > RENEW_BEFORE_MS || end > authority.expiresAt - DAY_MS;
  return (
    fits(parsed, key) &&
    parsed.verify(new X509Certificate(authority.certificate).publicKey) &&
    parsed.validFromDate.getTime() <= now &&
    end > now &&
    lastsAsLongAsItCan &&
    wanted.names.every((name) => parsed.checkHost(name) !== undefined) &&
    wanted.ips.every((ip) => parsed.checkIP(ip) !== undefined)
  );
}
