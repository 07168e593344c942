import { type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { pathSegmentRule, percentRule } from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';

/** What an API server checks of a PodDisruptionBudget. */
export const podDisruptionBudgetRule = kindRule(pathSegmentRule, (root) => {
  const spec = root.get('spec');
  const least = spec.get('minAvailable');
  const most = spec.get('maxUnavailable');
  if (least.isSet && most.isSet) {
    const hint = 'remove one of the two';
    most.report('WrongChoice', `${spec.name} has minAvailable and maxUnavailable`, { hint, atKey: true });
  }
  checkAmount(least);
  checkAmount(most);
  checkLabelSelector(spec.get('selector'));
  filledIfSet(spec.get('unhealthyPodEvictionPolicy'));
});

function checkAmount(amount: Field): void {
  amount.inRange(0);
  const found = amount.text;
  if (found === undefined) return;
  const broken = percentRule(found);
  if (broken !== undefined) amount.invalid(broken);
  else if (Number.parseInt(found, 10) > 100) amount.invalid('must be at most 100%');
}
