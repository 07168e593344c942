import type { FleetName } from '../../model/fleet/ids.ts';
import { backOffMs } from '../../model/limits/back-off.ts';
import { errorText } from '../../model/text/messages.ts';
import { createTurns } from '../../model/values/in-turn.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';
import type { CertificateRequest, CertificateRequests } from '../../ports/certificate-requests.ts';
import type { AgentCredentials, CredentialStore } from '../../ports/credentials.ts';
import type { ClientConnection, StreamEnd } from '../../ports/transport.ts';
import { readRegisterResponse, registerRequestBytes } from '../wire/frames.ts';
import { ProtocolError } from '../wire/scalars.ts';
import { type ClientCertificate, readPair, verifiesChain } from './certificates.ts';
import {
  type Applicant,
  badSettings,
  type ClientTrust,
  type ClientTrustDeps,
  type TrustedConnection,
} from './client-trust.ts';
import { streamMetadata, tokenCommand } from './tokens.ts';

/** What enrolling needs. */
export interface EnrolmentDeps extends ClientTrustDeps {
  readonly store: CredentialStore;
  readonly requests: CertificateRequests;
}

const NONE: AgentCredentials = { key: '', certificate: '', roots: '', requestedKey: '' };
/** Part of the life after which a certificate is renewed, or up to a twentieth earlier, so that a fleet does not renew in step. */
const RENEW_AFTER = 2 / 3;
const SPREAD = 1 / 20;
/**
 * Number of failed attempts after which the agent shows a refused or expired pair again: the server may have found its authority
 * again, or the clock may be wrong.
 */
const SHOW_DOUBTED_EVERY = 8;

/** What a registration gives: a certificate for the requested key, and roots, which may be empty. */
type IssuedPair = Omit<AgentCredentials, 'requestedKey'>;
/** An issued certificate with its key. Times are milliseconds since 1970 by the wall clock of this machine. */
type Pair = NonNullable<ReturnType<typeof pairOf>>;
type Enrolment = ReturnType<typeof newState>;

function newState(deps: EnrolmentDeps, options: Applicant) {
  return {
    deps,
    options,
    /** Reads and writes of the store follow each other, and each write starts from the result of the one before. */
    inTurn: createTurns(),
    /** The content of the store, as far as this process knows. */
    stored: NONE,
    /** The certificate of `stored`, if it is usable. */
    pair: undefined as Pair | undefined,
    loaded: false,
    /** The server has refused the pair. */
    doubted: false,
    /** The server issues no certificates: the token authenticates every stream. */
    tokenOnly: false,
    /** Consecutive failures to enrol. */
    failures: 0,
    /** The request of the present enrolment. Every attempt, also of the next process, asks for the same key. */
    asked: undefined as CertificateRequest | undefined,
    /** Issued, but the store could not save it yet. */
    unsaved: undefined as IssuedPair | undefined,
  };
}

/**
 * Authentication with a client certificate that the server issues for the token, and renews. The states: without a usable
 * pair the agent enrols; with one it shows the pair; after a refusal it enrols again but keeps the pair; a server that
 * issues no certificates gets the token on every stream.
 */
export function createEnrolment(deps: EnrolmentDeps, options: Applicant): ClientTrust {
  const enrolment = newState(deps, options);
  return {
    open: (fleet, stopping) => open(enrolment, fleet, stopping).catch(badSettings),
    keep(opened, over) {
      if (opened.shown !== undefined) void keepRenewed(enrolment, opened.connection, over);
    },
    takeRoots: ({ connection }, roots) => void takeRoots(enrolment, connection, roots),
    ended({ shown }, { code }) {
      if (code !== 'unauthenticated') return;
      // A newer pair, which was not shown yet, is not the refused one.
      if (shown !== undefined && enrolment.pair?.certificate === shown) enrolment.doubted = true;
      enrolment.tokenOnly = false;
    },
    expiresAt: () => enrolment.pair?.expiresAt,
    settled: () => enrolment.inTurn(async () => undefined),
  };
}

async function open(
  enrolment: Enrolment,
  fleet: FleetName | undefined,
  stopping: AbortSignal,
): Promise<TrustedConnection | StreamEnd> {
  const { deps, options, doubted } = enrolment;
  const refused = doubted ? enrolment.pair?.certificate : undefined;
  const loaded = await enrolment.inTurn(async () => (enrolment.loaded && !doubted ? ok(undefined) : load(enrolment)));
  if (!loaded.ok) {
    return { code: 'lost', reason: 'CredentialsUnreadable', message: `${deps.store.place}: ${loaded.problem}` };
  }
  // Another replica may have renewed it.
  if (doubted && enrolment.pair?.certificate !== refused) enrolment.doubted = false;
  if (enrolment.unsaved !== undefined) {
    const failure = await saveIssued(enrolment, enrolment.unsaved);
    if (failure !== undefined) return failure;
  }
  if (enrolment.tokenOnly) return dialWithToken(enrolment, options.token());
  const { pair } = enrolment;
  if (pair === undefined || isForOther(enrolment, pair, fleet)) return enrol(enrolment, stopping);
  if (!enrolment.doubted && deps.clock.now() < pair.expiresAt) return show(enrolment, pair);
  if (enrolment.failures % SHOW_DOUBTED_EVERY !== SHOW_DOUBTED_EVERY - 1) return enrol(enrolment, stopping);
  enrolment.failures += 1;
  return show(enrolment, pair);
}

