import type { ClusterName } from '../model/fleet/ids.ts';
import { given } from '../model/values/given.ts';
import { SLICE_MS } from '../model/values/in-slices.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { MessageStream, StreamEnd } from '../ports/transport.ts';
import type { RelayLimits } from './limits.ts';
import { decodeFrame, encodeFrame, type Frame, type FrameInit } from './wire/frames.ts';
import { clipText, ProtocolError, readReason, readText, sendableReason } from './wire/scalars.ts';

/** Frames over one stream: reading, writing and liveness. A {@link ProtocolError} in a frame ends the stream here. */
export interface Link {
  /**
   * Queues a small frame before the frames of {@link send} and never waits: if the reading loop waited for a write, two peers
   * that both write would wait for each other. A queued chunk acknowledgement, ping, pong, settings or roots is replaced by a newer
   * frame of its kind.
   */
  post(frame: FrameInit): void;
  /** Writes a frame and resolves when the next may follow: false if the link is over. One at a time. */
  send(frame: FrameInit): Promise<boolean>;
  /** Ends the link for this reason. Later calls do nothing. */
  end(end: StreamEnd): void;
  /** Ends the link because handling a frame of the peer threw this. */
  fail(error: unknown): void;
  /** Sends a ping. Resolves true at the next frame from the peer, or false after `milliseconds` or at the end. */
  probe(milliseconds: number): Promise<boolean>;
  /** Takes what was decoded beside the frames from the budget of the peer. */
  spend(decoded: Decoded): void;
  isOver(): boolean;
  /** Resolves with the reason of the end that ended the link first, this one or the peer. */
  readonly over: Promise<StreamEnd>;
}

/** `onFrame` receives every frame except Ping, Pong and Goodbye, and may throw a {@link ProtocolError}. */
export interface LinkOptions {
  readonly stream: MessageStream;
  readonly clock: Clock;
  readonly log: Log;
  /** The cluster of the peer, for the log. */
  readonly cluster?: ClusterName;
  readonly limits: RelayLimits;
  /** Detects silence of the peer. True for the Pull stream only: the Push stream on the same connection ends with it. */
  readonly watches: boolean;
  /** Sends a Goodbye with the reason before the end. True for the agent, whose stream status the server does not receive. */
  readonly saysGoodbye: boolean;
  readonly onFrame: (frame: Frame) => void;
  readonly onBytes?: (direction: 'in' | 'out', bytes: number) => void;
  /** What the peer may have decoded; absent: everything. */
  readonly budget?: DecodingBudget;
}

/** What decoding costs. */
export interface Decoded {
  readonly bytes: number;
  readonly frames?: number;
  readonly records?: number;
  readonly fields?: number;
}

/** Bounds the decoding for one peer, on all of its streams together. The link reads no further frame while it is spent. */
export interface DecodingBudget {
  spend(decoded: Decoded): void;
  /** Milliseconds until there is some of it again; 0: now. */
  wait(): number;
}

/** Frames of {@link Link.post} that may wait at once. A peer that follows the protocol causes only a few. */
const MAX_POSTED = 64;

type LinkState = ReturnType<typeof newState>;

function newState(options: LinkOptions) {
  return {
    options,
    over: Promise.withResolvers<StreamEnd>(),
    ended: false,
    /** Monotonic milliseconds of the last frame from the peer. */
    heard: options.clock.monotonic(),
    pings: 0n,
    cancelTick: (): void => {},
    /** Frames of {@link Link.post}, newest last. */
    posted: [] as FrameInit[],
    /** The frame of {@link Link.send}. */
    sending: undefined as { readonly frame: FrameInit; readonly done: (open: boolean) => void } | undefined,
    writing: false,
    /** The newest write of the stream. */
    write: Promise.resolve(true),
    probes: new Set<(alive: boolean) => void>(),
  };
}

/** A link over a stream; it starts to read at once. */
export function createLink(options: LinkOptions): Link {
  const state = newState(options);
  void readFrames(state);
  if (options.watches) scheduleTick(state);
  return {
    over: state.over.promise,
    isOver: () => state.ended,
    end: (end) => endLink(state, end),
    fail: (error) => endLink(state, endAfter(state, error)),
    post: (frame) => post(state, frame),
    send: (frame) => send(state, frame),
    probe: (milliseconds) => probe(state, milliseconds),
    spend: (decoded) => state.options.budget?.spend(decoded),
  };
}

async function readFrames(state: LinkState): Promise<void> {
  const { stream, clock, onBytes } = state.options;
  let spentMs = 0;
  for (;;) {
    if (waitFor(state) > 0) await untilInBudget(state);
    const bytes = await stream.read();
    if (state.ended) return;
    if (bytes === undefined) return endLink(state, await endOfReading(stream));
    onBytes?.('in', bytes.length);
    const began = clock.monotonic();
    const failure = handle(state, bytes);
    if (failure !== undefined) return endLink(state, failure);
    spentMs += clock.monotonic() - began;
    if (spentMs < SLICE_MS) continue;
    // A transport may have many frames at once: the event loop turns before the next ones.
    await clock.sleep(0);
    spentMs = 0;
  }
}

/** Waits until the budget is not spent. The transport holds back the peer meanwhile. */
async function untilInBudget(state: LinkState): Promise<void> {
  const { clock } = state.options;
  for (let wait = waitFor(state); wait > 0 && !state.ended; wait = waitFor(state)) {
    await clock.sleep(wait);
    // The silence was this end's.
    state.heard = clock.monotonic();
  }
}

