import { createPublicKey, type KeyObject } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { type ClusterName, parseClusterName, quote } from '../../model/ids.ts';
import { createRateLimit } from '../../model/rate-limit.ts';
import type { CertificateAuthority, CertificateRequestFacts } from '../../ports/certificate-authority.ts';
import type { IncomingRegistration, RegistrationAnswer, StreamEnd } from '../../ports/transport.ts';
import { countOne, endOfDecision, noteEnd, type ServerState } from '../server-state.ts';
import type { RegistrationRequest } from '../session.ts';
import { readRegisterRequest, registerResponseBytes } from '../wire/frames.ts';
import { ProtocolError } from '../wire/scalars.ts';
import {
  BACKDATE_MS,
  CLIENT_COMMON_NAME,
  type ClientCertificate,
  identityUri,
  isForOtherId,
  mismatch,
} from './certificates.ts';
import {
  CERTIFICATE_EXPIRED,
  delayWrongToken,
  endOfCertificate,
  judgeToken,
  type Refused,
  recognizeCertificate,
  WRONG_TOKEN,
} from './recognize.ts';
import { bearerToken, isSharedToken } from './tokens.ts';

/** The authenticated caller of a registration. */
interface Registrant {
  readonly cluster: ClusterName;
  readonly proof: RegistrationRequest['proof'];
  readonly certificate: ClientCertificate | undefined;
}

/**
 * Answers requests for client certificates. The checks are in the order of their cost: authentication, the rate of the
 * cluster (if a proof that cannot be guessed authenticates it) or of the address, the rate of all such callers, the request,
 * the decision of the listener, the signature. So an unauthenticated caller costs little and takes nothing from the rates of
 * agents, and one agent cannot use up the rate of all.
 */
export function createRegistrar(
  state: ServerState,
): (registration: IncomingRegistration) => Promise<RegistrationAnswer> {
  const { clock, log, authority } = state.deps;
  const perCluster = createRateLimit(clock.monotonic, state.limits.registrationsPerCluster);
  const perAddress = createRateLimit(clock.monotonic, state.limits.registrationsPerAddress);
  const inAll = createRateLimit(clock.monotonic, state.limits.registrations);

  return async (registration) => {
    try {
      return await answer(registration);
    } catch (error) {
      if (error instanceof ProtocolError) {
        return refuse(registration, { code: error.code, reason: error.reason, message: error.message });
      }
      log.error('relay: a registration failed', { error });
      const message = 'no certificate could be issued; the log of the server says why';
      return refuse(registration, { code: 'unavailable', reason: 'Internal', message });
    }
  };

  async function answer(registration: IncomingRegistration): Promise<RegistrationAnswer> {
    if (state.draining) {
      return refuse(registration, { code: 'unavailable', reason: 'Draining', message: 'the server is shutting down' });
    }
    if (authority === undefined) {
      const message = 'this server issues no certificates';
      return refuse(registration, { code: 'refused', reason: 'NotOffered', message });
    }
    const registrant = identify(state, registration);
    const proven = 'refused' in registrant || registrant.proof === 'shared' ? undefined : registrant.cluster;
    const early = proven === undefined ? perAddress(callerOf(registration.peer)) : perCluster(proven);
    if (early > 0) return refuse(registration, rateLimited(early));
    if ('refused' in registrant) {
      return { refused: await delayWrongToken(state, refuse(registration, registrant.refused).refused) };
    }
    // The shared token can be guessed or leak: who has it takes nothing from the clusters that prove who they are.
    const busy = inAll(proven === undefined ? 'shared' : 'proven');
    if (busy > 0) return refuse(registration, rateLimited(busy));
    const issued = await issue(state, authority, registrant, await readRequest(state, registration));
    if ('refused' in issued) return refuse(registration, issued.refused);
    countOne(state.registrations, registrant.proof === 'certificate' ? 'Renewed' : 'Issued');
    return issued;
  }

  function refuse({ peer, metadata }: IncomingRegistration, refused: StreamEnd): Refused {
    countOne(state.registrations, refused.reason);
    const claimed = quote(metadata['fleetrelay-cluster'] ?? '');
    noteEnd(state, refused, callerOf(peer), { peer, claimed, what: 'registration' });
    return { refused };
  }
}

/** Reads the request, which the transport receives only now. */
async function readRequest({ deps, limits }: ServerState, { read }: IncomingRegistration): Promise<Uint8Array> {
  const arrived = new AbortController();
  const late = deps.clock.sleep(limits.helloMs, arrived.signal).then(() => undefined);
  const request = await Promise.race([read(), late]);
  arrived.abort();
  if (request !== undefined) return request;
  throw new ProtocolError('NoRequest', `no certificate request within ${limits.helloMs / 1000} s`);
}

function rateLimited(milliseconds: number): StreamEnd {
  const message = `too many registrations; try again in ${Math.ceil(milliseconds / 1000)} s`;
  return { code: 'unavailable', reason: 'RateLimited', message };
}

function identify(state: ServerState, { metadata, certificate: der }: IncomingRegistration): Registrant | Refused {
  const { options } = state;
  const claimed = metadata['fleetrelay-cluster'] ?? '';
  if (der !== undefined) {
    const caller = recognizeCertificate(options, der, true, claimed);
    return 'refused' in caller ? caller : { ...caller, proof: 'certificate' };
  }
  const token = bearerToken(metadata) ?? '';
  const own = judgeToken(state, claimed, token);
  const shared = options.sharedToken !== undefined && isSharedToken(options.sharedToken, token);
  const cluster = parseClusterName(claimed);
  if ('refused' in own && !shared) return own;
  if (!cluster.ok) return { refused: WRONG_TOKEN };
  return { cluster: cluster.value, proof: 'refused' in own ? 'shared' : 'token', certificate: undefined };
}

