import type { JsonObject } from '../text/json.ts';
import type { ObjectHealth } from './object-health/health.ts';
import { groupOf } from './object-key.ts';

/**
 * How the objects of one kind are judged in place of the built-in rules: expressions in CEL with the names that Flux gives them
 * (`healthCheckExprs` of a Kustomization). Their variables are the fields of the object: `metadata`, `spec`, `status`, ...
 */
export interface HealthCheck {
  /** Of the version that the expressions are written for. Objects of every version of the kind are judged. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Judged last; if it is false the object is in progress. */
  readonly current: string;
  /** Judged first. */
  readonly inProgress?: string;
  /** Judged after `inProgress`. */
  readonly failed?: string;
}

/** The expressions of a check, in the order in which they are judged. */
export const HEALTH_EXPRESSIONS = ['inProgress', 'failed', 'current'] as const;

/** The kind of a check as in object keys: `group/Kind`. */
export function kindOfCheck({ apiVersion, kind }: Pick<HealthCheck, 'apiVersion' | 'kind'>): string {
  return `${groupOf(apiVersion)}/${kind}`;
}

/** Judges objects of the kinds of some health checks. */
export interface HealthEvaluator {
  /** Undefined: no check is about this kind (`group/Kind`). `steps` is the work that it took. */
  judge(kind: string, object: JsonObject): { readonly health: ObjectHealth; readonly steps: number } | undefined;
}

/** Makes an evaluator; what it needs is loaded only then. */
export type LoadEvaluator = (checks: readonly HealthCheck[]) => Promise<HealthEvaluator>;
