import { conditionOf } from '../../../../model/objects/object-health/health.ts';
import { type JsonObject, textOf } from '../../../../model/text/json.ts';

/** What a condition of an object has to be. */
export interface ExpectedCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  /** Without it the object is not healthy; absent: only its status counts. */
  readonly isRequired?: true;
}

/** The first condition of a status that is not as expected, as an unbounded sentence; undefined: all are. Source: Gardener's health checks. */
export function conditionProblem(status: JsonObject, expected: readonly ExpectedCondition[]): string | undefined {
  for (const { type, status: wanted, isRequired } of expected) {
    const condition = conditionOf(status, type);
    if (condition === undefined && isRequired) return `condition "${type}" is missing`;
    if (condition === undefined || condition.status === wanted) continue;
    const { status: found, reason, message } = condition;
    const why = `due to ${textOf(reason)}: ${textOf(message)}`;
    return `condition "${type}" has invalid status ${textOf(found)} (expected ${wanted}) ${why}`;
  }
  return undefined;
}
