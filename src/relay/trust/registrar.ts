import { type ClusterName, parseClusterName, quote } from '../../model/ids.ts';
import type { CertificateAuthority } from '../../ports/certificate-authority.ts';
import type { IncomingRegistration, RegistrationAnswer, StreamEnd } from '../../ports/transport.ts';
import { noteEnd, type ServerState } from '../server-state.ts';
import { endOfAdmission } from '../server-welcome.ts';
import type { RegistrationRequest } from '../session.ts';
import { ProtocolError } from '../wire/protocol-error.ts';
import { type RegisterQuestion, readRegisterRequest, registerResponseBytes } from '../wire/register.ts';
import { endOfCertificate, OVER } from './certificate-end.ts';
import { identityUri } from './identity-uri.ts';
import { judgeToken, WRONG_TOKEN } from './known-token.ts';
import { BACKDATE_MS, CLIENT_COMMON_NAME, isForOtherId, mismatch, type PeerCertificate } from './peer-certificate.ts';
import { callerOf, createRateLimit } from './rate-limit.ts';
import { recognizeCertificate } from './recognize.ts';
import { judgeRequest } from './request-rules.ts';
import { refuseSlowly } from './slow-refusal.ts';
import { bearerToken, isSharedToken } from './token.ts';

/** Who asks for a certificate, and how it has proven itself. */
interface Applicant {
  readonly cluster: ClusterName;
  readonly proof: RegistrationRequest['proof'];
  readonly certificate: PeerCertificate | undefined;
}

type Refused = { readonly refused: StreamEnd };

/**
 * Answers questions for client certificates. In order of what it costs: the proof, how often the caller asks, how much is
 * asked in all, the request, the listener's word, the signature. So a stranger costs little, and uses up nothing that
 * agents need.
 */
export function createRegistrar(
  state: ServerState,
): (registration: IncomingRegistration) => Promise<RegistrationAnswer> {
  const { clock, log, authority } = state.deps;
  const perCaller = createRateLimit(clock, state.limits.registrationsPerCaller);
  const inAll = createRateLimit(clock, state.limits.registrations);

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
    const applicant = identify(state, registration);
    const early = perCaller.take(askerOf(applicant, registration));
    if (early > 0) return refuse(registration, rateLimited(early));
    if ('refused' in applicant) {
      return { refused: await refuseSlowly(state, refuse(registration, applicant.refused).refused) };
    }
    const busy = inAll.take('');
    if (busy > 0) return refuse(registration, rateLimited(busy));
    const question = readRegisterRequest(await readQuestion(state, registration));
    const issued = await issue(state, authority, applicant, question);
    if ('refused' in issued) return refuse(registration, issued.refused);
    count(state, applicant.proof === 'certificate' ? 'Renewed' : 'Issued');
    return issued;
  }

  function refuse({ peer, metadata }: IncomingRegistration, refused: StreamEnd): Refused {
    count(state, refused.reason);
    const claimed = quote(metadata['fleetrelay-cluster'] ?? '');
    noteEnd(state, refused, callerOf(peer), { peer, claimed, what: 'registration' });
    return { refused };
  }
}

/** What is asked, which is not taken in before it is known who asks. */
async function readQuestion({ deps, limits }: ServerState, { read }: IncomingRegistration): Promise<Uint8Array> {
  const arrived = new AbortController();
  const late = deps.clock.sleep(limits.helloMs, arrived.signal).then(() => undefined);
  const question = await Promise.race([read(), late]);
  arrived.abort();
  if (question !== undefined) return question;
  throw new ProtocolError('NoRequest', `no certificate request within ${limits.helloMs / 1000} s`);
}

function count({ registrations }: ServerState, outcome: string): void {
  registrations.set(outcome, (registrations.get(outcome) ?? 0) + 1);
}

function rateLimited(milliseconds: number): StreamEnd {
  const message = `too many registrations; try again in ${Math.ceil(milliseconds / 1000)} s`;
  return { code: 'unavailable', reason: 'RateLimited', message };
}

function identify(state: ServerState, { metadata, certificate: der }: IncomingRegistration): Applicant | Refused {
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

/**
 * Whose questions are counted together: a cluster's with a proof that cannot be guessed, wherever it asks from; else an
 * address's, behind which there may be agents as well.
 */
function askerOf(applicant: Applicant | Refused, { peer }: IncomingRegistration): string {
  return 'refused' in applicant || applicant.proof === 'shared' ? callerOf(peer) : `cluster ${applicant.cluster}`;
}

async function issue(
  state: ServerState,
  authority: CertificateAuthority,
  { cluster, proof, certificate: shown }: Applicant,
  question: RegisterQuestion,
): Promise<{ readonly response: Uint8Array } | Refused> {
  const { listener, options, deps } = state;
  const { clusterId } = question;
  if (question.cluster !== cluster) {
    return {
      refused: mismatch(`the registration names cluster ${quote(question.cluster)}, the proof is of ${cluster}`),
    };
  }
  if (shown !== undefined && isForOtherId(shown, clusterId)) {
    return { refused: mismatch('the certificate that was shown is for another cluster of this name') };
  }
  const isOver = (certificate: PeerCertificate): boolean =>
    endOfCertificate(certificate, clusterId, state.slots.get(cluster)) <= deps.clock.now();
  if (shown !== undefined && isOver(shown)) return { refused: OVER };
  const uri = identityUri({ fleet: options.fleet, cluster, clusterId });
  const facts = await authority.inspect(question.certificateRequest);
  if (!facts.ok) return { refused: { code: 'invalid', reason: 'MalformedRequest', message: facts.problem } };
  const unfit = judgeRequest(facts.value, { cluster, uri });
  if (unfit !== undefined) return { refused: unfit };
  const request = { cluster, clusterId, proof, ...(shown === undefined ? {} : { certificate: shown }) };
  const admission = listener.mayRegister(request);
  if (admission.type !== 'admitted') return { refused: endOfAdmission(admission) };
  const validFrom = deps.clock.now() - BACKDATE_MS;
  const { certificate, expiresAt } = await authority.issue({
    publicKey: facts.value.publicKey,
    commonName: CLIENT_COMMON_NAME,
    dnsName: cluster,
    uri,
    validFrom,
    ...(admission.registration === undefined ? {} : { registration: admission.registration }),
  });
  const slot = state.slots.get(cluster);
  if (slot !== undefined) slot.renewed = { clusterId, issuedAt: validFrom, expiresAt };
  const line = { cluster, proof, version: question.version, expires: new Date(expiresAt).toISOString() };
  deps.log.info('relay: a client certificate was issued', line);
  return { response: registerResponseBytes({ certificate, roots: deps.roots?.current() ?? '' }) };
}
