import type { Digest } from '../model/ids.ts';
import type { JsonObject } from '../model/json.ts';
import type { ObjectKey } from '../model/object-key.ts';
import type { OutputPosition } from '../model/output.ts';

/**
 * The agent's own disk: the last output snapshot with its contents, so that the agent repairs drift without a server. The
 * agent uses it only where it agrees with the inventory in the cluster.
 */
export interface AgentDisk {
  /**
   * The snapshot as it was at `position`; later steps, whose inventory was never saved, are dropped. Undefined if there is
   * none, it is damaged, or it does not reach that position.
   */
  load(position: OutputPosition): Promise<StoredOutput | undefined>;
  /** Appends a step atomically; durable when it resolves. */
  append(step: OutputStep): Promise<void>;
  /** Replaces all steps with this snapshot atomically; durable when it resolves. */
  replace(output: StoredOutput): Promise<void>;
  close(): Promise<void>;
}

export interface StoredObject {
  readonly digest: Digest;
  readonly value: JsonObject;
}

export interface StoredOutput {
  readonly position: OutputPosition;
  /** Snapshot digest at that position. */
  readonly digest: Digest;
  readonly objects: ReadonlyMap<ObjectKey, StoredObject>;
}

export interface OutputStep {
  readonly position: OutputPosition;
  readonly digest: Digest;
  readonly put: readonly (StoredObject & { readonly key: ObjectKey })[];
  readonly drop: readonly ObjectKey[];
}
