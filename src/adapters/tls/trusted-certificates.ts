import { createSecureContext } from 'node:tls';
import { errorText } from '../../model/messages.ts';
import { unreachable } from '../../model/result.ts';
import type { CertificateExpiry } from '../../ports/certificate-authority.ts';
import { type Authorities, type AuthorityFiles, rootsText, signingAuthority } from './authorities.ts';
import type { AuthorityRecord } from './authority-record.ts';
import {
  type CertificateFiles,
  checkRooted,
  readRoots,
  readServerCertificate,
  readSigningPair,
} from './given-certificates.ts';
import { createOwnAuthority } from './own-authority.ts';
import { type CertificateNames, ensureSigned, type ServerCertificate } from './server-certificate.ts';

/** Whose certificates are used. `folder` holds what is made, and exists. */
export interface TrustOptions {
  readonly folder: string;
  readonly server:
    | { readonly type: 'generated'; readonly wanted: CertificateNames }
    | ({ readonly type: 'files' } & CertificateFiles);
  readonly clients: TrustedClients;
}

/** Whose client certificates count: nobody's, those that are issued here, or those that an authority elsewhere has signed. */
export type TrustedClients =
  | { readonly type: 'none' }
  | {
      readonly type: 'issued';
      readonly lifetimeMs: number;
      /** Instead of the own authority. */
      readonly signing?: { readonly certFile: string; readonly keyFile: string };
    }
  | { readonly type: 'given'; readonly caFile: string };

/** The certificates of one moment. */
export interface TrustedCertificates {
  readonly server: ServerCertificate;
  readonly clients: ClientRoots;
  readonly expiries: readonly CertificateExpiry[];
  /** What could not be read or made anew this time, and is as it was before. Texts for people. */
  readonly troubles: readonly string[];
}

/** Whom clients' certificates may be of, and who signs new ones. */
export interface ClientRoots {
  readonly roots?: Uint8Array;
  readonly signer?: AuthorityFiles;
  readonly expiresAt?: number;
}

/**
 * Reads and makes certificates, as often as it is asked (`now` in milliseconds since 1970), one call at a time. The first
 * call rejects with a text for people if anything is wrong; later what is wrong stays as it was.
 */
export function createTrustedCertificates(
  { folder, server, clients }: TrustOptions,
  record?: AuthorityRecord,
): (now: number) => Promise<TrustedCertificates> {
  const ownAuthority = createOwnAuthority(folder, record);
  const needsOwn = server.type === 'generated' || (clients.type === 'issued' && clients.signing === undefined);
  const own = kept(async (now) => (needsOwn ? await ownAuthority.refresh(now) : { authorities: [] }));
  const shown = kept(async (now, authorities: Authorities) =>
    usable(
      server.type === 'generated'
        ? await ensureSigned(folder, authorities, server.wanted, now)
        : await readServerCertificate(server, now),
    ),
  );
  const believed = kept((now, authorities: Authorities) => readClients(clients, authorities, now));
  return async (now) => {
    const troubles: string[] = [];
    const { authorities, trouble } = await own(troubles, now);
    if (trouble !== undefined) troubles.push(trouble);
    const certificate = await shown(troubles, now, authorities);
    const roots = await believed(troubles, now, authorities);
    return {
      server: certificate,
      clients: roots,
      troubles,
      expiries: expiriesOf(authorities, certificate, roots, now),
    };
  };
}

/** What is read is remembered, and stays if reading fails later. */
function kept<Args extends unknown[], Value>(
  read: (now: number, ...args: Args) => Promise<Value>,
): (troubles: string[], now: number, ...args: Args) => Promise<Value> {
  let last: { readonly value: Value } | undefined;
  return async (troubles, ...args) => {
    try {
      last = { value: await read(...args) };
    } catch (error) {
      if (last === undefined) throw error;
      troubles.push(errorText(error));
    }
    return last.value;
  };
}

async function readClients(clients: TrustedClients, authorities: Authorities, now: number): Promise<ClientRoots> {
  switch (clients.type) {
    case 'none':
      return {};
    case 'given': {
      const { roots, expiresAt } = await readRoots(clients.caFile);
      checkRooted(roots, clients.caFile);
      createSecureContext({ ca: Buffer.from(roots) });
      return { roots, expiresAt };
    }
    case 'issued': {
      if (clients.signing !== undefined) {
        const { certificate, key, expiresAt } = await readSigningPair(clients.signing, now);
        checkRooted(certificate, clients.signing.certFile);
        return { roots: certificate, signer: { ca: certificate, caKey: key }, expiresAt };
      }
      const signer = signingAuthority(authorities, now);
      return { roots: Buffer.from(rootsText(authorities)), ...(signer === undefined ? {} : { signer }) };
    }
    default:
      return unreachable(clients);
  }
}

/** Throws if the platform takes no such certificate. */
function usable(server: ServerCertificate): ServerCertificate {
  const { certificate, key, ca } = server;
  createSecureContext({ cert: Buffer.from(certificate), key: Buffer.from(key), ca: Buffer.from(ca) });
  return server;
}

function expiriesOf(
  authorities: Authorities,
  { expiresAt, rootsExpireAt }: ServerCertificate,
  clients: ClientRoots,
  now: number,
): readonly CertificateExpiry[] {
  const own = signingAuthority(authorities, now)?.expiresAt;
  const root = rootsExpireAt ?? own;
  const clientRoot = clients.expiresAt ?? (clients.roots === undefined ? undefined : own);
  return [
    { what: 'server', expiresAt },
    ...(root === undefined ? [] : [{ what: 'root' as const, expiresAt: root }]),
    ...(clientRoot === undefined ? [] : [{ what: 'clientRoot' as const, expiresAt: clientRoot }]),
  ];
}
