import { type EngineKind, engineKindOf } from '../../model/fleet/engine-kinds.ts';
import { type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { ResourceEvent } from '../../ports/resource-status.ts';

/** What a domain says about the status of objects of one kind. */
export interface StatusRule {
  /** Whether others write this status: then fleetrelay writes none of it. */
  readonly isOfOthers?: (status: JsonObject) => boolean;
  /** The fields of the status of a declaration that does not count, for a kind without the condition `Accepted`. */
  readonly refusal?: (message: string) => JsonObject;
  /** Events of a change from one status to the next, besides the events of conditions. */
  readonly events?: (before: JsonObject | undefined, after: JsonObject) => readonly ResourceEvent[];
}

/** The rules of the kinds that have one. */
export type StatusRules = Readonly<Partial<Record<EngineKind, StatusRule>>>;

/** The rule of a custom resource's kind; undefined: it has none. */
export function ruleOf(rules: StatusRules, key: ObjectKey): StatusRule | undefined {
  const { group, kind } = objectRefOf(key);
  const id = engineKindOf(group, kind);
  return id === undefined ? undefined : rules[id];
}
