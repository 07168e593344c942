import { MAX_MESSAGE_BYTES } from '../ports/transport.ts';

/** Largest content of one chunk in bytes, before and after compression. A property of the protocol. */
export const CHUNK_BYTES = 256 * 1024;
/** Largest frame in bytes: a chunk and what surrounds it. A property of the protocol. */
export const FRAME_BYTES = MAX_MESSAGE_BYTES;

/** What one end takes and how long it waits. Sizes are in bytes, times in milliseconds. */
export interface RelayLimits {
  /** Largest content of one object, as canonical JSON. Told to the peer. */
  readonly objectBytes: number;
  /** Largest sum of the parts of one transfer, uncompressed. */
  readonly transferBytes: number;
  /** Largest number of records in one transfer. */
  readonly transferRecords: number;
  /** Chunks that the peer may send without acknowledgement. Told to the peer. */
  readonly window: number;
  /** Streams of one cluster that may be open at once, counted until they are really gone. */
  readonly streamsPerCluster: number;
  /** For a hello or its answer. */
  readonly helloMs: number;
  /** Nothing heard for this long: ask. */
  readonly pingMs: number;
  /** Nothing heard for this long: the peer is dead. */
  readonly silenceMs: number;
  /** An old session must answer a ping within this time, or a new agent of the same cluster takes its place. */
  readonly probeMs: number;
  /** No chunk acknowledged for this long: the peer is stuck. */
  readonly stallMs: number;
  /** For the answer to a whole transfer. */
  readonly verdictMs: number;
  /** For what is in flight when the server shuts down. */
  readonly drainMs: number;
  /** Questions for certificates from one cluster that has proven itself, or else from one address. */
  readonly registrationsPerCaller: Rate;
  /** Certificates that are made, in all. */
  readonly registrations: Rate;
  /** How long the answer to a wrong token takes, on a stream and to a question for a certificate. */
  readonly wrongTokenMs: number;
  /** Answers to wrong tokens that may wait at once; further ones are given at once, and say less. */
  readonly wrongTokensWaiting: number;
}

/** How often something may happen: so many times at once, and again so many times a second. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Fits thousands of agents at one server; a dead peer is noticed within 25 seconds. */
export const DEFAULT_LIMITS: RelayLimits = {
  objectBytes: 64 * 1024 * 1024,
  transferBytes: 512 * 1024 * 1024,
  transferRecords: 1_000_000,
  window: 8,
  streamsPerCluster: 8,
  helloMs: 10_000,
  pingMs: 8_000,
  silenceMs: 20_000,
  probeMs: 3_000,
  stallMs: 60_000,
  verdictMs: 120_000,
  drainMs: 10_000,
  // A whole fleet may dial from behind one address, and after a loss all of it at once.
  registrationsPerCaller: { burst: 200, perSecond: 20 },
  // Making one takes about 10 ms.
  registrations: { burst: 200, perSecond: 20 },
  wrongTokenMs: 1_000,
  wrongTokensWaiting: 64,
};
