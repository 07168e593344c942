import type { Digest } from '../model/fleet/ids.ts';
import type { OutputPosition } from '../model/fleet/output.ts';
import type { ObjectKey } from '../model/objects/object-key.ts';
import type { JsonObject } from '../model/text/json.ts';

/**
 * The agent's own disk: the last output snapshot with its contents, so that the agent repairs drift without a server. The
 * agent uses it only where it agrees with the inventory in the cluster. Contents are on the disk only. One call at a time.
 */
export interface AgentDisk {
  /**
   * The snapshot as it was at `position`; later steps, whose inventory was never saved, are dropped. Undefined if there is
   * none, it is damaged, or it does not reach that position.
   */
  load(position: OutputPosition): Promise<StoredOutput | undefined>;
  /**
   * Appends a step atomically; durable when it resolves. Resolves with the contents of `put` as they are on the disk then, and other
   * contents with a changed place. Rejects with an error that {@link isDiskFull} recognises if there is no room. After a rejection
   * the disk is as it was before.
   */
  append(step: OutputStep): Promise<StoredContents>;
  /** Replaces all steps with this snapshot atomically. Resolves and rejects as `append`. */
  replace(output: StoredOutput): Promise<StoredContents>;
  close(): Promise<void>;
}

export type StoredContents = ReadonlyMap<ObjectKey, StoredObject>;

export interface StoredObject {
  readonly digest: Digest;
  /** May be read from the disk at each access: keep the result. Throws if it cannot be read any more. */
  readonly value: JsonObject;
  /** Canonical bytes of `value`, if they are in memory. */
  readonly content?: Uint8Array;
  /** Number of its canonical bytes; absent: not known. */
  readonly bytes?: number;
}

export interface StoredOutput {
  readonly position: OutputPosition;
  /** Snapshot digest at that position. */
  readonly digest: Digest;
  readonly objects: StoredContents;
}

export interface OutputStep {
  readonly position: OutputPosition;
  /** Of the snapshot that the step starts from. A step after that one, whose inventory was never saved, is dropped. */
  readonly after: OutputPosition;
  readonly digest: Digest;
  readonly put: readonly (StoredObject & { readonly key: ObjectKey })[];
  readonly drop: readonly ObjectKey[];
}

/** Makes the error for a write that finds no room. */
export function diskFullError(cause: unknown): Error & { readonly diskFull: true } {
  return Object.assign(new Error('the disk of the agent is full', { cause }), { diskFull: true as const });
}

/** True for an error of {@link diskFullError}. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'diskFull' in error && error.diskFull === true;
}
