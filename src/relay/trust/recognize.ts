import { type ClusterId, type ClusterName, parseClusterName } from '../../model/fleet/ids.ts';
import { unreachable } from '../../model/values/result.ts';
import type { IncomingStream, StreamEnd } from '../../ports/transport.ts';
import type { Link } from '../link.ts';
import type { ClusterSlot, Greeted, ServerState } from '../server-state.ts';
import type { AgentCertificate } from '../session.ts';
import {
  type ClientCertificate,
  judgeCertificate,
  mismatch,
  readCertificate,
  unauthenticated,
} from './certificates.ts';
import { type EnrolmentToken, readEnrolmentToken } from './enrolment-tokens.ts';
import { bearerToken, type TokenUse, tokenCommand, tokenGeneration } from './tokens.ts';

/** The authenticated caller of a stream. */
export interface Caller {
  readonly cluster: ClusterName;
  /** The certificate that authenticates it, if any. */
  readonly certificate: ClientCertificate | undefined;
  /** The generation of the token that authenticates it, if any. */
  readonly generation?: number;
}

/** A caller that is not authenticated. */
export interface Refused {
  readonly refused: StreamEnd;
}

const CERTIFICATE_NEEDED = unauthenticated(
  'CertificateNeeded',
  'a client certificate is needed here, and none was shown; a token is good for enrolling only',
);

/** The same text for every name, so that it does not reveal which clusters exist. */
export const WRONG_TOKEN = unauthenticated('WrongToken', 'the token does not belong to this cluster name');

/** The reason for refusing a token of an earlier generation. */
const TOKEN_RENEWED = 'TokenRenewed';

/** A connection token where only certificates open streams, in a registration. */
export const CONNECTION_TOKEN = unauthenticated(
  'ConnectionToken',
  'this is a connection token, and this server wants client certificates: its agents enrol with an enrolment token, which expires',
);

const ENROLMENT_TOKEN = unauthenticated(
  'EnrolmentToken',
  'this token is good for enrolling only, and this server takes connection tokens: print one with "fleetrelay cluster token NAME --connection" and the data directory of the server',
);

const CERTIFICATE_REVOKED = unauthenticated(
  'CertificateRevoked',
  'a person has revoked the certificate that was shown; the agent enrols again with a fresh token',
);

/** The end of a stream whose certificate has expired since the connection began. */
export const CERTIFICATE_EXPIRED = unauthenticated(
  'CertificateExpired',
  'the time of the certificate that was shown on this connection is over',
);

/**
 * Authenticates the caller of a stream by its certificate or its token. A wrong certificate is refused even where a token
 * would be enough. A server that issues certificates accepts no others.
 */
export function recognize(
  state: Pick<ServerState, 'deps' | 'options'>,
  { metadata, certificate }: Pick<IncomingStream, 'metadata' | 'certificate'>,
): Caller | Refused {
  const { mode = 'tls' } = state.options;
  const claimed = metadata['fleetrelay-cluster'] ?? '';
  if (certificate !== undefined) return recognizeCertificate(state, certificate, claimed);
  switch (mode) {
    case 'mtls':
      return { refused: CERTIFICATE_NEEDED };
    case 'insecure':
    case 'tls': {
      const name = parseClusterName(claimed);
      if (!name.ok) return { refused: WRONG_TOKEN };
      const caller = { cluster: name.value, certificate: undefined };
      const token = bearerToken(metadata);
      if (mode === 'insecure' && token === undefined) return caller;
      const judged = judgeToken(state, claimed, token ?? '');
      if (!('refused' in judged)) return { ...caller, ...judged };
      const enrols = readEnrolmentToken(state.options.tokens, claimed, token ?? '') !== undefined;
      if (!enrols) return judged;
      // Without TLS no token is needed, and a right one does no harm.
      return mode === 'insecure' ? caller : { refused: ENROLMENT_TOKEN };
    }
    default:
      return unreachable(mode);
  }
}

/** Authenticates a caller by its certificate (DER), which must be for the cluster that the caller claims to be. */
export function recognizeCertificate(
  { deps: { authority, revoked }, options: { fleet } }: Pick<ServerState, 'deps' | 'options'>,
  der: Uint8Array,
  claimed: string,
): { readonly cluster: ClusterName; readonly certificate: ClientCertificate } | Refused {
  const certificate = readCertificate(der);
  const cluster = parseClusterName(claimed);
  if (certificate === undefined || !cluster.ok) {
    return { refused: mismatch('the certificate does not belong to this cluster name') };
  }
  const issuedHere = authority !== undefined;
  const refused = judgeCertificate(certificate, { fleet, cluster: cluster.value, issuedHere });
  if (refused !== undefined) return { refused };
  if (revoked?.has(cluster.value, certificate) === true) return { refused: CERTIFICATE_REVOKED };
  return { cluster: cluster.value, certificate };
}