/** Whether the stored pair is for another cluster, or from another fleet than the objects of the agent. */
function isForOther({ options }: Enrolment, { content, own }: Pair, fleet: FleetName | undefined): boolean {
  if (unfitness(content, options) !== undefined) return true;
  return !own && fleet !== undefined && content.identities[0]?.fleet !== fleet;
}

/** Why a certificate does not identify this agent, in words; undefined if it does. */
function unfitness(
  { names, identities }: ClientCertificate,
  { cluster, clusterId }: Pick<Applicant, 'cluster' | 'clusterId'>,
): string | undefined {
  if (!names.includes(cluster)) return `it is for ${names.join(', ') || 'no cluster'}`;
  const [identity] = identities;
  if (identity === undefined) return 'it does not say for which cluster of this name it is';
  if (identity.cluster !== cluster) return `it is for the cluster ${identity.cluster}`;
  return identity.clusterId === clusterId ? undefined : 'it is for another cluster of this name';
}

function show({ deps, options, stored }: Enrolment, { key, certificate }: Pair): TrustedConnection {
  const connection = deps.transport.dial({ identity: { key, certificate }, roots: stored.roots });
  return { connection, metadata: streamMetadata(options.cluster, ''), shown: certificate };
}

/** A connection that shows no certificate, and its metadata with the token. */
function dialWithToken({ deps, options, stored }: Enrolment, token: string): TrustedConnection {
  const connection = deps.transport.dial({ roots: stored.roots });
  return { connection, metadata: streamMetadata(options.cluster, token) };
}

async function enrol(enrolment: Enrolment, stopping: AbortSignal): Promise<TrustedConnection | StreamEnd> {
  const { deps, options } = enrolment;
  // Counted first, so that any failure below leads to an attempt with the old pair in the end.
  enrolment.failures += 1;
  const token = options.token().trim();
  const opened = dialWithToken(enrolment, token);
  const { connection } = opened;
  stopping.addEventListener('abort', connection.close);
  const asked = await requestOf(enrolment);
  const issued = await register(asked, options, connection, token).finally(() =>
    stopping.removeEventListener('abort', connection.close),
  );
  if (!('code' in issued)) enrolment.asked = undefined;
  if ('code' in issued && issued.reason === 'NotOffered') {
    enrolment.tokenOnly = true;
    enrolment.failures = 0;
    // A server that issues no certificates verifies none, so its refusal was not about the pair.
    enrolment.doubted = false;
    deps.log.info('relay: the server issues no client certificates: the token is shown on every stream');
    return opened;
  }
  const failure =
    'code' in issued
      ? explained(enrolment, issued)
      : await saveIssued(enrolment, withVerifiedRoots(enrolment, connection, issued));
  connection.close();
  const { pair } = enrolment;
  if (failure !== undefined || pair === undefined) return failure ?? badSettings(undefined);
  deps.log.info('relay: enrolled', { place: deps.store.place, expires: new Date(pair.expiresAt).toISOString() });
  return show(enrolment, pair);
}

/** The request of the present enrolment: for the key that this process or an earlier one has asked for, or for a new one. */
async function requestOf(enrolment: Enrolment): Promise<CertificateRequest> {
  const { deps } = enrolment;
  if (enrolment.asked !== undefined) return enrolment.asked;
  enrolment.asked = (await requestedBefore(enrolment)) ?? (await deps.requests.create());
  const saved = await enrolment.inTurn(() => save(enrolment, { requestedKey: enrolment.asked?.key ?? '' }));
  if (saved.ok) return enrolment.asked;
  // Another replica may have saved its key first.
  const other = await requestedBefore(enrolment);
  if (other === undefined) {
    const data = { place: deps.store.place, detail: saved.problem };
    deps.log.warn('relay: the key of the enrolment cannot be saved: a new process would ask for another one', data);
  }
  enrolment.asked = other ?? enrolment.asked;
  return enrolment.asked;
}

async function requestedBefore({ deps, stored }: Enrolment): Promise<CertificateRequest | undefined> {
  if (stored.requestedKey === '') return undefined;
  return deps.requests.again(stored.requestedKey).catch((error: unknown) => {
    const data = { place: deps.store.place, detail: errorText(error) };
    deps.log.warn('relay: the stored key of an enrolment cannot be used: the agent asks for a new one', data);
    return undefined;
  });
}

