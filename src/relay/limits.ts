import { type ClusterSize, DEFAULT_QUOTAS } from '../model/limits/quotas.ts';
import type { Rate } from '../model/limits/rate-limit.ts';
import { objectLimits } from '../model/objects/object-size.ts';
import { MAX_MESSAGE_BYTES } from '../ports/transport.ts';

/** Largest content of one chunk in bytes, before and after compression. A property of the protocol. */
export const CHUNK_BYTES = 256 * 1024;
/** Largest frame in bytes: a chunk and what surrounds it. A property of the protocol. */
export const FRAME_BYTES = MAX_MESSAGE_BYTES;
/** Most items (origins, clusters of a scope, Namespaces of a kind) in one record. Senders stay below 2,800. */
export const RECORD_ITEMS = 4_096;
/** Most origins of one object. A property of the protocol, as are the following ones. */
export const OBJECT_ORIGINS = 20_000;
/** Most elements of all objects in one transfer. */
export const TRANSFER_ELEMENTS = 20_000_000;

/** What one end accepts, and how long it waits. Sizes are in bytes, times in milliseconds. */
export interface RelayLimits {
  /** Largest content of one object, as canonical JSON. Told to the peer. */
  readonly objectBytes: number;
  /** Largest sum of the parts of one transfer, uncompressed. */
  readonly transferBytes: number;
  /** Largest number of records in one transfer. */
  readonly transferRecords: number;
  /** Largest number of items (origins, clusters of scopes, Namespaces of kinds) in one transfer. */
  readonly transferItems: number;
  /** The most that one cluster may send of its input snapshot; also of objects in its inventory. */
  readonly quotas: ClusterSize;
  /** After a step above the quotas the agent may send the next one after this time. */
  readonly aboveQuotaMs: number;
  /** Memory for the transfers of all sessions that are arriving, at a server. */
  readonly sessionsBytes: number;
  /** Chunks that the peer may send without acknowledgement. Told to the peer. */
  readonly window: number;
  /** Streams of one cluster that may be open at once, counted until the transport has closed them. */
  readonly streamsPerCluster: number;
  /** Streams that one cluster may open. One more waits until it may; one that would wait for more than `streamWaitMs` ends. */
  readonly streams: Rate;
  readonly streamWaitMs: number;
  /**
   * The bytes that are decoded for one cluster on all of its streams; a frame counts as 1,024, a record as 256, a field as 64. Above
   * that rate its streams wait.
   */
  readonly decoding: Rate;
  /** Time for a hello, or for its answer. */
  readonly helloMs: number;
  /** After this time without a frame from the peer this end sends a ping. */
  readonly pingMs: number;
  /** After this time without a frame from the peer the link ends. */
  readonly silenceMs: number;
  /** An old session must answer a ping within this time, or a new agent of the same cluster replaces it. */
  readonly probeMs: number;
  /** After this time without an acknowledged chunk the link ends. */
  readonly stallMs: number;
  /** Time for the answer to a complete transfer. */
  readonly answerMs: number;
  /** Time for deltas in flight when the server shuts down. */
  readonly drainMs: number;
  /** Certificate requests of one cluster that its own token or its certificate authenticates. */
  readonly registrationsPerCluster: Rate;
  /**
   * Certificate requests of one caller that the owner of the server does not admit (yet): of an agent that comes before its server is
   * ready, or before its cluster is declared. Within this rate they take nothing from the rates of the cluster or the address.
   */
  readonly registrationsNotAdmitted: Rate;
  /** Other certificate requests of one address. */
  readonly registrationsPerAddress: Rate;
  /** Certificate requests of all authenticated clusters. The same rate holds for all callers with the shared token. */
  readonly registrations: Rate;
  /** Delay of the answer to a wrong token, on a stream and in a registration. */
  readonly wrongTokenMs: number;
  /** Answers to wrong tokens that may be delayed at once; further callers get `Busy` without delay. */
  readonly wrongTokensWaiting: number;
}

/** Suits thousands of agents at one server; a dead peer is detected within 25 seconds. */
export const DEFAULT_LIMITS: RelayLimits = {
  objectBytes: objectLimits.bytes,
  transferBytes: 512 * 1024 * 1024,
  transferRecords: 1_000_000,
  transferItems: 1_000_000,
  quotas: DEFAULT_QUOTAS,
  aboveQuotaMs: 10_000,
  sessionsBytes: 512 * 1024 * 1024,
  window: 8,
  streamsPerCluster: 8,
  // Two for each connection. An agent tries again after longer and longer times.
  streams: { burst: 60, perSecond: 2 },
  streamWaitMs: 5_000,
  // A first contact of a large cluster does not wait. The decoding of one cluster takes a tenth of a processor after that.
  decoding: { burst: 256 * 1024 * 1024, perSecond: 32 * 1024 * 1024 },
  helloMs: 10_000,
  pingMs: 8_000,
  silenceMs: 20_000,
  probeMs: 3_000,
  stallMs: 60_000,
  answerMs: 120_000,
  drainMs: 10_000,
  // An agent needs one when it enrols, and one at two thirds of the life of its certificate.
  registrationsPerCluster: { burst: 5, perSecond: 1 / 60 },
  // An agent comes again after at least 2.5 s on average, once it has been told several times that the server is not ready.
  registrationsNotAdmitted: { burst: 30, perSecond: 1 / 2 },
  // All agents of a fleet may share one address, and dial at the same time after an outage.
  registrationsPerAddress: { burst: 200, perSecond: 20 },
  // Issuing a certificate takes about 10 ms.
  registrations: { burst: 200, perSecond: 20 },
  wrongTokenMs: 1_000,
  wrongTokensWaiting: 64,
};
