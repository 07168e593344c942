import { type ClusterName, quote } from '../model/fleet/ids.ts';
import { objectLimits } from '../model/objects/object-size.ts';
import type { IncomingStream, StreamEnd } from '../ports/transport.ts';
import { callerOf } from './caller.ts';
import { createLink } from './link.ts';
import { sendRoots, welcomePull } from './server-pull.ts';
import { welcomePush } from './server-push.ts';
import {
  type ClusterSlot,
  count,
  createServerState,
  type Greeted,
  noCounts,
  noteEnd,
  noteRefusal,
  type RelayServerDeps,
  type RelayServerOptions,
  type ServerState,
} from './server-state.ts';
import type { RelayServer } from './session.ts';
import { type ClientCertificate, isForOtherId, mismatch } from './trust/certificates.ts';
import { type Caller, delayWrongToken, endWithCertificate, endWithToken, recognize } from './trust/recognize.ts';
import { createRegistrar } from './trust/registrar.ts';
import { chooseProtocol, type Frame, readHello, readLimits } from './wire/frames.ts';
import { ProtocolError } from './wire/scalars.ts';

/** The server's end of the relay, with its figures for metrics. */
export interface ObservedRelayServer extends RelayServer {
  stats(): RelayServerStats;
}

/** The server's end of the relay over a transport. Starts once. */
export function createRelayServer(deps: RelayServerDeps, options: RelayServerOptions): ObservedRelayServer {
  let state: ServerState | undefined;
  let unwatch: (() => void) | undefined;
  return {
    signer: deps.tags.signer,
    async start(listener) {
      if (state !== undefined) throw new Error('the relay server was started before');
      const started = createServerState(deps, options, listener);
      state = started;
      unwatch = deps.roots?.watch(() => {
        for (const { pull } of started.slots.values()) if (pull !== undefined) sendRoots(started, pull);
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
    stats: () => readStats(deps, state),
  };
}

const DRAINING: StreamEnd = { code: 'unavailable', reason: 'Draining', message: 'the server is shutting down' };

/** Asks every agent to reconnect elsewhere, waits for the deltas in flight at most `drainMs`, and ends all streams. */
async function drain(state: ServerState): Promise<void> {
  state.draining = true;
  const pulls = [...state.slots.values()].flatMap(({ pull }) => pull ?? []);
  for (const { link } of pulls) link.post({ case: 'drain', value: { message: DRAINING.message } });
  const timeUp = new AbortController();
  const inFlight = Promise.allSettled(pulls.map(({ sending }) => sending));
  await Promise.race([inFlight, state.deps.clock.sleep(state.limits.drainMs, timeUp.signal)]);
  timeUp.abort();
  for (const { pull, push } of state.slots.values()) for (const link of [push, pull?.link]) link?.end(DRAINING);
}

/** Counters since the start, and the state of the moment, for metrics. */
export type RelayServerStats = Readonly<ReturnType<typeof readStats>>;

function readStats({ expiries }: RelayServerDeps, state: ServerState | undefined) {
  const slots = [...(state?.slots.values() ?? [])];
  const record = (counts: ReadonlyMap<string, number> | undefined): Readonly<Record<string, number>> =>
    Object.fromEntries(counts ?? []);
  return {
    ...(state?.counts ?? noCounts()),
    /** The memory of transfers that are arriving. */
    memory: state?.memory.stats() ?? { held: 0, queued: 0, waiting: 0 },
    connectedClusters: slots.filter(({ pull }) => pull?.phase === 'established').length,
    /** The streams of each cluster that has any. */
    clients: slots.map((slot) => ({
      cluster: slot.cluster,
      push: slot.push !== undefined,
      pull: slot.pull?.phase === 'established',
      ...newestCertificate(slot),
    })),
    streams: slots.reduce((sum, { streams }) => sum + streams, 0),
    /** Ended streams by reason. `Closed` stands for every reason that a peer gave in a Goodbye. */
    ended: record(state?.ended),
    /** Registrations by outcome: `Issued`, `IssuedAgain`, `Renewed`, or the constant word of the refusal. */
    registrations: record(state?.registrations),
    /** What clusters did, each by cluster: it names the one that floods the server. */
    ofClusters: {
      streams: record(state?.ofClusters.streams),
      bytesIn: record(state?.ofClusters.bytesIn),
      decoded: record(state?.ofClusters.decoded),
      unknownResults: record(state?.ofClusters.unknownResults),
      enrolledAgain: record(state?.ofClusters.enrolledAgain),
    },
    /** Certificates of the server, and when they expire. */
    certificates: expiries?.() ?? [],
  };
}

/** The newest client certificate of a cluster that this server saw or issued. Times are milliseconds since 1970. */
function newestCertificate({ pull, renewed }: ClusterSlot): {
  readonly certificate?: { readonly issuedAt: number; readonly expiresAt: number };
} {
  const certificate = renewed?.clusterId === pull?.hello.clusterId ? renewed : pull?.certificate;
  if (pull === undefined || certificate === undefined) return {};
  const { issuedAt, expiresAt } = certificate;
  return { certificate: { issuedAt, expiresAt } };
}

/**
 * Accepts a stream: authenticates the caller first, so that an unauthenticated caller costs next to nothing, then reads the hello, then
 * asks the listener. Every frame on the stream counts for the authenticated cluster.
 */
function acceptStream(state: ServerState, stream: IncomingStream): void {
  const { peer } = stream;
  if (state.draining) {
    stream.end(DRAINING);
    return;
  }
  const caller = recognize(state, stream);
  if ('refused' in caller) {
    const { refused } = caller;
    const claimed = stream.metadata['fleetrelay-cluster'] ?? '';
    noteEnd(state, refused, callerOf(peer), { peer, claimed: quote(claimed) });
    noteRefusal(state, refused, { claimed, peer, isProven: false, wasConnected: false });
    void delayWrongToken(state, refused).then((end) => stream.end(end));
    return;
  }
  const { cluster } = caller;
  const slot = enter(state, cluster, stream);
  const { streamsPerCluster } = state.limits;
  const { streams } = state.budgets;
  const wait = streams.wait(cluster);
  if (slot.streams <= streamsPerCluster && wait <= state.limits.streamWaitMs) {
    streams.spend(cluster, 1);
    if (wait === 0) greet(state, slot, stream, caller);
    else greetLater(state, slot, stream, caller, wait);
    return;
  }
  const message =
    wait > state.limits.streamWaitMs
      ? 'the cluster opens streams too often'
      : `more than ${streamsPerCluster} streams of one cluster`;
  const retry = wait > 0 ? { retryAfterMs: wait } : {};
  const end: StreamEnd = { code: 'exhausted', reason: 'TooManyStreams', message, ...retry };
  noteEnd(state, end, cluster, { cluster, peer });
  noteRefusal(state, end, { claimed: cluster, peer, isProven: isProven(caller), wasConnected: false });
  stream.end(end);
}

function enter(state: ServerState, cluster: ClusterName, stream: IncomingStream): ClusterSlot {
  const slot = state.slots.get(cluster) ?? {
    cluster,
    streams: 0,
    pull: undefined,
    push: undefined,
    renewed: undefined,
  };
  state.slots.set(cluster, slot);
  slot.streams += 1;
  count(state.ofClusters.streams, cluster);
  void stream.ended.then(() => {
    slot.streams -= 1;
    if (slot.streams === 0 && state.slots.get(cluster) === slot) state.slots.delete(cluster);
  });
  return slot;
}

/**
 * What a frame, a record or a field costs the budget of decoding beside its bytes, in bytes. A frame takes about 3 µs from the
 * connection to its handler, however small it is: as long as decoding 1 KiB of records.
 */
const FRAME_COST = 1_024;
const RECORD_COST = 256;
const FIELD_COST = 64;

/** Where the server wants neither a certificate nor a token, nothing proves the name of a caller. */
function isProven({ certificate, generation }: Caller): boolean {
  return certificate !== undefined || generation !== undefined;
}

/** The stream is not read until its time has come. */
function greetLater(
  state: ServerState,
  slot: ClusterSlot,
  stream: IncomingStream,
  caller: Caller,
  milliseconds: number,
): void {
  const cancel = state.deps.clock.schedule(milliseconds, () => {
    if (state.draining) stream.end(DRAINING);
    else greet(state, slot, stream, caller);
  });
  void stream.ended.then(cancel);
}

function greet(state: ServerState, slot: ClusterSlot, stream: IncomingStream, caller: Caller): void {
  const { certificate, generation } = caller;
  const { limits, counts, ofClusters } = state;
  const { decoding } = state.budgets;
  const { clock, log } = state.deps;
  const { cluster } = slot;
  let handler = (frame: Frame): void => onHello(frame);
  const link = createLink({
    stream,
    clock,
    log,
    cluster,
    limits,
    watches: stream.method === 'Pull',
    saysGoodbye: false,
    onFrame: (frame) => handler(frame),
    onBytes: (direction, bytes) => {
      counts[direction === 'in' ? 'bytesIn' : 'bytesOut'] += bytes;
      if (direction === 'in') count(ofClusters.bytesIn, slot.cluster, bytes);
    },
    budget: {
      spend: ({ bytes, frames = 0, records = 0, fields = 0 }) => {
        count(ofClusters.decoded, cluster, frames + records);
        decoding.spend(cluster, bytes + FRAME_COST * frames + RECORD_COST * records + FIELD_COST * fields);
      },
      wait: () => decoding.wait(cluster),
    },
  });
  if (generation !== undefined) endWithToken(state, cluster, link, generation);
  const cancelDeadline = clock.schedule(limits.helloMs, () => {
    link.end({ code: 'invalid', reason: 'NoHello', message: `no hello within ${limits.helloMs / 1000} s` });
  });
  void link.over.then((end) => {
    cancelDeadline();
    const { peer } = stream;
    noteEnd(state, end, cluster, { cluster, peer, stream: stream.method });
    // Before the handlers that take the stream out of its slot.
    const wasConnected = slot.push === link || (slot.pull?.link === link && slot.pull.phase === 'established');
    noteRefusal(state, end, { claimed: cluster, peer, isProven: isProven(caller), wasConnected });
  });
  const onHello = (frame: Frame): void => {
    cancelDeadline();
    handler = ({ case: early }) => {
      throw new ProtocolError('OutOfTurn', `a frame "${early}" before the welcome`);
    };
    const onFrame: Greeted['onFrame'] = (next) => {
      handler = next;
    };
    const hello = readFirst(frame, cluster, certificate);
    const greeted: Greeted = { state, slot, link, onFrame, certificate, ...hello };
    if (certificate !== undefined) endWithCertificate(greeted, certificate);
    if (link.isOver()) return;
    const welcome = stream.method === 'Pull' ? welcomePull(greeted) : welcomePush(greeted);
    welcome.catch((error: unknown) => {
      log.error('relay: judging a hello failed', { cluster, error });
      link.end({ code: 'unavailable', reason: 'Internal', message: 'judging the hello failed; the log says why' });
    });
  };
}

function readFirst(
  frame: Frame,
  cluster: ClusterName,
  certificate: ClientCertificate | undefined,
): Pick<Greeted, 'hello' | 'claim' | 'peerLimits' | 'protocol'> {
  if (frame.case !== 'hello') throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" where the hello was due`);
  const protocol = chooseProtocol(frame.value);
  const hello = readHello(frame.value);
  if (hello.cluster !== cluster) {
    const message = `the hello names cluster ${quote(hello.cluster)}, the stream is of ${quote(cluster)}`;
    throw new ProtocolError('ClusterMismatch', message, 'unauthenticated');
  }
  if (certificate !== undefined && isForOtherId(certificate, hello.clusterId)) {
    const { reason, message, code } = mismatch('the certificate that was shown is for another cluster of this name');
    throw new ProtocolError(reason, message, code);
  }
  const { holding: claim, limits } = frame.value;
  const peerLimits = readLimits(limits);
  const { objectBytes } = peerLimits;
  const takesLess = objectBytes < objectLimits.bytes ? { objectBytes } : {};
  return { hello: { ...hello, ...takesLess }, claim, protocol, peerLimits };
}
