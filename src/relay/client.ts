import { type AgentHello, TAKES_ROOTS, TAKES_SETTINGS } from '../model/agent/agent.ts';
import { backOffMs } from '../model/limits/back-off.ts';
import { given } from '../model/values/given.ts';
import type { CertificateRequests } from '../ports/certificate-requests.ts';
import type { CredentialStore } from '../ports/credentials.ts';
import type { DialCredentials, EndCode, MessageStream, StreamEnd } from '../ports/transport.ts';
import { createPullEnd, type PullEnd, type PullMemory, queueResults } from './client-pull.ts';
import { createInputState, createPushEnd, noteInput, type PushEnd } from './client-push.ts';
import { DEFAULT_LIMITS, type RelayLimits } from './limits.ts';
import { createLink } from './link.ts';
import type { RelayClient, ServerListener } from './session.ts';
import { createTransfers, type Transfers } from './transfer.ts';
import {
  type Applicant,
  type ClientTrustDeps,
  createGivenTrust,
  type TrustedConnection,
} from './trust/client-trust.ts';
import { createEnrolment } from './trust/enrolment.ts';
import { type Frame, helloFrame, readPem, readSettings, readWelcome, type ServerWelcome } from './wire/frames.ts';
import { ProtocolError, readText } from './wire/scalars.ts';

/** Settings of the agent's end. */
export interface RelayClientOptions extends Applicant {
  /** Random, one per agent process: 8 to 64 letters, digits or `-`. */
  readonly instance: string;
  /** Absent: the agent has no certificate, and shows its token on every stream. */
  readonly certificates?: ClientCertificateSource;
  readonly capabilities: readonly string[];
  /** Of the hello. */
  readonly ownNamespace?: string;
  readonly limits?: Partial<RelayLimits>;
}

/** How an agent obtains its client certificate. */
export type ClientCertificateSource =
  /** The server issues it for the token. If the server issues none, the agent shows the token on every stream. */
  | { readonly type: 'enrolled'; readonly store: CredentialStore; readonly requests: CertificateRequests }
  /** Managed outside. `read` runs at each dial; it may throw, with a text that contains no secret. */
  | { readonly type: 'given'; readonly read: () => NonNullable<DialCredentials['identity']> };

/** The agent's end, with its certificate's end for metrics. */
export interface ObservedRelayClient extends RelayClient {
  /** When the client certificate expires, in milliseconds since 1970; undefined: there is none. */
  certificateExpiresAt(): number | undefined;
}

/** First and longest pause before the next link, after the server asked the agent to reconnect. */
const SOON = { firstMs: 250, longestMs: 5_000 };
/** After the connection was lost. */
const LOST = { firstMs: 500, longestMs: 30_000 };
/** After the server refused: agents find a corrected fleet within half a minute. */
const SLOW = { firstMs: 2_000, longestMs: 30_000 };

/** The longest time that a server can make an agent wait. */
const LONGEST_TOLD_MS = 5 * 60_000;

/** After a link of this duration the back-off starts again. */
const GOOD_AFTER_MS = 10_000;
/** Time for the goodbye to leave before the connection closes. */
const GOODBYE_MS = 1_000;
const RECONNECTING: StreamEnd = {
  code: 'done',
  reason: 'Reconnecting',
  message: 'the agent connects again to tell what it holds',
};
const STOPPING: StreamEnd = { code: 'done', reason: 'Stopping', message: 'the agent is stopping' };

type ClientState = ReturnType<typeof newState>;

function newState(deps: ClientTrustDeps, options: RelayClientOptions) {
  const { cluster, clusterId, instance, version, certificates, ownNamespace } = options;
  const capabilities = [...options.capabilities, ...(certificates?.type === 'enrolled' ? [TAKES_ROOTS] : [])];
  return {
    deps,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    hello: { cluster, clusterId, instance, version, capabilities, ...given({ ownNamespace }) },
    trust:
      certificates?.type === 'enrolled'
        ? createEnrolment({ ...deps, ...certificates }, options)
        : createGivenTrust(deps, options, certificates?.read),
    input: createInputState(),
    memory: { results: new Map(), taking: undefined } as PullMemory,
    stopping: new AbortController(),
    /** The ends of the established link; undefined without one. */
    ends: undefined as { readonly pull: PullEnd; readonly push: PushEnd; readonly reconnect: () => void } | undefined,
    /** The reason in the last warning: a repeated reason is logged at debug level. */
    lastReason: undefined as string | undefined,
    running: undefined as Promise<void> | undefined,
  };
}

