import type { ClusterId, ClusterName, FleetName } from '../../model/fleet/ids.ts';
import { errorText } from '../../model/text/messages.ts';
import { must } from '../../model/values/result.ts';
import { WARN_BEFORE_MS } from '../../ports/certificate-authority.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type {
  ClientConnection,
  ClientTransport,
  DialCredentials,
  StreamEnd,
  StreamMetadata,
} from '../../ports/transport.ts';
import { readPair } from './certificates.ts';
import { streamMetadata } from './tokens.ts';

/** What the agent's end needs. */
export interface ClientTrustDeps {
  readonly transport: ClientTransport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The agent that authenticates. */
export interface Applicant {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  readonly version: string;
  /** Reads the token when it is needed; empty: none. May throw, with a text that contains no secret. */
  readonly token: () => string;
}

/** A connection, and the metadata of each stream on it. */
export interface TrustedConnection {
  readonly connection: ClientConnection;
  readonly metadata: StreamMetadata;
  /** The issued certificate (PEM) that the connection shows. */
  readonly shown?: string;
}

/** How an agent authenticates, and which servers it trusts. */
export interface ClientTrust {
  /**
   * Dials, after enrolling if that is due. Never rejects: without a connection it resolves with the reason, and the caller
   * tries again later. `fleet`: the fleet of the objects that the agent holds.
   */
  open(fleet: FleetName | undefined, stopping: AbortSignal): Promise<TrustedConnection | StreamEnd>;
  /** The link over this connection is established: renews certificates over it until the signal. */
  keep(opened: TrustedConnection, over: AbortSignal): void;
  /** The server of this connection has sent the roots (PEM) of its certificate. */
  takeRoots(opened: TrustedConnection, roots: string): void;
  /** The link over this connection has ended. */
  ended(opened: TrustedConnection, end: StreamEnd): void;
  /** When the client certificate expires, in milliseconds since 1970; undefined: there is none. */
  expiresAt(): number | undefined;
  /** Resolves when no write of the credential store is pending. */
  settled(): Promise<void>;
}

/** The end of an attempt whose token or file cannot be read; the text of `error` must contain no secret. */
export function badSettings(error: unknown): StreamEnd {
  return { code: 'lost', reason: 'BadSettings', message: error instanceof Error ? error.message : 'dialling failed' };
}

const WARN_EVERY_MS = 24 * 60 * 60 * 1000;
/** Interval of reading the files while a link is up. By the wall clock, which may jump. */
const LOOK_MS = 60 * 60 * 1000;

/**
 * Authentication without enrolment: with a token, with a certificate that is managed outside, or with neither.
 *
 * @param read reads that certificate at each dial, and hourly to warn before it expires; it may throw like the token
 */
export function createGivenTrust(
  { transport, clock, log }: Pick<ClientTrustDeps, 'transport' | 'clock' | 'log'>,
  { cluster, token }: Pick<Applicant, 'cluster' | 'token'>,
  read?: () => NonNullable<DialCredentials['identity']>,
): ClientTrust {
  let expiresAt: number | undefined;
  let warnedAt: number | undefined;
  return {
    async open() {
      try {
        const metadata = streamMetadata(cluster, token());
        const shown = read === undefined ? undefined : { identity: check(read()), roots: '' };
        return { metadata, connection: transport.dial(shown) };
      } catch (error) {
        return badSettings(error);
      }
    },
    async keep(_opened, over) {
      while (read !== undefined) {
        await clock.sleep(LOOK_MS, over);
        if (over.aborted) return;
        try {
          check(read());
        } catch (error) {
          warnDaily('relay: the client certificate could not be shown at the next dial', { detail: errorText(error) });
        }
      }
    },
    takeRoots() {},
    ended() {},
    expiresAt: () => expiresAt,
    settled: () => Promise.resolve(),
  };

  /** Throws if key and certificate do not belong together, as while both files are being replaced. */
  function check(identity: NonNullable<DialCredentials['identity']>): NonNullable<DialCredentials['identity']> {
    expiresAt = must(readPair(identity)).expiresAt;
    const left = expiresAt - clock.now();
    if (left < WARN_BEFORE_MS) {
      const what = left > 0 ? 'runs out soon' : 'has run out';
      warnDaily(`relay: the client certificate ${what}`, { expires: new Date(expiresAt).toISOString() });
    }
    return identity;
  }

  function warnDaily(message: string, data: Readonly<Record<string, string>>): void {
    const now = clock.now();
    if (warnedAt !== undefined && now - warnedAt < WARN_EVERY_MS) return;
    warnedAt = now;
    log.warn(message, data);
  }
}