/** What an enrolment token of this cluster states, if it is valid now. */
export function judgeEnrolmentToken(
  { deps, options }: Pick<ServerState, 'deps' | 'options'>,
  cluster: string,
  token: string,
): EnrolmentToken | Refused {
  const stated = readEnrolmentToken(options.tokens, cluster, token);
  if (stated === undefined) return { refused: WRONG_TOKEN };
  const refused = judgeGeneration(deps, cluster, stated.generation, 'enrolment');
  if (refused !== undefined) return { refused };
  const end = stated.expiresAt * 1000;
  if (deps.clock.now() < end) return stated;
  const at = new Date(end).toISOString();
  return { refused: unauthenticated('TokenExpired', `the enrolment token of cluster ${cluster} expired at ${at}`) };
}

/** The generation of a connection token of this cluster, if it is the current one. */
export function judgeToken(
  { deps, options }: Pick<ServerState, 'deps' | 'options'>,
  cluster: string,
  token: string,
): { readonly generation: number } | Refused {
  const generation = tokenGeneration(options.tokens, cluster, token);
  if (generation === undefined) return { refused: WRONG_TOKEN };
  const refused = judgeGeneration(deps, cluster, generation, 'connection');
  return refused === undefined ? { generation } : { refused };
}

/** Why a right token of this generation is refused; undefined: its generation is the current one, or a later one. */
function judgeGeneration(
  deps: ServerState['deps'],
  cluster: string,
  generation: number,
  use: TokenUse,
): StreamEnd | undefined {
  const { generations } = deps;
  if (generation < (generations?.current(cluster) ?? 0)) return tokenRenewed(deps, cluster, use);
  generations?.shown(cluster, generation);
  return undefined;
}

/** Sent only in answer to an earlier token that was right, so that it reveals no renewal to other callers. */
function tokenRenewed({ generations }: ServerState['deps'], cluster: string, use: TokenUse): StreamEnd {
  const command = tokenCommand(cluster, use, ` --generation ${generations?.current(cluster) ?? 0}`);
  const message = `the token of cluster ${cluster} was renewed, and this is an earlier one; print the one that counts where the secret of the server is: ${command}`;
  return unauthenticated(TOKEN_RENEWED, message);
}

/** Ends the stream when its token is renewed. */
export function endWithToken({ deps }: ServerState, cluster: ClusterName, link: Link, generation: number): void {
  const { generations } = deps;
  const unwatch = generations?.watch((changed) => {
    if (changed === cluster && generation < generations.current(cluster)) {
      link.end(tokenRenewed(deps, cluster, 'connection'));
    }
  });
  if (unwatch !== undefined) void link.over.then(unwatch);
}

/**
 * Delays the answer to a wrong token by `wrongTokenMs`, for at most `wrongTokensWaiting` callers; the others get `Busy` at
 * once. Other refusals are not delayed.
 */
export async function delayWrongToken(state: ServerState, refused: StreamEnd): Promise<StreamEnd> {
  if (refused.reason !== WRONG_TOKEN.reason && refused.reason !== TOKEN_RENEWED) return refused;
  const { counts, limits, deps } = state;
  counts.wrongTokens += 1;
  if (state.delayed >= limits.wrongTokensWaiting) {
    return { code: 'unavailable', reason: 'Busy', message: 'too many wrong tokens; come again later' };
  }
  state.delayed += 1;
  await deps.clock.sleep(limits.wrongTokenMs);
  state.delayed -= 1;
  return refused;
}

/** Longest interval of reading the wall clock, which may jump. */
const LOOK_MS = 60 * 60 * 1000;

/**
 * Until when a connection with this certificate is authenticated, in milliseconds since 1970. A newer certificate that this
 * server has issued to the same agent meanwhile extends it.
 */
export function endOfCertificate(
  { expiresAt }: AgentCertificate,
  clusterId: ClusterId,
  slot: Pick<ClusterSlot, 'renewed'> | undefined,
): number {
  return Math.max(expiresAt, slot?.renewed?.clusterId === clusterId ? slot.renewed.expiresAt : 0);
}

/** Ends the stream at {@link endOfCertificate}, or when the certificate is revoked. */
export function endWithCertificate({ state, slot, link, hello }: Greeted, certificate: AgentCertificate): void {
  const { clock, revoked } = state.deps;
  const unwatch = revoked?.watch(() => {
    if (revoked.has(slot.cluster, certificate)) link.end(CERTIFICATE_REVOKED);
  });
  let cancel = (): void => {};
  const look = (): void => {
    const left = endOfCertificate(certificate, hello.clusterId, slot) - clock.now();
    if (left <= 0) link.end(CERTIFICATE_EXPIRED);
    else cancel = clock.schedule(Math.min(left, LOOK_MS), look);
  };
  look();
  void link.over.then(() => {
    cancel();
    unwatch?.();
  });
}