/** The agent's end of the relay over a transport. Starts once. */
export function createRelayClient(deps: ClientTrustDeps, options: RelayClientOptions): ObservedRelayClient {
  const state = newState(deps, options);
  return {
    start(listener) {
      if (state.running !== undefined) throw new Error('the relay client was started before');
      state.running = run(state, listener);
    },
    publishInput(snapshot, changed) {
      noteInput(state.input, snapshot, changed);
      void state.ends?.push.pump();
    },
    report(results) {
      queueResults(state.memory, results);
      void state.ends?.pull.pumpResults();
    },
    reconnect: () => state.ends?.reconnect(),
    async stop() {
      state.stopping.abort();
      await state.running;
      await state.trust.settled();
    },
    certificateExpiresAt: state.trust.expiresAt,
  };
}

/** Links to the server, one after the other, until the client is stopped. */
async function run(state: ClientState, listener: ServerListener): Promise<void> {
  const { clock, random } = state.deps;
  const { signal } = state.stopping;
  let pace: typeof SOON | undefined;
  let failures = 0;
  while (!signal.aborted) {
    listener.connection({ type: 'connecting' });
    const { end, goodForMs } = await runLink(state, listener);
    if (signal.aborted) return;
    const next = paceAfter(end.code);
    failures = pace === next && goodForMs < GOOD_AFTER_MS ? failures + 1 : 0;
    pace = next;
    // With jitter over the upper half, so that a fleet does not reconnect in step.
    const backOff = backOffMs(failures, pace.firstMs, pace.longestMs) * (0.5 + random.next() / 2);
    // Not before the time that the server has told.
    const told = Math.min(end.retryAfterMs ?? 0, LONGEST_TOLD_MS) * (1 + random.next() / 10);
    const retryInMs = Math.round(Math.max(backOff, told));
    noteEnd(state, end, retryInMs);
    listener.connection({ type: 'waiting', reason: end.reason, message: end.message, retryInMs });
    await clock.sleep(retryInMs, signal);
  }
}

function paceAfter(code: EndCode): typeof SOON {
  if (code === 'lost') return LOST;
  return code === 'done' || code === 'unavailable' ? SOON : SLOW;
}

function noteEnd(state: ClientState, end: StreamEnd, retryInMs: number): void {
  const { log, transport } = state.deps;
  const line = { server: transport.server, reason: end.reason, detail: end.message, retryInMs };
  if (state.lastReason === end.reason) log.debug('relay: still no link to the server', line);
  else log.warn('relay: no link to the server', line);
  state.lastReason = end.reason;
}

/** One link from dialling to its end. `goodForMs`: how long it was established. */
async function runLink(
  state: ClientState,
  listener: ServerListener,
): Promise<{ readonly end: StreamEnd; readonly goodForMs: number }> {
  const { clock, transport, log } = state.deps;
  const { signal } = state.stopping;
  const opened = await state.trust.open(listener.fleet(), signal);
  if ('code' in opened) return { end: opened, goodForMs: 0 };
  if (signal.aborted) {
    opened.connection.close();
    return { end: STOPPING, goodForMs: 0 };
  }
  let since: number | undefined;
  const over = new AbortController();
  const end = await useConnection(state, listener, opened, () => {
    since = clock.monotonic();
    state.trust.keep(opened, over.signal);
  });
  over.abort();
  state.trust.ended(opened, end);
  state.ends = undefined;
  opened.connection.close();
  if (since === undefined) return { end, goodForMs: 0 };
  log.info('relay: the link has ended', { server: transport.server, reason: end.reason });
  return { end, goodForMs: clock.monotonic() - since };
}

