import type { ConditionFinding } from '../thresholds.ts';
import { isNotChecked } from '../visibility.ts';

/**
 * The finding of a check: of its rules, in their order, the first that has found a fault. Without one it is the first that could
 * not be checked, and without that `good`. `undefined` is a rule that holds; rules after a fault are not evaluated.
 */
export function firstFailing(
  findings: Iterable<ConditionFinding | undefined>,
  good: ConditionFinding,
): ConditionFinding {
  let unseen: ConditionFinding | undefined;
  for (const finding of findings) {
    if (finding === undefined || finding.outcome === 'good') continue;
    if (!isNotChecked(finding)) return finding;
    unseen ??= finding;
  }
  return unseen ?? good;
}
