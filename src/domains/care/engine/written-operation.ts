import type { ObservedStatus } from '../../../model/fleet/conditions.ts';
import { objectOf, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import { DECLARATION_TASK } from '../model/declaration-error.ts';

/** The last operation as written last. */
export interface LastOperation {
  readonly type: string;
  readonly state: string;
  readonly progress: number;
  readonly description: string;
  /** RFC 3339. */
  readonly lastUpdateTime: string;
  readonly hasErrors: boolean;
}

/** Reads the last operation of a written status; undefined: there was none. */
export function lastOperationOf(observed: ObservedStatus | undefined): LastOperation | undefined {
  const { type, state, progress, description, lastUpdateTime } = objectOf(observed?.fields.lastOperation);
  if (typeof type !== 'string' || typeof state !== 'string') return undefined;
  return {
    type,
    state,
    description: textOf(description),
    lastUpdateTime: textOf(lastUpdateTime),
    progress: typeof progress === 'number' ? progress : 0,
    hasErrors: lastErrorsOf(observed).length > 0,
  };
}

/** An entry of `lastErrors` without its time. */
export interface LastError {
  readonly description: string;
  /** Absent: the entry stands for others that are left out. */
  readonly taskID?: string;
  /** Sorted; may be empty. */
  readonly codes: readonly string[];
}

/** An entry of `lastErrors` as written last. `lastUpdateTime`: RFC 3339; may be empty. */
export type WrittenError = LastError & { readonly lastUpdateTime: string };

/** Reads the last errors of a written status, without the one that is about the declaration and no task. */
export function lastErrorsOf(observed: ObservedStatus | undefined): readonly WrittenError[] {
  const written = objectsOf(observed?.fields.lastErrors).filter(({ taskID }) => taskID !== DECLARATION_TASK);
  return written.map(({ description, taskID, codes, lastUpdateTime }) => ({
    description: textOf(description),
    codes: textsOf(codes),
    lastUpdateTime: textOf(lastUpdateTime),
    ...(typeof taskID === 'string' ? { taskID } : {}),
  }));
}