/** Opens Pull and then Push, and resolves with the end of the link. */
async function useConnection(
  state: ClientState,
  listener: ServerListener,
  opened: TrustedConnection,
  onEstablished: () => void,
): Promise<StreamEnd> {
  const { deps, limits, memory, input, trust, stopping } = state;
  const { connection, metadata } = opened;
  const { clock, log, transport } = deps;
  const takeRoots = (roots: string): void => trust.takeRoots(opened, roots);
  const pull = createPullEnd({ listener, memory, limits, log, takeRoots, stream: () => pullStream });
  const pullStream = openStream(state, listener, { stream: connection.open('Pull', metadata), pull, open: pull.open });
  const onStop = (): void => pullStream.link.end(STOPPING);
  stopping.signal.addEventListener('abort', onStop);
  const greeted = await pullStream.welcome;
  if (greeted !== undefined && (await pull.reportHolding(greeted))) {
    const push = createPushEnd({ listener, input, log, clock, stream: () => pushStream });
    const pushStream = openStream(state, listener, { stream: connection.open('Push', metadata), open: push.open });
    void pushStream.link.over.then((end) => pullStream.link.end(end));
    void pullStream.link.over.then((end) => pushStream.link.end(end));
    const welcome = await pushStream.welcome;
    if (welcome !== undefined && (await push.synchronise(welcome))) {
      const server = { server: transport.server, serverVersion: welcome.version };
      log.info('relay: connected', server);
      state.lastReason = undefined;
      listener.connection({ type: 'connected', ...server });
      onEstablished();
      state.ends = { pull, push, reconnect: () => pullStream.link.end(RECONNECTING) };
      void pull.pumpResults();
      void push.pump();
    }
  }
  const end = await pullStream.link.over;
  stopping.signal.removeEventListener('abort', onStop);
  const timeUp = new AbortController();
  await Promise.race([pullStream.closed, clock.sleep(GOODBYE_MS, timeUp.signal)]);
  timeUp.abort();
  return end;
}

interface StreamOptions {
  readonly stream: MessageStream;
  /** Of a Pull stream, which also detects silence for both streams of the connection. */
  readonly pull?: PullEnd;
  readonly open: Parameters<typeof createTransfers>[1];
}

/** Sends the hello, and reads the frames of the server. */
function openStream(state: ClientState, listener: ServerListener, { stream, pull, open }: StreamOptions) {
  const { deps, limits } = state;
  const { clock, log } = deps;
  const [fleet, kubernetesVersion] = [listener.fleet(), listener.kubernetesVersion()];
  const hello: AgentHello = { ...state.hello, ...given({ fleet, kubernetesVersion }) };
  const welcome = Promise.withResolvers<ServerWelcome | undefined>();
  let welcomed = false;
  const link = createLink({
    stream,
    clock,
    log,
    limits,
    watches: pull !== undefined,
    saysGoodbye: true,
    onFrame(frame) {
      if (welcomed) return readFrame(state, frame, transfers, pull);
      if (frame.case !== 'welcome') throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" before the welcome`);
      const answer = readWelcome(frame.value);
      welcomed = true;
      transfers.setWindow(answer.limits.window);
      pull?.welcomed(answer);
      welcome.resolve(answer);
    },
  });
  const transfers = createTransfers({ link, clock, limits }, open);
  // The server may first probe an older session of this cluster.
  const patienceMs = limits.helloMs + limits.probeMs;
  const cancel = clock.schedule(patienceMs, () => {
    link.end({ code: 'lost', reason: 'NoWelcome', message: `no answer to the hello within ${patienceMs / 1000} s` });
  });
  void welcome.promise.then(cancel);
  void link.over.then(() => welcome.resolve(undefined));
  void link.send(helloFrame(hello, limits, pull?.claim()));
  return { link, transfers, /** Undefined if the stream ends first. */ welcome: welcome.promise, closed: stream.ended };
}

function readFrame({ deps, hello }: ClientState, frame: Frame, transfers: Transfers, pull?: PullEnd): void {
  if (transfers.take(frame)) return;
  const takes = (capability: string): boolean => hello.capabilities.includes(capability);
  if (frame.case === 'drain') deps.log.info('relay: the server says', { detail: readText(frame.value.message) });
  else if (frame.case === 'settings' && pull !== undefined && takes(TAKES_SETTINGS)) {
    pull.takeSettings(readSettings(frame.value));
  } else if (frame.case === 'roots' && pull !== undefined && takes(TAKES_ROOTS)) {
    pull.takeRoots(readPem(frame.value.roots, 'the roots'));
  } else throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" from a server`);
}
