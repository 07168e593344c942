import { type AgentHello, TAKES_ROOTS, TAKES_SETTINGS } from '../model/agent.ts';
import type { ClusterId, ClusterName } from '../model/ids.ts';
import type { CertificateRequests } from '../ports/certificate-requests.ts';
import type { Clock } from '../ports/clock.ts';
import type { CredentialStore } from '../ports/credentials.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { ClientTransport, DialCredentials, StreamEnd } from '../ports/transport.ts';
import { type Backoff, createBackoff, DEFAULT_PACES, type Paces } from './backoff.ts';
import { type ClientStream, openClientStream } from './client-link.ts';
import { createPullEnd, type PullEnd, type Taking } from './client-pull.ts';
import { createInputState, createPushEnd, type InputState, noteInput, type PushEnd } from './client-push.ts';
import { DEFAULT_LIMITS, type RelayLimits } from './limits.ts';
import { createResultQueue, type ResultQueue } from './result-queue.ts';
import type { RelayClient, ServerListener } from './session.ts';
import type { ClientTrust, TrustedConnection } from './trust/client-trust.ts';
import { createEnrolment } from './trust/enrolment.ts';
import { createSettledTrust } from './trust/settled-trust.ts';

/** What the agent's end needs of the world. */
export interface RelayClientDeps {
  readonly transport: ClientTransport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Settings of the agent's end. */
export interface RelayClientOptions {
  readonly cluster: ClusterName;
  readonly clusterId: ClusterId;
  /** Random, one per agent process: 8 to 64 letters, digits or `-`. */
  readonly instance: string;
  /**
   * Asked whenever it is to be shown, so that a replaced token takes effect; empty: none. May throw, with a text that holds
   * no secret.
   */
  readonly token: () => string;
  /** Left out: it has no certificate, and shows its token on every stream. */
  readonly certificates?: ClientCertificates;
  readonly version: string;
  readonly capabilities: readonly string[];
  readonly limits?: Partial<RelayLimits>;
  readonly paces?: Partial<Paces>;
}

/** How an agent comes by its client certificate. */
export type ClientCertificates =
  /** The server issues it for the token, if it does so at all; where it does not, the token is shown on every stream. */
  | { readonly type: 'enrolled'; readonly store: CredentialStore; readonly requests: CertificateRequests }
  /** Somebody else sees to it. Asked at each dial; may throw, with a text that holds no secret. */
  | {
      readonly type: 'given';
      readonly read: () => NonNullable<DialCredentials['identity']>;
      readonly requests: CertificateRequests;
    };

/** The agent's end, and what it has to prove itself with. */
export interface ObservedRelayClient extends RelayClient {
  /** When the client certificate runs out, in milliseconds since 1970; undefined: there is none. */
  certificateExpiresAt(): number | undefined;
}

interface ClientState {
  readonly deps: RelayClientDeps;
  readonly options: RelayClientOptions;
  readonly limits: RelayLimits;
  readonly hello: AgentHello;
  readonly trust: ClientTrust;
  readonly input: InputState;
  readonly results: ResultQueue;
  readonly taking: Taking;
  readonly backoff: Backoff;
  readonly stopping: AbortController;
  /** The ends that take what is published; undefined while there is no link. */
  pull: PullEnd | undefined;
  push: PushEnd | undefined;
  /** The reason that was last logged: a server that stays away is said once. */
  lastReason: string | undefined;
  running: Promise<void> | undefined;
}

/** A link that held for this long was good, and the next failure starts counting anew. */
const GOOD_AFTER_MS = 10_000;
const STOPPING: StreamEnd = { code: 'done', reason: 'Stopping', message: 'the agent is stopping' };

/** The agent's end of the relay over a transport. Starts once. */
export function createRelayClient(deps: RelayClientDeps, options: RelayClientOptions): ObservedRelayClient {
  const { cluster, clusterId, instance, version } = options;
  const takesRoots = options.certificates?.type === 'enrolled';
  const capabilities = [...options.capabilities, ...(takesRoots ? [TAKES_ROOTS] : [])];
  const state: ClientState = {
    deps,
    options,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    hello: { cluster, clusterId, instance, version, capabilities },
    trust: trustOf(deps, options),
    input: createInputState(),
    results: createResultQueue(),
    taking: { pending: Promise.resolve() },
    backoff: createBackoff(deps.random, { ...DEFAULT_PACES, ...options.paces }),
    stopping: new AbortController(),
    pull: undefined,
    push: undefined,
    lastReason: undefined,
    running: undefined,
  };
  return {
    start(listener) {
      if (state.running !== undefined) throw new Error('the relay client was started before');
      state.running = run(state, listener);
    },
    publishInput(snapshot, changed) {
      noteInput(state.input, snapshot, changed);
      void state.push?.pump();
    },
    report(results) {
      state.results.add(results);
      void state.pull?.pumpResults();
    },
    async stop() {
      state.stopping.abort();
      await state.running;
      await state.trust.settled();
    },
    certificateExpiresAt: state.trust.expiresAt,
  };
}

function trustOf(deps: RelayClientDeps, options: RelayClientOptions): ClientTrust {
  const { certificates } = options;
  switch (certificates?.type) {
    case undefined:
      return createSettledTrust(deps, options);
    case 'given':
      return createSettledTrust(deps, { ...options, given: certificates });
    case 'enrolled':
      return createEnrolment({ ...deps, ...certificates }, options);
  }
}

async function run(state: ClientState, listener: ServerListener): Promise<void> {
  const { clock } = state.deps;
  const { signal } = state.stopping;
  while (!signal.aborted) {
    listener.connection({ type: 'connecting' });
    const { end, goodForMs } = await holdLink(state, listener);
    if (signal.aborted) return;
    if (goodForMs >= GOOD_AFTER_MS) state.backoff.reset();
    const retryInMs = state.backoff.next(end.code);
    noteEnd(state, end, retryInMs);
    listener.connection({ type: 'waiting', reason: end.reason, message: end.message, retryInMs });
    await clock.sleep(retryInMs, signal);
  }
}

function noteEnd(state: ClientState, end: StreamEnd, retryInMs: number): void {
  const { log, transport } = state.deps;
  const line = { server: transport.server, reason: end.reason, detail: end.message, retryInMs };
  if (state.lastReason === end.reason) log.debug('relay: still no link to the server', line);
  else log.warn('relay: no link to the server', line);
  state.lastReason = end.reason;
}

/** One link from dialling to its end. */
async function holdLink(
  state: ClientState,
  listener: ServerListener,
): Promise<{ readonly end: StreamEnd; readonly goodForMs: number }> {
  const { clock, transport } = state.deps;
  const opened = await state.trust.open(listener.fleet(), state.stopping.signal);
  if ('code' in opened) return { end: opened, goodForMs: 0 };
  if (state.stopping.signal.aborted) {
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
  state.pull = undefined;
  state.push = undefined;
  opened.connection.close();
  if (since !== undefined)
    state.deps.log.info('relay: the link has ended', { server: transport.server, reason: end.reason });
  return { end, goodForMs: since === undefined ? 0 : clock.monotonic() - since };
}

async function useConnection(
  state: ClientState,
  listener: ServerListener,
  opened: TrustedConnection,
  onGood: () => void,
): Promise<StreamEnd> {
  const { deps, limits } = state;
  const { connection, metadata } = opened;
  const { clock, log } = deps;
  const fleet = listener.fleet();
  const hello: AgentHello = fleet === undefined ? state.hello : { ...state.hello, fleet };
  const common = {
    clock,
    log,
    limits,
    hello,
    onDrain: (message: string) => log.info('relay: the server says', { detail: message }),
  };
  const { results, taking } = state;
  const takeRoots = (roots: string): void => state.trust.takeRoots(opened, roots);
  const pull = createPullEnd({ listener, results, taking, limits, log, takeRoots, stream: () => pullStream });
  const takes = (capability: string): boolean => state.hello.capabilities.includes(capability);
  const pullStream = openClientStream({
    ...common,
    stream: connection.open('Pull', metadata),
    watches: true,
    open: pull.open,
    ...(takes(TAKES_SETTINGS) ? { onSettings: pull.settings } : {}),
    ...(takes(TAKES_ROOTS) ? { onRoots: pull.roots } : {}),
  });
  const onStop = (): void => pullStream.link.end(STOPPING);
  state.stopping.signal.addEventListener('abort', onStop);
  const greeted = await pullStream.welcome;
  if (greeted !== undefined && (await pull.sayHolding(greeted))) {
    const push = createPushEnd({ listener, input: state.input, log, stream: () => pushStream });
    const stream = connection.open('Push', metadata);
    const pushStream = openClientStream({ ...common, stream, watches: false, open: push.open });
    void pushStream.link.over.then((end) => pullStream.link.end(end));
    void pullStream.link.over.then((end) => pushStream.link.end(end));
    const welcome = await pushStream.welcome;
    if (welcome !== undefined && (await push.synchronise(welcome))) {
      log.info('relay: connected', { server: deps.transport.server, serverVersion: welcome.version });
      state.lastReason = undefined;
      listener.connection({ type: 'connected', server: deps.transport.server, serverVersion: welcome.version });
      onGood();
      startPumps(state, pull, push);
    }
  }
  const end = await pullStream.link.over;
  state.stopping.signal.removeEventListener('abort', onStop);
  await flushed(state, pullStream);
  return end;
}

function startPumps(state: ClientState, pull: PullEnd, push: PushEnd): void {
  state.pull = pull;
  state.push = push;
  void pull.pumpResults();
  void push.pump();
}

/** Gives the goodbye a moment to leave before the connection is closed under it. */
async function flushed(state: ClientState, { closed }: ClientStream): Promise<void> {
  const timeUp = new AbortController();
  await Promise.race([closed, state.deps.clock.sleep(1_000, timeUp.signal)]);
  timeUp.abort();
}
