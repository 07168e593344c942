import { type ClusterName, quote } from '../model/ids.ts';
import type { IncomingStream, StreamEnd } from '../ports/transport.ts';
import { createLink } from './link.ts';
import { welcomePull } from './server-pull.ts';
import { welcomePush } from './server-push.ts';
import { type ClusterSlot, type Greeted, noteEnd, type ServerState } from './server-state.ts';
import { endWithCertificate } from './trust/certificate-end.ts';
import { endWithToken } from './trust/known-token.ts';
import { isForOtherId, mismatch, type PeerCertificate } from './trust/peer-certificate.ts';
import { callerOf } from './trust/rate-limit.ts';
import { type Caller, recognize } from './trust/recognize.ts';
import { refuseSlowly } from './trust/slow-refusal.ts';
import type { Frame } from './wire/frame.ts';
import { chooseProtocol, readHello, readLimits } from './wire/hello.ts';
import { ProtocolError } from './wire/protocol-error.ts';

/**
 * Takes a stream in: token or certificate first, so that a stranger costs next to nothing; then the hello; then the
 * listener's word. The cluster of everything on the stream is the one that the token or the certificate was right for.
 */
export function acceptStream(state: ServerState, stream: IncomingStream): void {
  const { limits } = state;
  if (state.draining) {
    stream.end({ code: 'unavailable', reason: 'Draining', message: 'the server is shutting down' });
    return;
  }
  const caller = recognize(state, stream);
  if ('refused' in caller) {
    const { refused } = caller;
    noteEnd(state, refused, callerOf(stream.peer), {
      peer: stream.peer,
      claimed: quote(stream.metadata['fleetrelay-cluster'] ?? ''),
    });
    void refuseSlowly(state, refused).then((end) => stream.end(end));
    return;
  }
  const { cluster } = caller;
  const slot = enter(state, cluster, stream);
  if (slot.streams > limits.streamsPerCluster) {
    const message = `more than ${limits.streamsPerCluster} streams of one cluster`;
    const end: StreamEnd = { code: 'exhausted', reason: 'TooManyStreams', message };
    noteEnd(state, end, cluster, { cluster, peer: stream.peer });
    stream.end(end);
    return;
  }
  greet(state, slot, stream, caller);
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
  void stream.ended.then(() => {
    slot.streams -= 1;
    if (slot.streams === 0 && state.slots.get(cluster) === slot) state.slots.delete(cluster);
  });
  return slot;
}

function greet(
  state: ServerState,
  slot: ClusterSlot,
  stream: IncomingStream,
  { certificate, generation }: Caller,
): void {
  const { clock, log } = state.deps;
  let handler = (frame: Frame): void => onHello(frame);
  const link = createLink({
    stream,
    clock,
    log,
    cluster: slot.cluster,
    limits: state.limits,
    // A Push stream belongs to a Pull stream, and ends with it.
    watches: stream.method === 'Pull',
    saysGoodbye: false,
    onFrame: (frame) => handler(frame),
    onBytes: (direction, bytes) => {
      if (direction === 'in') state.counts.bytesIn += bytes;
      else state.counts.bytesOut += bytes;
    },
  });
  if (generation !== undefined) endWithToken(state, slot.cluster, link, generation);
  const cancelDeadline = clock.schedule(state.limits.helloMs, () => {
    link.end({ code: 'invalid', reason: 'NoHello', message: `no hello within ${state.limits.helloMs / 1000} s` });
  });
  void link.over.then((end) => {
    cancelDeadline();
    noteEnd(state, end, slot.cluster, { cluster: slot.cluster, peer: stream.peer, stream: stream.method });
  });
  const onHello = (frame: Frame): void => {
    cancelDeadline();
    handler = tooEarly;
    const onFrame = (next: (frame: Frame) => void): void => {
      handler = next;
    };
    const greeted: Greeted = {
      state,
      slot,
      link,
      onFrame,
      certificate,
      ...readFirst(frame, slot.cluster, certificate),
    };
    if (certificate !== undefined) endWithCertificate(greeted, certificate);
    if (link.isOver()) return;
    const welcome = stream.method === 'Pull' ? welcomePull(greeted) : welcomePush(greeted);
    welcome.catch((error: unknown) => {
      log.error('relay: judging a hello failed', { cluster: slot.cluster, error });
      link.end({ code: 'unavailable', reason: 'Internal', message: 'judging the hello failed; the log says why' });
    });
  };
}

function readFirst(
  frame: Frame,
  cluster: ClusterName,
  certificate: PeerCertificate | undefined,
): Pick<Greeted, 'hello' | 'peerLimits' | 'protocol'> {
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
  return { hello, protocol, peerLimits: readLimits(frame.value.limits) };
}

function tooEarly(frame: Frame): void {
  throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" before the welcome`);
}
