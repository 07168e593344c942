import type { ClusterName } from '../../model/ids.ts';
import { errorText } from '../../model/messages.ts';
import { must } from '../../model/result.ts';
import { WARN_BEFORE_MS } from '../../ports/certificate-authority.ts';
import type { CertificateRequests } from '../../ports/certificate-requests.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { ClientTransport, DialCredentials } from '../../ports/transport.ts';
import { badSettings, type ClientTrust, streamMetadata } from './client-trust.ts';

/** What {@link createSettledTrust} is told. */
export interface SettledTrustOptions {
  readonly cluster: ClusterName;
  /** Asked at each dial; empty: none. May throw, with a text that holds no secret. */
  readonly token: () => string;
  /** A certificate that somebody else sees to, asked at each dial; absent: none. May throw like the token. */
  readonly given?: {
    readonly read: () => NonNullable<DialCredentials['identity']>;
    readonly requests: CertificateRequests;
  };
}

type Given = NonNullable<SettledTrustOptions['given']>;

/** A certificate that runs out is told of this often. */
const WARN_EVERY_MS = 24 * 60 * 60 * 1000;
/** While the link is up nobody dials: its files are looked at this often. By the wall clock, which may jump. */
const LOOK_MS = 60 * 60 * 1000;

/** Nothing is enrolled for: a token, a certificate that was brought along, or neither. */
export function createSettledTrust(
  { transport, clock, log }: { readonly transport: ClientTransport; readonly clock: Clock; readonly log: Log },
  { cluster, token, given }: SettledTrustOptions,
): ClientTrust {
  let expiresAt: number | undefined;
  let warnedAt: number | undefined;
  return {
    async open() {
      try {
        const metadata = streamMetadata(cluster, token());
        if (given === undefined) return { metadata, connection: transport.dial() };
        const identity = look(given);
        return { metadata, connection: transport.dial({ identity, roots: '' }) };
      } catch (error) {
        return badSettings(error);
      }
    },
    keep(_opened, over) {
      if (given !== undefined) void keepLooking(given, over);
    },
    takeRoots() {},
    ended() {},
    expiresAt: () => expiresAt,
    settled: () => Promise.resolve(),
  };

  /** Throws if it cannot be read, or is none: a key without its certificate is what is there while both are replaced. */
  function look({ read, requests }: Given): NonNullable<DialCredentials['identity']> {
    const identity = read();
    expiresAt = must(requests.inspect(identity)).notAfter;
    const left = expiresAt - clock.now();
    if (left < WARN_BEFORE_MS) {
      const what = left > 0 ? 'runs out soon' : 'has run out';
      warnDaily(`relay: the client certificate ${what}`, { expires: new Date(expiresAt).toISOString() });
    }
    return identity;
  }

  /** Whoever sees to the files hears of the end while there is time, and not from the server at the end. */
  async function keepLooking(files: Given, over: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(LOOK_MS, over);
      if (over.aborted) return;
      try {
        look(files);
      } catch (error) {
        warnDaily('relay: the client certificate could not be shown at the next dial', { detail: errorText(error) });
      }
    }
  }

  function warnDaily(message: string, data: Readonly<Record<string, string>>): void {
    const now = clock.now();
    if (warnedAt !== undefined && now - warnedAt < WARN_EVERY_MS) return;
    warnedAt = now;
    log.warn(message, data);
  }
}
