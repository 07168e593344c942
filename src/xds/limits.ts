import type { Rate } from '../model/limits/rate-limit.ts';

/** What the server accepts of Envoys. Times in milliseconds. */
export interface XdsLimits {
  /** Open streams of all Envoys, also of those that are not authenticated yet. */
  readonly streams: number;
  /** Open streams of one node and protocol. An Envoy that reconnects may have an old one that is not closed yet. */
  readonly streamsPerNode: number;
  /** Time for the first message. */
  readonly firstMessageMs: number;
  /** Messages of one node in one protocol; more of them slow it down. */
  readonly messages: Rate;
  /** Resources that one stream may ask for. */
  readonly resources: number;
  /** Delay of a refusal, so that a caller cannot try many tokens. */
  readonly refusalMs: number;
  /** Refusals that may be delayed at once; further ones are sent without delay and say nothing. */
  readonly refusalsWaiting: number;
  /** Of these, of one address. */
  readonly refusalsPerAddress: number;
  /** Changes of resources are gathered for this time. */
  readonly gatherMs: number;
}

/** Suits thousands of Envoys at one server. */
export const XDS_LIMITS: XdsLimits = {
  streams: 20_000,
  streamsPerNode: 4,
  firstMessageMs: 10_000,
  // An Envoy reports every few seconds, and answers each response once.
  messages: { burst: 50, perSecond: 20 },
  resources: 2_000,
  refusalMs: 1_000,
  refusalsWaiting: 64,
  refusalsPerAddress: 16,
  gatherMs: 100,
};
