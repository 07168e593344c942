import type { ClusterName, Digest, SourceName } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { ObjectKey } from './object-key.ts';

/** The input that an output came from. No line, commit or blob: those are found when somebody asks. */
export interface Origin {
  readonly source: SourceName;
  /** Relative to the root of the source, with `/`. */
  readonly path: string;
}

/** Where an object came from and what it could have read: travels beside the content, is no part of its digest. */
export interface ObjectMeta {
  /** In canonical order. */
  readonly origins: readonly Origin[];
  /** Clusters whose live state the object could have read, in canonical order; empty for plain placement. */
  readonly scope: readonly ClusterName[];
}

/** An object that a cluster should hold. */
export interface OutputObject extends ObjectMeta {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly value: JsonObject;
}

/** Which revision of a source an output belongs to. */
export interface RevisionRef {
  readonly source: SourceName;
  /** A commit id, or a content digest for a folder. */
  readonly revision: string;
}

/** Orders everything that was ever sent to one cluster. Compared as a pair, epoch first. */
export interface OutputPosition {
  /** Milliseconds since 1970 when it began, or a little more: each is higher than the one before. */
  readonly epoch: number;
  readonly sequence: number;
}

/** No position has a higher sequence. No fleet gets this far; it leaves room above what an agent can state. */
export const MAX_SEQUENCE = 2 ** 40;

/** The one that comes next: in the next epoch after the last sequence of one. */
export function positionAfter({ epoch, sequence }: OutputPosition): OutputPosition {
  return sequence < MAX_SEQUENCE ? { epoch, sequence: sequence + 1 } : { epoch: epoch + 1, sequence: 1 };
}

/** Negative, zero or positive, as `a` is before, at or after `b`. */
export function comparePositions(a: OutputPosition, b: OutputPosition): number {
  return a.epoch - b.epoch || a.sequence - b.sequence;
}

/**
 * What leads one cluster from the output snapshot `from` to `to`. Every list is in key order; a key is in at most one of
 * `upserts`, `touches`, `removals`. A keep carries no content: the object stays as the cluster has it, and its digest
 * there counts in `to`.
 */
export interface OutputDelta {
  readonly from: Digest;
  readonly to: Digest;
  readonly upserts: readonly OutputObject[];
  /** Same content, other meta. */
  readonly touches: readonly (ObjectMeta & { readonly key: ObjectKey })[];
  readonly removals: readonly ObjectKey[];
  /** Everything that is kept now, with the reason; replaces the list of the delta before. */
  readonly keeps: readonly { readonly key: ObjectKey; readonly reason: string }[];
  /** The revisions of all sources that this output was computed from. */
  readonly revisions: readonly RevisionRef[];
}

/** A delta as it is sent. */
export interface SequencedDelta extends OutputDelta {
  readonly position: OutputPosition;
  /** The admission of desired state that it was computed from; absent: its server says none. */
  readonly admitted?: AdmissionPosition;
}

/** Orders the states of all sources that a fleet's leader has admitted, one after the other. Compared as a pair. */
export type AdmissionPosition = OutputPosition;
