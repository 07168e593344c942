import type { KindState } from '../../model/agent.ts';
import type { ConditionValue } from '../../model/conditions.ts';
import { compareText } from '../../model/json.ts';

/** Kinds named for one reason; what a cluster offers may be hundreds, and all of them are unknown when it does not answer. */
const NAMED = 4;

/** Only where there is something to say: a kind that could not be listed is unknown, not empty. */
export function discoveredCondition(unknown: readonly KindState[]): readonly ConditionValue[] {
  if (unknown.length === 0) return [];
  return [{ type: 'Discovered', status: 'False', reason: 'KindsUnknown', message: unknownKindsText(unknown) }];
}

/** Kinds that share a reason are said together: one API server that is down is one sentence. */
export function unknownKindsText(unknown: readonly KindState[]): string {
  const byReason = Map.groupBy(unknown, ({ message }) => message);
  return [...byReason]
    .map(([reason, kinds]) => `${listed(kinds)} cannot be listed${reason === '' ? '' : `: ${reason}`}`)
    .sort(compareText)
    .join('; ');
}

function listed(kinds: readonly KindState[]): string {
  const names = kinds.map(({ kind }) => kind).sort(compareText);
  const rest = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