/** Adds the reason for enrolling to a refusal. */
function explained({ doubted, pair, options }: Enrolment, end: StreamEnd): StreamEnd {
  if (end.code !== 'unauthenticated') return end;
  const expired = pair === undefined ? 'it has no certificate yet' : 'its certificate has run out';
  const why = doubted ? 'the server does not take its certificate any more' : expired;
  const advice =
    end.reason === 'TokenRenewed'
      ? ''
      : `; print its token where the server runs: ${tokenCommand(options.cluster, 'enrolment')}`;
  return { ...end, message: `the agent has to enrol, because ${why}, and the server says: ${end.message}${advice}` };
}

/**
 * Requests a certificate over this connection. Resolves with a pair that fits the key and the agent (empty
 * roots: the server sent none), or with the reason for none.
 */
export async function register(
  { key, request }: CertificateRequest,
  applicant: Omit<Applicant, 'token'>,
  connection: ClientConnection,
  token: string,
): Promise<IssuedPair | StreamEnd> {
  const { cluster, clusterId, version } = applicant;
  const question = registerRequestBytes({ cluster, clusterId, version, certificateRequest: request });
  const answer = await connection.register(question, streamMetadata(cluster, token));
  if ('refused' in answer) return answer.refused;
  try {
    const { certificate, roots } = readRegisterResponse(answer.response);
    const content = readPair({ key, certificate });
    const unfit = content.ok ? unfitness(content.value, applicant) : content.problem;
    return unfit === undefined ? { key, certificate, roots } : useless('WrongCertificate', unfit);
  } catch (error) {
    if (error instanceof ProtocolError) return useless(error.reason, error.message);
    throw error;
  }
}

function useless(reason: string, message: string): StreamEnd {
  return { code: 'invalid', reason, message: `the server has issued a certificate that is of no use here: ${message}` };
}

/** The issued pair; without its roots if they do not verify the server that sent them. */
function withVerifiedRoots(enrolment: Enrolment, connection: ClientConnection, issued: IssuedPair) {
  if (issued.roots === '' || verifies(enrolment, connection, issued.roots)) return issued;
  const message = 'relay: the roots that the server gave do not lead to its own certificate: those known before stay';
  enrolment.deps.log.warn(message);
  return { ...issued, roots: '' };
}

function verifies({ deps }: Enrolment, connection: ClientConnection, roots: string): boolean {
  return verifiesChain(connection.serverChain(), roots, deps.clock.now());
}

async function takeRoots(enrolment: Enrolment, connection: ClientConnection, roots: string): Promise<void> {
  const { log, store } = enrolment.deps;
  if (roots.trim() === '' || roots === enrolment.stored.roots) return;
  if (!verifies(enrolment, connection, roots)) {
    log.warn(
      'relay: the server has sent roots that do not lead to the certificate that it has shown: they are ignored',
    );
    return;
  }
  const saved = await enrolment.inTurn(() => save(enrolment, { roots }));
  if (saved.ok) log.info('relay: the server has sent the roots of its certificate');
  else log.warn('relay: the roots cannot be saved', { place: store.place, detail: saved.problem });
}

/** Loads the store. A failure counts only if nothing was loaded before. */
async function load(enrolment: Enrolment): Promise<Result<void>> {
  try {
    hold(enrolment, (await enrolment.deps.store.load()) ?? NONE, false);
    enrolment.loaded = true;
    return ok(undefined);
  } catch (error) {
    return enrolment.loaded ? ok(undefined) : problem(errorText(error));
  }
}

/** Saves these parts of the credentials. On a problem the store is loaded again: another process may have saved. */
async function save(enrolment: Enrolment, parts: Partial<AgentCredentials>): Promise<Result<void>> {
  const { stored, deps } = enrolment;
  const next = { ...stored, ...parts };
  const { key, certificate, roots, requestedKey } = next;
  const isSaved = requestedKey === stored.requestedKey && key === stored.key && certificate === stored.certificate;
  if (isSaved && roots === stored.roots) return ok(undefined);
  try {
    await deps.store.save(next);
    hold(enrolment, next, true);
    return ok(undefined);
  } catch (error) {
    await load(enrolment);
    return problem(errorText(error));
  }
}

