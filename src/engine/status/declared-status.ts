import type { JsonObject } from '../../model/json.ts';
import type { Origin } from '../../model/output.ts';
import type { ConditionValue } from './conditions.ts';

/** The status of a declared object of a kind that the engine reads. Partition: the kind. Key: as of its declaration. */
export interface DeclaredStatus {
  /** Where it is declared. */
  readonly origin: Origin;
  readonly conditions: readonly ConditionValue[];
  /** Beside the conditions. */
  readonly fields: JsonObject;
}
