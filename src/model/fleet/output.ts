import type { ObjectKey } from '../objects/object-key.ts';
import type { JsonObject } from '../text/json.ts';
import { given } from '../values/given.ts';
import type { DriftMode } from './drift.ts';
import type { ClusterName, Digest, SourceName } from './ids.ts';

/** The file that an object comes from. Lines and commits are no part of it: they are looked up on request. */
export interface Origin {
  readonly source: SourceName;
  /** Relative to the root of the source, with `/`. */
  readonly path: string;
}

/** The metadata of an object. It is sent with the content, and is no part of its digest. */
export interface ObjectMeta {
  /** In canonical order. */
  readonly origins: readonly Origin[];
  /** The clusters whose live state the object could have been computed from, in canonical order; empty: none. */
  readonly scope: readonly ClusterName[];
  /** An operation has failed for this content: the agent sends no requests for it. */
  readonly stopped?: true;
  /** When a person has last asked for another attempt, in milliseconds since 1970: a new one is tried at once. Absent: none has. */
  readonly attempt?: number;
  /** What the agent does about drift of the object. Absent: what the fleet's policy says. */
  readonly driftMode?: DriftMode;
}

/** Selects the metadata. */
export function metaOf({ origins, scope, stopped, attempt, driftMode }: ObjectMeta): ObjectMeta {
  return { origins, scope, ...given({ stopped, attempt, driftMode }) };
}

/** An object that a cluster should hold. */
export interface OutputObject extends ObjectMeta {
  readonly key: ObjectKey;
  readonly digest: Digest;
  /** May be parsed anew at each access: keep the result. */
  readonly value: JsonObject;
  /** The canonical bytes of `value`, if they are known. */
  readonly content?: Uint8Array;
}

/** A revision of a source. */
export interface RevisionRef {
  readonly source: SourceName;
  /** A commit id, or a content digest for a folder. */
  readonly revision: string;
}

/** Orders all outputs that were sent to one cluster. Compared as a pair, epoch first. */
export interface OutputPosition {
  /** When the epoch began, in milliseconds since 1970, increased if necessary: each is higher than the one before. */
  readonly epoch: number;
  readonly sequence: number;
}

/** Most bytes of one delta, unless a RelayConfig says otherwise: larger changes are sent in several deltas. */
export const DELTA_BYTES = 64 * 1024 * 1024;

/** The highest sequence. No fleet reaches it; it bounds the positions that an agent can claim. */
export const MAX_SEQUENCE = 2 ** 40;

/** The next position: the next sequence, or the next epoch after the highest sequence. */
export function positionAfter({ epoch, sequence }: OutputPosition): OutputPosition {
  return sequence < MAX_SEQUENCE ? { epoch, sequence: sequence + 1 } : { epoch: epoch + 1, sequence: 1 };
}

/** Negative, zero or positive if `a` is before, equal to or after `b`. */
export function comparePositions(a: OutputPosition, b: OutputPosition): number {
  return a.epoch - b.epoch || a.sequence - b.sequence;
}

/**
 * The difference between the output snapshots `from` and `to` of one cluster. Lists are in key order; a key is in at most one
 * of `upserts`, `touches` and `removals`. A keep has no content: the object stays as it is in the cluster, and `to` includes
 * its digest there.
 */
export interface OutputDelta {
  readonly from: Digest;
  readonly to: Digest;
  readonly upserts: readonly OutputObject[];
  /**
   * Objects whose content stays, with new metadata. An object that is being removed is among them if a person has asked for another
   * attempt.
   */
  readonly touches: readonly (ObjectMeta & { readonly key: ObjectKey })[];
  readonly removals: readonly ObjectKey[];
  /** All keeps with their reasons; replaces the list of the previous delta. */
  readonly keeps: readonly { readonly key: ObjectKey; readonly reason: string }[];
  /** The revisions that the output was computed from, of all sources. */
  readonly revisions: readonly RevisionRef[];
}

/** A delta as it is sent. */
export interface SequencedDelta extends OutputDelta {
  readonly position: OutputPosition;
  /** The admission that the output was computed from; absent: the server has no admissions. */
  readonly admitted?: AdmissionPosition;
  /** Proves that a server of the fleet has sent this step (hex); absent: its server made none. */
  readonly tag?: string;
}

/** Selects what the agent keeps of a delta, to show it to the servers after this one. */
export function claimOf({
  position,
  admitted,
  tag,
}: Pick<SequencedDelta, 'position' | 'admitted' | 'tag'>): Pick<SequencedDelta, 'position' | 'admitted' | 'tag'> {
  return { position, ...given({ admitted, tag }) };
}

/** Orders the admissions of the fleet's leader. Compared as a pair, epoch first. */
export type AdmissionPosition = OutputPosition;
