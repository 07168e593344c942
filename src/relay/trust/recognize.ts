import { type ClusterName, parseClusterName } from '../../model/ids.ts';
import { unreachable } from '../../model/result.ts';
import type { IncomingStream, StreamEnd } from '../../ports/transport.ts';
import type { ServerState } from '../server-state.ts';
import { judgeCertificate, mismatch, type PeerCertificate, readPeerCertificate } from './peer-certificate.ts';
import { bearerToken, checkToken } from './token.ts';

/** Somebody who may speak for a cluster, with the certificate that says so, if it was one. */
export interface Caller {
  readonly cluster: ClusterName;
  readonly certificate: PeerCertificate | undefined;
}

/** The same words for every name, known or not. */
export const WRONG_TOKEN: StreamEnd = {
  code: 'unauthenticated',
  reason: 'WrongToken',
  message: 'the token is not that of the cluster name it was sent with',
};

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
  { deps, options }: Pick<ServerState, 'deps' | 'options'>,
  { metadata, certificate: der }: Pick<IncomingStream, 'metadata' | 'certificate'>,
): Caller | { readonly refused: StreamEnd } {
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
      const right = mayComeWithout || checkToken(options.tokens, claimed, token ?? '');
      return right && name.ok ? { cluster: name.value, certificate: undefined } : { refused: WRONG_TOKEN };
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
