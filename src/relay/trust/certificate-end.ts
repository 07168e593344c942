import type { ClusterId } from '../../model/ids.ts';
import type { StreamEnd } from '../../ports/transport.ts';
import type { ClusterSlot, Greeted } from '../server-state.ts';
import type { AgentCertificate } from '../session.ts';

/** The wall clock is looked at this often at least: it may jump. */
const LOOK_MS = 60 * 60 * 1000;

/** The end of somebody on a connection whose certificate was right when it was made. */
export const OVER: StreamEnd = {
  code: 'unauthenticated',
  reason: 'CertificateExpired',
  message: 'the time of the certificate that was shown on this connection is over',
};

/**
 * Until when a connection counts on which this certificate was shown, in milliseconds since 1970: longer than that, if the
 * same agent has come by a newer one while its streams are up.
 */
export function endOfCertificate(
  { expiresAt }: AgentCertificate,
  clusterId: ClusterId,
  slot: Pick<ClusterSlot, 'renewed'> | undefined,
): number {
  return Math.max(expiresAt, slot?.renewed?.clusterId === clusterId ? slot.renewed.expiresAt : 0);
}

/**
 * Ends the stream when the time of the certificate that opened it is over, unless the same agent has a newer one from this
 * server by then: renewing costs no stream.
 */
export function endWithCertificate({ state, slot, link, hello }: Greeted, certificate: AgentCertificate): void {
  const { clock } = state.deps;
  let cancel = (): void => {};
  const look = (): void => {
    const left = endOfCertificate(certificate, hello.clusterId, slot) - clock.now();
    if (left > 0) {
      cancel = clock.schedule(Math.min(left, LOOK_MS), look);
      return;
    }
    link.end(OVER);
  };
  look();
  void link.over.then(() => cancel());
}
