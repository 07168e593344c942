import { type Field, filledIfSet, get, inRange, invalid, isSet, nameOf, report, text } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { pathSegmentRule, percentRule } from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';

/** What an API server checks of a PodDisruptionBudget. */
export const podDisruptionBudgetRule = kindRule(pathSegmentRule, (root) => {
  const spec = get(root, 'spec');
  const least = get(spec, 'minAvailable');
  const most = get(spec, 'maxUnavailable');
  if (isSet(least) && isSet(most)) {
    const hint = 'remove one of the two';
    report(most, 'WrongChoice', `${nameOf(spec)} has minAvailable and maxUnavailable`, { hint, atKey: true });
  }
  checkAmount(least);
  checkAmount(most);
  checkLabelSelector(get(spec, 'selector'));
  filledIfSet(get(spec, 'unhealthyPodEvictionPolicy'));
});

function checkAmount(amount: Field): void {
  inRange(amount, 0);
  const found = text(amount);
  if (found === undefined) return;
  const broken = percentRule(found);
  if (broken !== undefined) invalid(amount, broken);
  else if (Number.parseInt(found, 10) > 100) invalid(amount, 'must be at most 100%');
}
