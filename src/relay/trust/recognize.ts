import { type ClusterName, parseClusterName } from '../../model/ids.ts';
import { unreachable } from '../../model/result.ts';
import type { IncomingStream, StreamEnd } from '../../ports/transport.ts';
import type { ServerState } from '../server-state.ts';
import { judgeToken, WRONG_TOKEN } from './known-token.ts';
import { judgeCertificate, mismatch, type PeerCertificate, readPeerCertificate } from './peer-certificate.ts';
import { bearerToken } from './token.ts';

/** Somebody who may speak for a cluster, with the certificate that says so, if it was one. */
export interface Caller {
  readonly cluster: ClusterName;
  readonly certificate: PeerCertificate | undefined;
  /** Of the token that says so, if it was one. */
  readonly generation?: number;
}

const CERTIFICATE_NEEDED: StreamEnd = {
  code: 'unauthenticated',
  reason: 'CertificateNeeded',
  message: 'a client certificate is needed here, and none was shown; a token is good for enrolling only',
};

/**
 * Who opens a stream, by its certificate or its token. A certificate that was shown has to be right even where a token
 * would do. A server that issues certificates takes no others.
 */
export function recognize(
  state: Pick<ServerState, 'deps' | 'options'>,
  { metadata, certificate: der }: Pick<IncomingStream, 'metadata' | 'certificate'>,
): Caller | { readonly refused: StreamEnd } {
  const { deps, options } = state;
  const claimed = metadata['fleetrelay-cluster'] ?? '';
  if (der !== undefined) return recognizeCertificate(options, der, deps.authority !== undefined, claimed);
  const name = parseClusterName(claimed);
  const { mode = 'tls' } = options;
  const token = bearerToken(metadata);
  switch (mode) {
    case 'mtls':
      return { refused: CERTIFICATE_NEEDED };
    case 'insecure':
    case 'tls': {
      const mayComeWithout = mode === 'insecure' && token === undefined;
      if (!name.ok) return { refused: WRONG_TOKEN };
      const caller = { cluster: name.value, certificate: undefined };
      if (mayComeWithout) return caller;
      const judged = judgeToken(state, claimed, token ?? '');
      return 'refused' in judged ? judged : { ...caller, generation: judged.generation };
    }
    default:
      return unreachable(mode);
  }
}

/** The cluster whose certificate this is, if it is the named one's. */
export function recognizeCertificate(
  { fleet }: Pick<ServerState['options'], 'fleet'>,
  der: Uint8Array,
  issuedHere: boolean,
  claimed: string,
): { readonly cluster: ClusterName; readonly certificate: PeerCertificate } | { readonly refused: StreamEnd } {
  const certificate = readPeerCertificate(der);
  const cluster = parseClusterName(claimed);
  if (certificate === undefined || !cluster.ok) {
    return { refused: mismatch('the certificate that was shown is not that of the cluster that it was sent with') };
  }
  const refused = judgeCertificate(certificate, { fleet, cluster: cluster.value, issuedHere });
  return refused === undefined ? { cluster: cluster.value, certificate } : { refused };
}
