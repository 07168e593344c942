import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { type ClusterName, parseClusterName, quote } from '../../model/fleet/ids.ts';
import { createRateLimit } from '../../model/limits/rate-limit.ts';
import { given } from '../../model/values/given.ts';
import { unreachable } from '../../model/values/result.ts';
import type { CertificateAuthority, CertificateRequestFacts } from '../../ports/certificate-authority.ts';
import type { IncomingRegistration, RegistrationAnswer, StreamEnd } from '../../ports/transport.ts';
import { callerOf } from '../caller.ts';
import { count, endOfDecision, noteEnd, noteRefusal, type ServerState } from '../server-state.ts';
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
  readCertificate,
  unauthenticated,
} from './certificates.ts';
import type { EnrolmentToken } from './enrolment-tokens.ts';
import {
  CERTIFICATE_EXPIRED,
  CONNECTION_TOKEN,
  delayWrongToken,
  endOfCertificate,
  judgeEnrolmentToken,
  judgeToken,
  type Refused,
  recognizeCertificate,
  WRONG_TOKEN,
} from './recognize.ts';
import { bearerToken, isSharedToken } from './tokens.ts';

/** An agent with a connection token shows it on its streams then. */
const NOT_OFFERED: StreamEnd = {
  code: 'refused',
  reason: 'NotOffered',
  message: 'this server issues no certificates to an agent with a connection token, or to any',
};

/** The authenticated caller of a registration. */
interface Registrant {
  readonly cluster: ClusterName;
  readonly proof: RegistrationRequest['proof'];
  readonly certificate: ClientCertificate | undefined;
  /** Of the proof `token`. */
  readonly token?: EnrolmentToken;
}

/**
 * Answers requests for client certificates. The checks are in the order of their cost: authentication, the rate of the
 * cluster (if a proof that cannot be guessed authenticates it) or of the address, the rate of all such callers, the request,
 * the decision of the listener, the signature. So an unauthenticated caller costs little and takes nothing from the rates of
 * agents, and one agent cannot use up the rate of all. A request that the listener does not admit takes nothing from the rates
 * of its caller and of all, within a rate of its own.
 */