function waitFor({ options: { budget } }: LinkState): number {
  return budget?.wait() ?? 0;
}

/** The end of the stream; `done` if the peer has only closed its side. */
function endOfReading(stream: MessageStream): Promise<StreamEnd> {
  const closed: StreamEnd = { code: 'done', reason: 'Closed', message: 'the peer has closed its side' };
  return Promise.race([stream.ended, Promise.resolve(closed)]);
}

function handle(state: LinkState, bytes: Uint8Array): StreamEnd | undefined {
  try {
    const frame = decodeFrame(bytes);
    state.options.budget?.spend({ bytes: bytes.length, frames: 1 });
    heardFrom(state);
    if (frame.case === 'goodbye') {
      return { code: 'done', reason: readReason(frame.value.reason), message: readText(frame.value.message) };
    }
    if (frame.case === 'ping') post(state, { case: 'pong', value: { number: frame.value.number } });
    else if (frame.case !== 'pong') state.options.onFrame(frame);
    return undefined;
  } catch (error) {
    return endAfter(state, error);
  }
}

function endAfter({ options: { log, cluster } }: LinkState, error: unknown): StreamEnd {
  if (error instanceof ProtocolError) return { code: error.code, reason: error.reason, message: error.message };
  log.error('relay: handling a frame failed', { ...given({ cluster }), error });
  return { code: 'unavailable', reason: 'Internal', message: 'handling a frame failed; the log says why' };
}

function heardFrom(state: LinkState): void {
  state.heard = state.options.clock.monotonic();
  for (const answer of state.probes) answer(true);
}

function post(state: LinkState, frame: FrameInit): void {
  if (state.ended) return;
  const index = REPLACEABLE.includes(frame.case) ? state.posted.findIndex((queued) => queued.case === frame.case) : -1;
  if (index < 0) state.posted.push(frame);
  else state.posted[index] = frame;
  if (state.posted.length > MAX_POSTED) {
    endLink(state, { code: 'exhausted', reason: 'NotReading', message: 'the peer asks and does not read answers' });
    return;
  }
  void writeFrames(state);
}

const REPLACEABLE: readonly FrameInit['case'][] = ['pong', 'ping', 'chunkAck', 'settings', 'roots'];

function send(state: LinkState, frame: FrameInit): Promise<boolean> {
  if (state.ended) return Promise.resolve(false);
  if (state.sending !== undefined) throw new Error('a frame is being sent already');
  const { promise, resolve } = Promise.withResolvers<boolean>();
  state.sending = { frame, done: resolve };
  void writeFrames(state);
  return promise;
}

async function writeFrames(state: LinkState): Promise<void> {
  if (state.writing) return;
  state.writing = true;
  while (!state.ended) {
    const posted = state.posted.shift();
    const sending = posted === undefined ? state.sending : undefined;
    const frame = posted ?? sending?.frame;
    if (frame === undefined) break;
    const bytes = encodeFrame(frame);
    state.write = state.options.stream.write(bytes);
    const open = await state.write;
    if (open) state.options.onBytes?.('out', bytes.length);
    if (sending !== undefined) {
      state.sending = undefined;
      sending.done(open);
    }
    if (!open) break;
  }
  state.writing = false;
}

/**
 * Checks for silence every `pingMs`. A late tick means that this process itself was suspended: frames of the peer may be
 * waiting to be read, so the peer gets one more ping.
 */
function scheduleTick(state: LinkState): void {
  const { clock, limits } = state.options;
  const planned = clock.monotonic() + limits.pingMs;
  state.cancelTick = clock.schedule(limits.pingMs, () => {
    if (state.ended) return;
    const now = clock.monotonic();
    if (now - planned > limits.pingMs) state.heard = now - limits.pingMs;
    const silence = now - state.heard;
    if (silence >= limits.silenceMs) {
      const message = `nothing was heard for ${Math.round(silence / 1000)} s`;
      return endLink(state, { code: 'lost', reason: 'PeerSilent', message });
    }
    if (silence >= limits.pingMs) ping(state);
    scheduleTick(state);
  });
}

function ping(state: LinkState): void {
  state.pings += 1n;
  post(state, { case: 'ping', value: { number: state.pings } });
}

function probe(state: LinkState, milliseconds: number): Promise<boolean> {
  if (state.ended) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const answer = (alive: boolean): void => {
    cancel();
    state.probes.delete(answer);
    resolve(alive);
  };
  const cancel = state.options.clock.schedule(milliseconds, () => answer(false));
  state.probes.add(answer);
  ping(state);
  return promise;
}

function endLink(state: LinkState, end: StreamEnd): void {
  if (state.ended) return;
  state.ended = true;
  const { stream, saysGoodbye } = state.options;
  if (saysGoodbye) void sayGoodbye(state, end);
  else stream.end(end);
  state.cancelTick();
  state.posted.length = 0;
  state.sending?.done(false);
  state.sending = undefined;
  for (const answer of state.probes) answer(false);
  state.over.resolve(end);
}

/** A peer that does not read does not get the goodbye; then the owner of the connection closes it. */
async function sayGoodbye({ options: { stream }, write }: LinkState, end: StreamEnd): Promise<void> {
  await write;
  const value = { reason: sendableReason(end.reason), message: clipText(end.message) };
  await stream.write(encodeFrame({ case: 'goodbye', value }));
  stream.end(end);
}
