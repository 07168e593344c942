import {
  type Field,
  forbidden,
  get,
  hasForm,
  haveForm,
  isEmpty,
  items,
  nameOf,
  needed,
  oneOf,
  report,
} from './field.ts';
import { dnsSubdomainRule, labelValueRule, qualifiedNameRule } from './names.ts';

/** Checks a selector of nodes with its terms. */
export function checkNodeSelector(selector: Field): void {
  const terms = get(selector, 'nodeSelectorTerms');
  for (const term of items(terms)) checkNodeTerm(term, true);
}

/** Checks one term; preferred terms may have values that are no values of labels. */
export function checkNodeTerm(term: Field, checksValues: boolean): void {
  for (const requirement of items(get(term, 'matchExpressions'))) checkNodeRequirement(requirement, checksValues);
  for (const requirement of items(get(term, 'matchFields'))) {
    const values = items(get(requirement, 'values'));
    oneOf(get(requirement, 'operator'), ['In', 'NotIn']);
    oneOf(get(requirement, 'key'), ['metadata.name']);
    if (values.length !== 1)
      report(get(requirement, 'values'), 'BadSelector', `${nameOf(requirement)} must have one value`);
    haveForm(get(requirement, 'values'), dnsSubdomainRule);
  }
}

function checkNodeRequirement(requirement: Field, checksValues: boolean): void {
  const operator = get(requirement, 'operator');
  const values = get(requirement, 'values');
  hasForm(get(requirement, 'key'), qualifiedNameRule, 'BadLabel');
  switch (operator.value) {
    case 'In':
    case 'NotIn':
      needed(values, `${operator.value} needs values`);
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (!isEmpty(values)) forbidden(values, `with the operator ${operator.value}`);
      break;
    case 'Gt':
    case 'Lt':
      if (items(values).length !== 1)
        report(values, 'BadSelector', `${nameOf(values)} must have one value for ${operator.value}`);
      break;
    default:
  }
  if (checksValues) for (const value of items(values)) hasForm(value, labelValueRule, 'BadLabel');
}