async function issue(
  state: ServerState,
  authority: CertificateAuthority,
  { cluster, proof, certificate: shown }: Registrant,
  bytes: Uint8Array,
): Promise<{ readonly response: Uint8Array } | Refused> {
  const { listener, options, deps } = state;
  const { clusterId, version, certificateRequest, ...request } = readRegisterRequest(bytes);
  if (request.cluster !== cluster) {
    return {
      refused: mismatch(`the registration names cluster ${quote(request.cluster)}, the proof is of ${cluster}`),
    };
  }
  if (shown !== undefined && isForOtherId(shown, clusterId)) {
    return { refused: mismatch('the certificate that was shown is for another cluster of this name') };
  }
  if (shown !== undefined && endOfCertificate(shown, clusterId, state.slots.get(cluster)) <= deps.clock.now()) {
    return { refused: CERTIFICATE_EXPIRED };
  }
  const uri = identityUri({ fleet: options.fleet, cluster, clusterId });
  const facts = await authority.inspect(certificateRequest);
  if (!facts.ok) return { refused: { code: 'invalid', reason: 'MalformedRequest', message: facts.problem } };
  const unfit = judgeRequest(facts.value, { cluster, uri });
  if (unfit !== undefined) return { refused: unfit };
  const proven = { cluster, clusterId, proof, ...(shown === undefined ? {} : { certificate: shown }) };
  const decision = listener.mayRegister(proven);
  if (decision.type !== 'admitted') return { refused: endOfDecision(decision) };
  const { registration } = decision;
  const validFrom = deps.clock.now() - BACKDATE_MS;
  const { certificate, expiresAt } = await authority.issue({
    ...{ publicKey: facts.value.publicKey, commonName: CLIENT_COMMON_NAME, dnsName: cluster, uri, validFrom },
    ...(registration === undefined ? {} : { registration }),
  });
  const slot = state.slots.get(cluster);
  if (slot !== undefined) slot.renewed = { clusterId, issuedAt: validFrom, expiresAt };
  const line = { cluster, proof, version, expires: new Date(expiresAt).toISOString() };
  deps.log.info('relay: a client certificate was issued', line);
  return { response: registerResponseBytes({ certificate, roots: deps.roots?.current() ?? '' }) };
}

const CURVES: readonly string[] = ['prime256v1', 'secp384r1'];
const LEAST_RSA_BITS = 2048;
/** A longer key costs the server too much time. */
const MOST_RSA_BITS = 8192;

/**
 * Why no certificate is issued for a request; undefined if nothing is wrong with it. The server chooses the names of the
 * certificate. A request for other names is refused all the same, so that no caller gets less than it asked for.
 */
export function judgeRequest(
  { proven, publicKey, names, authority }: CertificateRequestFacts,
  { cluster, uri }: { readonly cluster: string; readonly uri: string },
): StreamEnd | undefined {
  const refusal = (reason: string, message: string): StreamEnd => ({ code: 'invalid', reason, message });
  // Before the signature, which the platform cannot check for every kind of key.
  const weakness = weaknessOf(publicKey);
  if (weakness !== undefined) return refusal('WeakKey', weakness);
  if (!proven) return refusal('BadSignature', 'the certificate request is not signed by the key that it is for');
  if (authority) return refusal('AuthorityAsked', 'the certificate request asks for the right to sign certificates');
  const allowed = { CN: [CLIENT_COMMON_NAME, cluster], DNS: [cluster], URI: [uri], other: [] };
  const other = names.find(({ type, value }) => !(allowed[type] as readonly string[]).includes(value));
  if (other === undefined) return undefined;
  const message = `the certificate request asks for the name ${other.type} ${quote(other.value)}, which is not the cluster's`;
  return refusal('OtherName', message);
}

function weaknessOf(publicKey: Uint8Array): string | undefined {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
  } catch {
    return 'the key of the certificate request cannot be read';
  }
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'ec':
      return CURVES.includes(namedCurve) ? undefined : `a key on the curve ${quote(namedCurve)}: use P-256 or P-384`;
    case 'rsa':
      if (modulusLength < LEAST_RSA_BITS) {
        return `an RSA key of ${modulusLength} bits, at least ${LEAST_RSA_BITS} are needed`;
      }
      if (modulusLength <= MOST_RSA_BITS) return undefined;
      return `an RSA key of ${modulusLength} bits, at most ${MOST_RSA_BITS} are taken`;
    default:
      return `a key of the kind ${quote(String(key.asymmetricKeyType))}: use ECDSA on P-256 or P-384, or RSA`;
  }
}

/** The address of a peer for rate limits and logs; for IPv6 its /64 network, whose addresses one caller has all. */
export function callerOf(peer: string): string {
  const address = peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (inside !== undefined || !isIPv6(address)) return inside ?? address;
  const [head = '', tail] = address.split('::');
  const start = head === '' ? [] : head.split(':');
  const end = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - start.length - end.length);
  return [...start, ...Array.from({ length: gap }, () => '0'), ...end].slice(0, 4).join(':');
}
