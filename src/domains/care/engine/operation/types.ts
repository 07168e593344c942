import { type JsonValue, textOf } from '../../../../model/text/json.ts';

export const OPERATION_TYPES = ['Create', 'Reconcile', 'Delete', 'Migrate', 'Restore'] as const;
export type OperationType = (typeof OPERATION_TYPES)[number];

export type OperationState = 'Processing' | 'Succeeded' | 'Error' | 'Failed' | 'Pending' | 'Aborted';

/** An operation without its time, which only the writer knows. */
export interface Operation {
  readonly type: OperationType;
  readonly state: OperationState;
  /** Percent of the tasks that are done. */
  readonly progress: number;
  readonly description: string;
}

/** What people can ask for: `retry` of a Failed operation, `reconcile` in any other state. */
export type OperationRequest = 'reconcile' | 'retry';

/** What the type of the next operation follows from. */
export interface Wanted {
  /** The Shoot is being deleted, or no source declares it any more. */
  readonly isDeleted: boolean;
  /** The Seed in the spec. */
  readonly seed?: string | undefined;
}

/** What was written last. */
export interface WrittenOperation {
  readonly last?: { readonly type: string; readonly state: string } | undefined;
  /** The Seed that the status names. */
  readonly seed: string;
}

/** Whether the control plane is to move to another Seed. A Shoot that gets its first Seed, or loses it, does not move. */
function mustMove({ seed = '' }: Wanted, written: WrittenOperation): boolean {
  return seed !== '' && written.seed !== '' && seed !== written.seed;
}

/** The type of the operation that goes on or begins. Source: Gardener's ComputeOperationType. */
export function operationType(wanted: Wanted, written: WrittenOperation): OperationType {
  const { last } = written;
  if (last?.type === 'Migrate' && (last.state === 'Succeeded' || last.state === 'Aborted')) return 'Restore';
  if (mustMove(wanted, written)) return 'Migrate';
  // A move that was called off half-way: what has left the Seed comes back to it.
  if (last?.type === 'Migrate') return 'Restore';
  if (wanted.isDeleted) return 'Delete';
  // After a deletion, a Shoot of the same name is another one.
  if (last === undefined || last.type === 'Delete') return 'Create';
  if ((last.type === 'Create' || last.type === 'Restore') && last.state !== 'Succeeded') return last.type;
  return 'Reconcile';
}

/** Whether objects leave, and nothing is applied. */
export function isLeaving(type: OperationType): boolean {
  return type === 'Delete' || type === 'Migrate';
}

/** The type in a status that others may have written; undefined: it is none. */
export function readType(value: JsonValue | undefined): OperationType | undefined {
  return OPERATION_TYPES.find((type) => type === textOf(value));
}
