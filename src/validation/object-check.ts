import type { FieldProblem } from '../manifest/problem.ts';
import type { JsonObject } from '../model/json.ts';

/**
 * Returns the problems of one object: errors where an API server would refuse it, warnings where it would warn. Paths begin
 * at the root of the object. Never throws, whatever the object holds, and never quotes a value of a Secret.
 */
export type ObjectCheck = (object: JsonObject) => readonly FieldProblem[];

/** A problem that a rule of built-in kinds reports. */
export interface RuleProblem extends FieldProblem {
  /** API servers before this minor version of Kubernetes accept the object. */
  readonly since?: number;
  /** API servers from this minor version on accept the object. */
  readonly until?: number;
}

/** As {@link ObjectCheck}, for all versions of Kubernetes. */
export type ObjectRule = (object: JsonObject) => readonly RuleProblem[];
