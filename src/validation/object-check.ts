import type { FieldProblem } from '../manifest/problem.ts';
import type { JsonObject } from '../model/json.ts';

/**
 * Returns the problems of one object: errors where an API server would refuse it, warnings where it would warn. Paths begin
 * at the root of the object. Never throws, whatever the object holds, and never quotes a value of a Secret.
 */
export type ObjectCheck = (object: JsonObject) => readonly FieldProblem[];
