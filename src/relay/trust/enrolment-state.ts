import type { ClusterId, ClusterName } from '../../model/ids.ts';
import type { CertificateRequests } from '../../ports/certificate-requests.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CredentialStore } from '../../ports/credentials.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { ClientConnection, ClientTransport, StreamEnd } from '../../ports/transport.ts';
import type { HeldCredentials } from './held-credentials.ts';
import type { IssuedPair } from './register.ts';

/** What enrolling needs of the world. */
export interface EnrolmentDeps {
  readonly transport: ClientTransport;
  readonly store: CredentialStore;
  readonly requests: CertificateRequests;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Who enrols. */
export interface EnrolmentOptions {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  readonly version: string;
  /** Asked when it is needed; empty: none. May throw, with a text that holds no secret. */
  readonly token: () => string;
}

/** What the parts of an enrolment share. */
export interface Enrolment {
  readonly deps: EnrolmentDeps;
  readonly options: EnrolmentOptions;
  readonly held: HeldCredentials;
  /** The server has refused the pair that is held. */
  doubted: boolean;
  /** The server offers no certificates: the token counts on every stream. */
  tokenOnly: boolean;
  /** Enrolments that failed, in a row. */
  failures: number;
  /** Issued, and not saved yet. */
  unsaved: IssuedPair | undefined;
}

/** The roots of an answer count if the server that gave it is believed by them. */
export function believedOnly(enrolment: Enrolment, connection: ClientConnection, issued: IssuedPair): IssuedPair {
  if (issued.roots === '' || isBelieved(enrolment, connection, issued.roots)) return issued;
  enrolment.deps.log.warn(
    'relay: the roots that the server gave do not lead to its own certificate: those known before stay',
  );
  return { ...issued, roots: '' };
}

/** Would the server of this connection be believed by these roots alone? */
export function isBelieved({ deps }: Enrolment, connection: ClientConnection, roots: string): boolean {
  return deps.requests.verifies(connection.serverChain(), roots, deps.clock.now());
}

/** Saves a pair; it is shown only after that. Otherwise it is kept for the next attempt, and the reason given. */
export async function saveIssued(enrolment: Enrolment, issued: IssuedPair): Promise<StreamEnd | undefined> {
  const { deps, held } = enrolment;
  const { key, certificate, roots } = issued;
  const shownBefore = held.pair()?.certificate;
  const saved = await held.save((before) => ({ key, certificate, roots: roots === '' ? before.roots : roots }));
  // Another replica may have been faster: what it saved is as good.
  if (!saved.ok && (held.pair() === undefined || held.pair()?.certificate === shownBefore)) {
    enrolment.unsaved = issued;
    const message = `the client certificate cannot be saved in ${deps.store.place}: ${saved.problem}`;
    return { code: 'lost', reason: 'CredentialsUnsaved', message };
  }
  enrolment.unsaved = undefined;
  enrolment.doubted = false;
  enrolment.failures = 0;
  return undefined;
}
