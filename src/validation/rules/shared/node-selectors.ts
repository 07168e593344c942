import type { Field } from './field.ts';
import { dnsSubdomainRule, labelValueRule, qualifiedNameRule } from './names.ts';

/** Checks a selector of nodes with its terms. */
export function checkNodeSelector(selector: Field): void {
  const terms = selector.get('nodeSelectorTerms');
  for (const term of terms.items()) checkNodeTerm(term, true);
}

/** Checks one term; preferred terms may have values that are no values of labels. */
export function checkNodeTerm(term: Field, checksValues: boolean): void {
  for (const requirement of term.get('matchExpressions').items()) checkNodeRequirement(requirement, checksValues);
  for (const requirement of term.get('matchFields').items()) {
    const values = requirement.get('values').items();
    requirement.get('operator').oneOf(['In', 'NotIn']);
    requirement.get('key').oneOf(['metadata.name']);
    if (values.length !== 1) requirement.get('values').report('BadSelector', `${requirement.name} must have one value`);
    requirement.get('values').haveForm(dnsSubdomainRule);
  }
}

function checkNodeRequirement(requirement: Field, checksValues: boolean): void {
  const operator = requirement.get('operator');
  const values = requirement.get('values');
  requirement.get('key').hasForm(qualifiedNameRule, 'BadLabel');
  switch (operator.value) {
    case 'In':
    case 'NotIn':
      values.needed(`${operator.value} needs values`);
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (!values.isEmpty) values.forbidden(`with the operator ${operator.value}`);
      break;
    case 'Gt':
    case 'Lt':
      if (values.items().length !== 1)
        values.report('BadSelector', `${values.name} must have one value for ${operator.value}`);
      break;
    default:
  }
  if (checksValues) for (const value of values.items()) value.hasForm(labelValueRule, 'BadLabel');
}
