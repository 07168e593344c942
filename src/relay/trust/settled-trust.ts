import type { ClusterName } from '../../model/ids.ts';
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

/** Nothing is enrolled for: a token, a certificate that was brought along, or neither. */
export function createSettledTrust(
  { transport, clock, log }: { readonly transport: ClientTransport; readonly clock: Clock; readonly log: Log },
  { cluster, token, given }: SettledTrustOptions,
): ClientTrust {
  let expiresAt: number | undefined;
  return {
    async open() {
      try {
        const metadata = streamMetadata(cluster, token());
        if (given === undefined) return { metadata, connection: transport.dial() };
        const identity = given.read();
        // A key without its certificate is what is there while the two files are replaced.
        expiresAt = must(given.requests.inspect(identity)).notAfter;
        warnOfEnd(expiresAt);
        return { metadata, connection: transport.dial({ identity, roots: '' }) };
      } catch (error) {
        return badSettings(error);
      }
    },
    keep() {},
    takeRoots() {},
    ended() {},
    expiresAt: () => expiresAt,
    settled: () => Promise.resolve(),
  };

  function warnOfEnd(at: number): void {
    if (at - clock.now() > WARN_BEFORE_MS) return;
    log.warn('relay: the client certificate runs out soon', { expires: new Date(at).toISOString() });
  }
}