/** Saves an issued pair; the agent shows it only after that. On a failure it is kept for the next attempt. */
async function saveIssued(enrolment: Enrolment, issued: IssuedPair): Promise<StreamEnd | undefined> {
  const { key, certificate, roots } = issued;
  const before = enrolment.pair?.certificate;
  const saved = await enrolment.inTurn(() =>
    save(enrolment, { key, certificate, requestedKey: '', ...(roots === '' ? {} : { roots }) }),
  );
  const after = enrolment.pair?.certificate;
  // A pair that another replica has saved meanwhile is as good.
  if (!saved.ok && (after === undefined || after === before)) {
    enrolment.unsaved = issued;
    const message = `the client certificate cannot be saved in ${enrolment.deps.store.place}: ${saved.problem}`;
    return { code: 'lost', reason: 'CredentialsUnsaved', message };
  }
  enrolment.unsaved = undefined;
  enrolment.doubted = false;
  enrolment.failures = 0;
  return undefined;
}

function hold(enrolment: Enrolment, credentials: AgentCredentials, own: boolean): void {
  const { stored, deps } = enrolment;
  const { key, certificate } = credentials;
  enrolment.stored = credentials;
  if (stored.key === key && stored.certificate === certificate) return;
  enrolment.pair = certificate === '' ? undefined : pairOf(deps, credentials, own);
}

/** `own`: it was issued to this process. */
function pairOf(deps: EnrolmentDeps, { key, certificate }: AgentCredentials, own: boolean) {
  const { store, clock, random, log } = deps;
  const content = readPair({ key, certificate });
  if (!content.ok) {
    log.warn('relay: the stored client certificate cannot be used', { place: store.place, detail: content.problem });
    return undefined;
  }
  const { validFrom, expiresAt: notAfter } = content.value;
  const now = clock.now();
  // A certificate that was just issued is valid. If this clock disagrees, the clocks differ, and the duration counts.
  const differ = own && (now < validFrom || now >= notAfter);
  const expiresAt = differ ? now + (notAfter - validFrom) : notAfter;
  const from = own ? now : validFrom;
  const renewAt = from + (expiresAt - from) * RENEW_AFTER * (1 - SPREAD * random.next());
  return { key, certificate, content: content.value, renewAt, expiresAt, own };
}

/** Interval of reading the wall clock: it may jump, and a machine may sleep. */
const LOOK_MS = 60 * 60 * 1000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 60 * 60 * 1000;
/** However near the end of the certificate: a fleet must not storm a server that renews nothing. */
const SHORTEST_PAUSE_MS = 60_000;
/** Interval of the warning about one reason. */
const WARN_EVERY_MS = 24 * 60 * 60 * 1000;

/** Renews the client certificate over this connection, whenever that is due, until the signal. Streams stay open. */
async function keepRenewed(enrolment: Enrolment, connection: ClientConnection, over: AbortSignal): Promise<void> {
  const { clock, random, log } = enrolment.deps;
  let failures = 0;
  let warned: { readonly reason: string; readonly at: number } | undefined;
  for (;;) {
    const { pair } = enrolment;
    if (pair === undefined || over.aborted) return;
    const wait = pair.renewAt - clock.now();
    if (wait > 0) {
      await clock.sleep(Math.min(wait, LOOK_MS), over);
      continue;
    }
    const failure = await renew(enrolment, connection).catch(
      (error: unknown): StreamEnd => ({ code: 'lost', reason: 'Internal', message: String(error) }),
    );
    if (failure === undefined) {
      failures = 0;
      warned = undefined;
      continue;
    }
    if (over.aborted) return;
    const now = clock.now();
    const pause = renewalPause(pair, now, failures) * (0.75 + random.next() / 4);
    const retryInMs = Math.max(pause, failure.retryAfterMs ?? 0);
    failures += 1;
    const { reason, message } = failure;
    const line = { reason, detail: message, expires: new Date(pair.expiresAt).toISOString(), retryInMs };
    if (warned?.reason === reason && now - warned.at < WARN_EVERY_MS) {
      log.debug('relay: the client certificate is still not renewed', line);
    } else {
      log.warn('relay: the client certificate could not be renewed', line);
      warned = { reason, at: now };
    }
    await clock.sleep(retryInMs, over);
  }
}

/** Grows with the failures, but leaves several attempts before the certificate expires, also for a short life. */
function renewalPause({ renewAt, expiresAt }: Pair, now: number, failures: number): number {
  const shortest = Math.min(SHORTEST_PAUSE_MS, Math.max(1_000, (expiresAt - renewAt) / 300));
  return Math.max(shortest, Math.min(backOffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), (expiresAt - now) / 8));
}

async function renew(enrolment: Enrolment, connection: ClientConnection): Promise<StreamEnd | undefined> {
  const { deps, options } = enrolment;
  const issued = enrolment.unsaved ?? (await register(await deps.requests.create(), options, connection, ''));
  if ('code' in issued) return issued;
  const failure = await saveIssued(enrolment, withVerifiedRoots(enrolment, connection, issued));
  if (failure !== undefined) return failure;
  const expiresAt = enrolment.pair?.expiresAt ?? 0;
  deps.log.info('relay: the client certificate was renewed', { expires: new Date(expiresAt).toISOString() });
  return undefined;
}