export function createRegistrar(
  state: ServerState,
): (registration: IncomingRegistration) => Promise<RegistrationAnswer> {
  const { clock, log, authority } = state.deps;
  const perCluster = createRateLimit(clock.monotonic, state.limits.registrationsPerCluster);
  const perAddress = createRateLimit(clock.monotonic, state.limits.registrationsPerAddress);
  const inAll = createRateLimit(clock.monotonic, state.limits.registrations);
  const notAdmitted = createRateLimit(clock.monotonic, state.limits.registrationsNotAdmitted);

  return (registration) => answer(registration).catch((error: unknown) => refuse(registration, failure(error)));

  async function answer(registration: IncomingRegistration): Promise<RegistrationAnswer> {
    if (state.draining) {
      return refuse(registration, { code: 'unavailable', reason: 'Draining', message: 'the server is shutting down' });
    }
    if (authority === undefined) {
      return refuse(registration, NOT_OFFERED);
    }
    const registrant = identify(state, registration);
    const proven = 'refused' in registrant || registrant.proof === 'shared' ? undefined : registrant.cluster;
    const [own, caller] =
      proven === undefined ? ([perAddress, callerOf(registration.peer)] as const) : ([perCluster, proven] as const);
    const early = own(caller);
    if (early > 0) return refuse(registration, rateLimited(early), proven !== undefined);
    if ('refused' in registrant) {
      return { refused: await delayWrongToken(state, refuse(registration, registrant.refused).refused) };
    }
    // The shared token can be guessed or leak: who has it takes nothing from the clusters that prove who they are.
    const group = proven === undefined ? 'shared' : 'proven';
    const busy = inAll(group);
    if (busy > 0) return refuse(registration, rateLimited(busy), proven !== undefined);
    const issued = await readRequest(state, registration)
      .then((request) => issue(state, authority, registrant, request))
      .catch((error: unknown) => ({ refused: failure(error), isNotAdmitted: false }));
    if (!('refused' in issued)) return issued;
    if (issued.isNotAdmitted && notAdmitted(caller) === 0) {
      own.giveBack(caller);
      inAll.giveBack(group);
    }
    return refuse(registration, issued.refused, proven !== undefined);
  }

  function failure(error: unknown): StreamEnd {
    if (error instanceof ProtocolError) return { code: error.code, reason: error.reason, message: error.message };
    log.error('relay: a registration failed', { error });
    const message = 'no certificate could be issued; the log of the server says why';
    return { code: 'unavailable', reason: 'Internal', message };
  }

  function refuse({ peer, metadata }: IncomingRegistration, refused: StreamEnd, isProven = false): Refused {
    count(state.registrations, refused.reason);
    const claimed = metadata['fleetrelay-cluster'] ?? '';
    noteEnd(state, refused, callerOf(peer), { peer, claimed: quote(claimed), what: 'registration' });
    noteRefusal(state, refused, { claimed, peer, isProven, wasConnected: false });
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
  return { code: 'unavailable', reason: 'RateLimited', message, retryAfterMs: milliseconds };
}

function identify(state: ServerState, { metadata, certificate: der }: IncomingRegistration): Registrant | Refused {
  const { options } = state;
  const { mode = 'tls', sharedToken } = options;
  const claimed = metadata['fleetrelay-cluster'] ?? '';
  if (der !== undefined) {
    const caller = recognizeCertificate(state, der, claimed);
    return 'refused' in caller ? caller : { ...caller, proof: 'certificate' };
  }
  const text = bearerToken(metadata) ?? '';
  // All three are computed for every token, so that the time of an answer does not tell them apart.
  const connection = judgeToken(state, claimed, text);
  const token = judgeEnrolmentToken(state, claimed, text);
  const isShared = sharedToken !== undefined && isSharedToken(sharedToken, text);
  const cluster = parseClusterName(claimed);
  if (!cluster.ok) return { refused: WRONG_TOKEN };
  const caller = { cluster: cluster.value, certificate: undefined };
  if (isShared) return { ...caller, proof: 'shared' };
  if (!('refused' in token)) return { ...caller, proof: 'token', token };
  if (!('refused' in connection)) return { refused: mode === 'mtls' ? CONNECTION_TOKEN : NOT_OFFERED };
  return token.refused === WRONG_TOKEN ? connection : token;
}

async function issue(
  state: ServerState,
  authority: CertificateAuthority,
  { cluster, proof, certificate: shown, token }: Registrant,
  bytes: Uint8Array,
): Promise<{ readonly response: Uint8Array } | (Refused & { readonly isNotAdmitted?: true })> {
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
  const key = createHash('sha256').update(facts.value.publicKey).digest('hex');
  const proven = { cluster, clusterId, proof, key, ...given({ certificate: shown }) };
  const decision = listener.mayRegister(proven);
  if (decision.type !== 'admitted') return { refused: endOfDecision(decision), isNotAdmitted: true };
  if (proof === 'shared' && deps.acceptances?.ask(cluster, { clusterId, key }) !== true) {
    return { refused: waitsFor(cluster, clusterId, key) };
  }
  const { registration, isBound = false } = decision;
  const id = token?.singleUseId;
  if (token !== undefined && id !== undefined) {
    const use = await useOnce(state, id, key, token.expiresAt);
    if ('refused' in use || 'response' in use) return use;
  }
  const validFrom = deps.clock.now() - BACKDATE_MS;
  const { certificate, expiresAt } = await authority.issue({
    publicKey: facts.value.publicKey,
    commonName: CLIENT_COMMON_NAME,
    dnsName: cluster,
    uri,
    validFrom,
    ...given({ registration }),
  });
  if (id !== undefined) await deps.usedTokens?.issued(id, certificate);
  const slot = state.slots.get(cluster);
  if (slot !== undefined) slot.renewed = { clusterId, issuedAt: validFrom, expiresAt };
  const serial = readCertificate(certificate)?.serial ?? '';
  listener.issued(proven, { serial, issuedAt: validFrom + BACKDATE_MS, expiresAt });
  const line = { cluster, proof, version, serial, expires: new Date(expiresAt).toISOString() };
  if (proof === 'certificate') count(state.registrations, 'Renewed');
  else if (isBound) {
    count(state.registrations, 'IssuedAgain');
    count(state.ofClusters.enrolledAgain, cluster);
    deps.log.warn('relay: an agent has enrolled for a cluster that has enrolled before', line);
    listener.enrolledAgain(proven, serial);
  } else count(state.registrations, 'Issued');
  deps.log.info('relay: a client certificate was issued', line);
  return responseWith(state, certificate);
}

function waitsFor(cluster: string, clusterId: string, key: string): StreamEnd {
  const command = `fleetrelay cluster accept ${cluster} --id ${clusterId} --key ${key}`;
  const message = `a cluster that comes by the shared token waits until a person accepts it: ${command}`;
  return { code: 'refused', reason: 'WaitsForAcceptance', message };
}

function responseWith({ deps: { roots } }: ServerState, certificate: string): { readonly response: Uint8Array } {
  return { response: registerResponseBytes({ certificate, roots: roots?.current() ?? '' }) };
}

/** Uses a single-use token for a key. A response: the key has got this answer before. */
async function useOnce(
  state: ServerState,
  id: string,
  key: string,
  expiresAt: number,
): Promise<{ readonly response: Uint8Array } | { readonly first: true } | Refused> {
  const { usedTokens } = state.deps;
  const use = (await usedTokens?.use(id, key, expiresAt * 1000)) ?? { type: 'used' as const };
  switch (use.type) {
    case 'first':
      return { first: true };
    case 'answered':
      return responseWith(state, use.certificate);
    case 'used':
      return { refused: unauthenticated('TokenUsed', 'this enrolment token can be used once, and was used already') };
    default:
      return unreachable(use);
  }
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
