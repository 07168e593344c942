import { DEFAULT_LIMITS } from './limits.ts';
import { acceptStream } from './server-door.ts';
import { sayRoots } from './server-pull.ts';
import {
  type ClusterSlot,
  noteEnd,
  type PullStream,
  type RelayServerDeps,
  type RelayServerOptions,
  type RelayServerStats,
  type ServerState,
} from './server-state.ts';
import type { AgentListener, RelayServer } from './session.ts';
import { callerOf } from './trust/rate-limit.ts';
import { createRegistrar } from './trust/registrar.ts';

/** The server's end of the relay, with what metrics need to know. */
export interface ObservedRelayServer extends RelayServer {
  stats(): RelayServerStats;
}

/** The server's end of the relay over a transport. Starts once. */
export function createRelayServer(deps: RelayServerDeps, options: RelayServerOptions): ObservedRelayServer {
  let state: ServerState | undefined;
  let unwatch: (() => void) | undefined;
  return {
    async start(listener) {
      if (state !== undefined) throw new Error('the relay server was started before');
      const started = createState(deps, options, listener);
      state = started;
      unwatch = deps.roots?.watch(() => {
        for (const { pull } of started.slots.values()) if (pull !== undefined) sayRoots(started, pull);
      });
      return deps.transport.start({
        stream: (stream) => acceptStream(started, stream),
        register: createRegistrar(started),
        turnedAway: (refusal, peer) => noteEnd(started, refusal, callerOf(peer), { peer }),
      });
    },
    async drain() {
      unwatch?.();
      if (state !== undefined) await drain(state);
      await deps.transport.stop();
    },
    stats: () => readStats(state),
  };
}

const NO_COUNTS: Readonly<ServerState['counts']> = {
  bytesIn: 0,
  bytesOut: 0,
  outputsAccepted: 0,
  outputsRejected: 0,
  inputDeltas: 0,
  results: 0,
  wrongTokens: 0,
};

function createState(deps: RelayServerDeps, options: RelayServerOptions, listener: AgentListener): ServerState {
  return {
    deps,
    options,
    listener,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    slots: new Map(),
    counts: { ...NO_COUNTS },
    ended: new Map(),
    registrations: new Map(),
    logged: new Map(),
    kept: 0,
    draining: false,
  };
}

/** Nothing new begins; what is in flight gets its time; then every stream ends with the advice to come again. */
async function drain(state: ServerState): Promise<void> {
  state.draining = true;
  const message = 'the server is shutting down';
  const pulls = [...state.slots.values()].flatMap(({ pull }) => pull ?? []);
  for (const { link } of pulls) link.post({ case: 'drain', value: { message } });
  const timeUp = new AbortController();
  const inFlight = Promise.allSettled(pulls.map(({ sending }) => sending));
  await Promise.race([inFlight, state.deps.clock.sleep(state.limits.drainMs, timeUp.signal)]);
  timeUp.abort();
  for (const { pull, push } of state.slots.values()) {
    for (const link of [push, pull?.link]) link?.end({ code: 'unavailable', reason: 'Draining', message });
  }
}

function certificateOf(pull: PullStream | undefined, renewed: ClusterSlot['renewed']) {
  if (pull === undefined) return {};
  const newer = renewed?.clusterId === pull.hello.clusterId ? renewed : undefined;
  const certificate = newer ?? pull.certificate;
  if (certificate === undefined) return {};
  const { issuedAt, expiresAt } = certificate;
  return { certificate: { issuedAt, expiresAt } };
}

function readStats(state: ServerState | undefined): RelayServerStats {
  const slots = [...(state?.slots.values() ?? [])];
  return {
    ...(state?.counts ?? NO_COUNTS),
    connectedClusters: slots.filter(({ pull }) => pull?.phase === 'established').length,
    clients: slots.map(({ cluster, pull, push, renewed }) => ({
      cluster,
      push: push !== undefined,
      pull: pull?.phase === 'established',
      ...certificateOf(pull, renewed),
    })),
    streams: slots.reduce((sum, { streams }) => sum + streams, 0),
    ended: Object.fromEntries(state?.ended ?? []),
    registrations: Object.fromEntries(state?.registrations ?? []),
    certificates: state?.deps.expiries?.() ?? [],
  };
}
