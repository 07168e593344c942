import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { CertificateSource, ClientCertificates } from '../../model/fleet/relay-config.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import {
  type CertificateAuthority,
  type CertificateExpiry,
  type ServerRoots,
  WARN_BEFORE_MS,
} from '../../ports/certificate-authority.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { ensurePrivateFolder } from './files.ts';
import { AUTHORITY_KEY, type Authorities, createOwnAuthority, rootsText, signingAuthority } from './own-authority.ts';
import {
  checkRooted,
  ensureSigned,
  readRoots,
  readServerCertificate,
  readSigningPair,
  type ServerCertificate,
} from './server-certificate.ts';
import type { AuthorityFiles } from './x509.ts';

/** Which certificates a server uses. */
export interface TrustOptions {
  /** Contains the certificates that the server makes. */
  readonly folder: string;
  readonly server: CertificateSource;
  /** Which client certificates are accepted; undefined: none. */
  readonly clients: ClientCertificates | undefined;
}

/** The certificates of a relay server, which are kept up to date until `stop`. */
export type RelayTrust = Awaited<ReturnType<typeof openRelayTrust>>;

/** `store`: sealed, shared with other replicas; absent: there are none. */
export interface RelayTrustDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store?: SnapshotStore;
}

/** Interval of reading files and store. Files are not watched, because Kubernetes swaps their whole folder. */
const LOOK_MS = 10_000;
const WARN_EVERY_MS = 24 * 60 * 60 * 1000;

/**
 * Reads or makes the certificates. Rejects with a text for people if that is not possible. A later problem is logged, and
 * the certificates stay as they were.
 */
export async function openRelayTrust(deps: RelayTrustDeps, options: TrustOptions) {
  const { clock, log, store } = deps;
  await ensurePrivateFolder(options.folder);
  const read = createReader(options, store);
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
  const unwatch = store?.watch((event) => {
    if (event.type === 'changed' ? event.keys.includes(AUTHORITY_KEY) : event.type !== 'down') lookAgain();
  });
  const watch = (changed: () => void): (() => void) => {
    listeners.add(changed);
    return () => listeners.delete(changed);
  };
  const { clients } = options;
  const authority =
    clients?.type === 'issued' ? createIssuer(() => trusted, clients.lifetimeSeconds, clock) : undefined;
  const roots: ServerRoots = { watch, current: () => Buffer.from(trusted.server.ca).toString('utf8') };
  return {
    /** The certificate of the port, and the roots of client certificates. */
    material: { watch, current: () => materialOf(trusted) },
    roots,
    /** Present if this server issues client certificates. */
    ...given({ authority }),
    expiries: () => trusted.expiries,
    stop() {
      stopped = true;
      cancel();
      unwatch?.();
    },
  };
}

/** The certificates of one moment, and why parts of them are as before. */
type Trusted = Awaited<ReturnType<ReturnType<typeof createReader>>>;

/** Reads and makes certificates, one call at a time. The first call rejects on a problem; later ones keep the last value. */
function createReader({ folder, server, clients }: TrustOptions, store: SnapshotStore | undefined) {
  const ownAuthority = createOwnAuthority(folder, store);
  const needsOwn = server.type === 'generated' || (clients?.type === 'issued' && clients.signing === undefined);
  const own = keepingLast(
    async (now): ReturnType<typeof ownAuthority.refresh> =>
      needsOwn ? ownAuthority.refresh(now) : { authorities: [] },
  );
  const shown = keepingLast(async (now, authorities: Authorities) => {
    const read =
      server.type === 'generated'
        ? await ensureSigned(folder, authorities, server.names, now)
        : await readServerCertificate(server, now);
    const { certificate, key, ca } = read;
    // Throws if the platform refuses the certificate.
    createSecureContext({ cert: Buffer.from(certificate), key: Buffer.from(key), ca: Buffer.from(ca) });
    return read;
  });
  const accepted = keepingLast((now, authorities: Authorities) => readClients(clients, authorities, now));
  return async (now: number) => {
    const problems: string[] = [];
    const { authorities, problem } = await own(problems, now);
    if (problem !== undefined) problems.push(problem);
    const certificate = await shown(problems, now, authorities);
    const roots = await accepted(problems, now, authorities);
    return {
      server: certificate,
      clients: roots,
      problems,
      expiries: expiriesOf(signingAuthority(authorities, now)?.expiresAt, certificate, roots),
    };
  };
}

