import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { createKeyedCount, createKeyedLimit } from '../model/limits/keyed-limit.ts';
import { createRateLimit } from '../model/limits/rate-limit.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { IncomingCall, StreamEnd } from '../ports/transport.ts';
import type { Access } from './access.ts';
import type { XdsCounts } from './figures.ts';
import type { XdsLimits } from './limits.ts';

/** What streams of both protocols need. */
export interface StreamDeps {
  readonly access: Access;
  readonly counts: XdsCounts;
  readonly limits: XdsLimits;
  readonly clock: Clock;
  /** Writes lines that callers cause before they are known, and so limits their rate. */
  readonly strangers: Log;
}

/** A stream of one protocol, after its node was let in. */
export interface Session<Message> {
  /** Handles a message; the first one is the message that was admitted. */
  readonly received: (message: Message) => StreamEnd | undefined;
  /** The stream is over; `why`: as a clause of a sentence. */
  readonly ended: (why: string) => void;
}

/** One of Envoy's protocols. */
export interface Protocol<Schema extends DescMessage> {
  readonly schema: Schema;
  /** The node id that a message states; undefined: it states none. */
  readonly nodeOf: (message: MessageShape<Schema>) => string | undefined;
  /** A node is let in. */
  readonly open: (node: string, call: IncomingCall) => Session<MessageShape<Schema>>;
}

const CLOSED: StreamEnd = { code: 'done', reason: 'Closed', message: '' };
const SILENT: StreamEnd = { code: 'invalid', reason: 'NoNode', message: 'the first message did not arrive in time' };
const NO_NODE: StreamEnd = {
  code: 'invalid',
  reason: 'NoNode',
  message: 'the first message of a stream must name its node',
};
const MALFORMED: StreamEnd = { code: 'invalid', reason: 'Malformed', message: 'a message cannot be decoded' };
/** The id of the node has changed on a stream. */
const NODE_CHANGED: StreamEnd = {
  code: 'invalid',
  reason: 'NodeChanged',
  message: 'the node id of a stream cannot change',
};
const TOO_MANY: StreamEnd = { code: 'exhausted', reason: 'TooManyStreams', message: 'too many streams are open' };

/** Returns what serves the streams of a protocol. */
export function createStreams<Schema extends DescMessage>(
  deps: StreamDeps,
  protocol: Protocol<Schema>,
  all: OpenStreams,
) {
  const { access, counts, limits, clock, strangers } = deps;
  const enter = createEntrance(deps, all);
  const limit = createRateLimit(clock.monotonic, limits.messages);

  const refuse = (call: IncomingCall, end: StreamEnd, id = ''): void => {
    counts.refused(end.reason);
    strangers.info('a stream of an Envoy is refused', { reason: end.reason, node: id.slice(0, 200), peer: call.peer });
    void access.refuse(call, end);
  };
  const first = async (
    call: IncomingCall,
    isProven: boolean,
  ): Promise<MessageShape<Schema> | 'malformed' | undefined> => {
    let cancel = (): void => undefined;
    const wait = (): void => {
      cancel = clock.schedule(limits.firstMessageMs, () => {
        // An Envoy without clusters of EDS opens a stream of ADS and sends nothing.
        if (all.isKnown(call.peer)) wait();
        else refuse(call, SILENT);
      });
    };
    if (!isProven) wait();
    const message = await nextOf(protocol.schema, call);
    cancel();
    return message;
  };
  const serve = async (call: IncomingCall): Promise<void> => {
    // Nothing is read before the metadata are judged: what a stranger sends stays in the window of its stream.
    const judged = access.judge(call);
    if (judged !== undefined && 'refused' in judged) return refuse(call, judged.refused);
    const proven = judged?.node;
    if (proven !== undefined && !enter(proven, call)) return refuse(call, TOO_MANY);
    const hello = await first(call, proven !== undefined);
    if (hello === undefined) return call.end(CLOSED);
    if (hello === 'malformed') return refuse(call, MALFORMED);
    const id = protocol.nodeOf(hello) ?? '';
    if (id === '') return refuse(call, NO_NODE);
    const admitted = access.admit(id, proven);
    if ('refused' in admitted) return refuse(call, admitted.refused, id);
    const { node } = admitted;
    if (proven === undefined && !enter(node, call)) return refuse(call, TOO_MANY, id);
    const session = protocol.open(node, call);
    // Written messages wait for the peer: the end must not wait for a message that it does not send.
    void call.ended.then(({ message }) => session.ended(message === '' ? 'its Envoy has ended the stream' : message));
    let end = session.received(hello);
    while (end === undefined) {
      for (let wait = limit(node); wait > 0; wait = limit(node)) await clock.sleep(wait);
      const message = await nextOf(protocol.schema, call);
      if (message === undefined) return call.end(CLOSED);
      const stated = message === 'malformed' ? undefined : protocol.nodeOf(message);
      if (message === 'malformed') end = MALFORMED;
      else if (stated !== undefined && stated !== id) end = NODE_CHANGED;
      else end = session.received(message);
    }
    refuse(call, end, id);
  };
  return (call: IncomingCall): void => {
    if (!all.enter(limits.streams)) {
      counts.refused(TOO_MANY.reason);
      call.end(TOO_MANY);
      return;
    }
    void call.ended.then(all.leave);
    void serve(call);
  };
}

/** Returns what counts a stream to its node, and ends it when the access ends; false: the node has too many streams. */
function createEntrance({ access, limits }: StreamDeps, all: OpenStreams) {
  const open = createKeyedLimit(limits.streamsPerNode);
  return (node: string, call: IncomingCall): boolean => {
    const close = open(node);
    if (close === undefined) return false;
    const unwatch = access.watch(node, call.end);
    const removed = all.add(node, call);
    void call.ended.then(() => {
      removed();
      unwatch();
      close();
    });
    return true;
  };
}

/** The next message of a stream; undefined: the stream is over. */
async function nextOf<Schema extends DescMessage>(
  schema: Schema,
  call: IncomingCall,
): Promise<MessageShape<Schema> | 'malformed' | undefined> {
  const bytes = await call.read();
  if (bytes === undefined) return undefined;
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch {
    return 'malformed';
  }
}

export type OpenStreams = ReturnType<typeof createOpenStreams>;

/** The open streams of all protocols. */
export function createOpenStreams() {
  const calls = new Map<string, Set<IncomingCall>>();
  /** Streams by address and port of the peer. */
  const peers = createKeyedCount();
  let count = 0;
  return {
    /** False: there are `most` already. */
    enter: (most: number): boolean => {
      if (count >= most) return false;
      count += 1;
      return true;
    },
    leave: (): void => {
      count -= 1;
    },
    /** A stream of a node. Returns the function to call when it is over. */
    add: (node: string, call: IncomingCall): (() => void) => {
      const those = calls.get(node) ?? new Set();
      calls.set(node, those.add(call));
      const close = peers.open(call.peer);
      return () => {
        those.delete(call);
        if (those.size === 0 && calls.get(node) === those) calls.delete(node);
        close();
      };
    },
    /** A node was let in on another stream of this connection. */
    isKnown: (peer: string): boolean => peers.of(peer) > 0,
    /** Ends all streams of a node. */
    end: (node: string, reason: StreamEnd): void => {
      for (const call of calls.get(node) ?? []) call.end(reason);
    },
  };
}
