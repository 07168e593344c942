import type { KubeRefusal } from '../api/types.ts';
import type { FieldHolder } from './field-ownership.ts';
import { isOurs } from './field-ownership.ts';

/** A field of ours that somebody else has set to something else. */
export interface FieldConflict {
  readonly manager: string;
  /** As the API server names it. */
  readonly field: string;
  /** `Apply`: somebody who declares it, as we do. `Update`: somebody who wrote it once. */
  readonly operation: 'Apply' | 'Update';
}

const SAYS_WHO = /^conflict with "((?:[^"\\]|\\.)*)"/;

/**
 * The conflicts that a refused apply names, with what the holders of the live object's fields tell about each manager. A
 * manager that does both counts as one that declares: what is declared is never taken by force.
 */
export function conflictsOf(refusal: KubeRefusal, holders: readonly FieldHolder[]): readonly FieldConflict[] {
  return refusal.causes.flatMap(({ reason, message, field }) => {
    const who = SAYS_WHO.exec(message)?.[1];
    if (reason !== 'FieldManagerConflict' || who === undefined) return [];
    const manager = unquote(who);
    const entries = holders.filter((holder) => holder.manager === manager && !isOurs(holder));
    const operation = entries.some((entry) => entry.operation === 'Apply') ? 'Apply' : 'Update';
    return [{ manager, field, operation }];
  });
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

/** At most so many fields are named to a person. */
const NAMED = 5;

/** `.spec.a, .spec.b and 3 more`. */
export function listFields(fields: readonly string[]): string {
  const named = fields.slice(0, NAMED).join(', ');
  return fields.length > NAMED ? `${named} and ${fields.length - NAMED} more` : named;
}

/** `"argocd" (.spec.a, .spec.b); "helm" (.spec.c)`. */
export function listConflicts(conflicts: readonly FieldConflict[]): string {
  const byManager = Map.groupBy(conflicts, ({ manager }) => manager);
  return [...byManager]
    .map(([manager, all]) => `"${manager}" (${listFields(all.map(({ field }) => field))})`)
    .join('; ');
}