/** Returns `read`, which repeats its last value and adds to `problems` if it fails. Rejects only if it never succeeded. */
function keepingLast<Args extends unknown[], Value>(
  read: (now: number, ...args: Args) => Promise<Value>,
): (problems: string[], now: number, ...args: Args) => Promise<Value> {
  let last: { readonly value: Value } | undefined;
  return async (problems, ...args) => {
    try {
      last = { value: await read(...args) };
    } catch (error) {
      if (last === undefined) throw error;
      problems.push(errorText(error));
    }
    return last.value;
  };
}

/** The roots of client certificates, and the authority that signs new ones. */
interface ClientRoots {
  readonly roots?: Uint8Array;
  readonly signer?: AuthorityFiles;
  /** If the roots are managed outside. */
  readonly expiresAt?: number;
}

async function readClients(
  clients: ClientCertificates | undefined,
  authorities: Authorities,
  now: number,
): Promise<ClientRoots> {
  if (clients === undefined) return {};
  if (clients.type === 'given') {
    const given = await readRoots(clients.caFile);
    checkRooted(given.roots, clients.caFile);
    createSecureContext({ ca: Buffer.from(given.roots) });
    return given;
  }
  if (clients.signing !== undefined) {
    const { certificate, key, expiresAt } = await readSigningPair(clients.signing, now);
    checkRooted(certificate, clients.signing.certFile);
    return { roots: certificate, signer: { ca: certificate, caKey: key }, expiresAt };
  }
  const signer = signingAuthority(authorities, now);
  return { roots: Buffer.from(rootsText(authorities)), ...given({ signer }) };
}

/** `own`: when the own authority that signs expires. */
function expiriesOf(own: number | undefined, server: ServerCertificate, clients: ClientRoots): CertificateExpiry[] {
  const root = server.rootsExpireAt ?? own;
  const clientRoot = clients.expiresAt ?? (clients.roots === undefined ? undefined : own);
  return [
    { what: 'server', expiresAt: server.expiresAt },
    ...(root === undefined ? [] : [{ what: 'root' as const, expiresAt: root }]),
    ...(clientRoot === undefined ? [] : [{ what: 'clientRoot' as const, expiresAt: clientRoot }]),
  ];
}

function materialOf({ server: { certificate, key }, clients: { roots } }: Trusted) {
  return { certificate, key, ...given({ clientRoots: roots }) };
}

/** Logs each new problem once, and once a day the certificates that expire soon. */
function createWarnings({ clock, log }: RelayTrustDeps): (trusted: Trusted) => void {
  let logged: readonly string[] = [];
  let warnedAt: number | undefined;
  return ({ problems, expiries }) => {
    for (const problem of problems) {
      if (!logged.includes(problem)) log.warn('relay: certificates stay as they were', { detail: problem });
    }
    logged = problems;
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

function createIssuer(trusted: () => Trusted, lifetimeSeconds: number, clock: Clock): CertificateAuthority {
  return {
    async inspect(request) {
      const { readCertificateRequest } = await import('./x509.ts');
      return readCertificateRequest(request);
    },
    async issue(order) {
      const { signer } = trusted().clients;
      if (signer === undefined) throw new Error('there is no certificate authority that can sign');
      const { issueClientCertificate } = await import('./x509.ts');
      const { certificate, expiresAt } = await issueClientCertificate(
        signer,
        order,
        clock.now() + lifetimeSeconds * 1000,
      );
      return { certificate: Buffer.from(certificate).toString('utf8'), expiresAt };
    },
  };
}
