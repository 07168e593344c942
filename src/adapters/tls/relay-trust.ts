import { isDeepStrictEqual } from 'node:util';
import {
  type CertificateAuthority,
  type CertificateExpiry,
  type ServerRoots,
  WARN_BEFORE_MS,
} from '../../ports/certificate-authority.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { AuthorityRecord } from './authority-record.ts';
import { ensurePrivateFolder } from './files.ts';
import { createTrustedCertificates, type TrustOptions } from './trusted-certificates.ts';

/** The certificates of a relay server, kept up to date until it is stopped. */
export interface RelayTrust {
  /** What the port shows and believes. */
  readonly material: {
    current(): { readonly certificate: Uint8Array; readonly key: Uint8Array; readonly clientRoots?: Uint8Array };
    watch(changed: () => void): () => void;
  };
  readonly roots: ServerRoots;
  /** Present if client certificates are issued here. */
  readonly authority?: CertificateAuthority;
  expiries(): readonly CertificateExpiry[];
  stop(): void;
}

/** What {@link openRelayTrust} needs of the world. Without `record` the authority is shared with no replica. */
export interface RelayTrustDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly record?: AuthorityRecord;
}

/**
 * Files and store are looked at this often. Files are read and not watched: Kubernetes swaps whole folders under them.
 */
const LOOK_MS = 10_000;
const WARN_EVERY_MS = 24 * 60 * 60 * 1000;

/**
 * Reads or makes the certificates. Rejects with a text for people if that cannot be done. What is wrong later is said, and
 * what was there before goes on.
 */
export async function openRelayTrust(deps: RelayTrustDeps, options: TrustOptions): Promise<RelayTrust> {
  const { clock, log, record } = deps;
  await ensurePrivateFolder(options.folder);
  const read = createTrustedCertificates(options, record);
  const listeners = new Set<() => void>();
  const warn = createWarnings(deps);
  let trusted = await read(clock.now());
  let stopped = false;
  let looking: Promise<void> = Promise.resolve();
  let cancel = (): void => {};
  warn(trusted);

  const look = async (): Promise<void> => {
    if (stopped) return;
    const before = trusted;
    trusted = await read(clock.now());
    warn(trusted);
    const { server, clients } = trusted;
    if (isDeepStrictEqual([before.server, before.clients], [server, clients])) return;
    log.info('relay: certificates have changed', { expires: new Date(server.expiresAt).toISOString() });
    for (const listener of listeners) listener();
  };
  const lookAgain = (): void => {
    cancel();
    looking = looking
      .then(look)
      .catch((error: unknown) => log.error('relay: looking after the certificates failed', { error }))
      .then(() => {
        if (!stopped) cancel = clock.schedule(LOOK_MS, lookAgain);
      });
  };
  cancel = clock.schedule(LOOK_MS, lookAgain);
  const unwatch = record?.watch(lookAgain);
  const watch = (changed: () => void): (() => void) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  };
  const { clients } = options;
  return {
    material: { watch, current: () => materialOf(trusted) },
    roots: { watch, current: () => Buffer.from(trusted.server.ca).toString('utf8') },
    ...(clients.type === 'issued' ? { authority: createIssuer(() => trusted, clients.lifetimeMs, clock) } : {}),
    expiries: () => trusted.expiries,
    stop() {
      stopped = true;
      cancel();
      unwatch?.();
    },
  };
}

type Trusted = Awaited<ReturnType<ReturnType<typeof createTrustedCertificates>>>;

function materialOf({ server: { certificate, key }, clients: { roots } }: Trusted) {
  return { certificate, key, ...(roots === undefined ? {} : { clientRoots: roots }) };
}

/** Says a trouble once, and once a day what ends soon. */
function createWarnings({ clock, log }: RelayTrustDeps): (trusted: Trusted) => void {
  let said: readonly string[] = [];
  let warnedAt: number | undefined;
  return ({ troubles, expiries }) => {
    for (const trouble of troubles) {
      if (!said.includes(trouble)) log.warn('relay: certificates stay as they were', { detail: trouble });
    }
    said = troubles;
    const now = clock.now();
    if (warnedAt !== undefined && now - warnedAt < WARN_EVERY_MS) return;
    const ending = expiries.filter(({ expiresAt }) => expiresAt - now < WARN_BEFORE_MS);
    if (ending.length > 0) warnedAt = now;
    for (const { what, expiresAt } of ending) {
      const message = expiresAt > now ? 'relay: a certificate ends soon' : 'relay: a certificate has ended';
      log.warn(message, { what, expires: new Date(expiresAt).toISOString() });
    }
  };
}

function createIssuer(trusted: () => Trusted, lifetimeMs: number, clock: Clock): CertificateAuthority {
  return {
    async inspect(request) {
      const { readCertificateRequest } = await import('./read-request.ts');
      return readCertificateRequest(request);
    },
    async issue(order) {
      const { signer } = trusted().clients;
      if (signer === undefined) throw new Error('there is no certificate authority that can sign');
      const { issueClientCertificate } = await import('./authority.ts');
      const { certificate, expiresAt } = await issueClientCertificate(signer, order, clock.now() + lifetimeMs);
      return { certificate: Buffer.from(certificate).toString('utf8'), expiresAt };
    },
  };
}
