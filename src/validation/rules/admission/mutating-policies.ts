import {
  entryOf,
  type Field,
  forbidden,
  get,
  invalid,
  isEmpty,
  isOneOf,
  isSet,
  items,
  needed,
  required,
  text,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule } from '../shared/names.ts';
import { checkBinding, checkPolicy } from './admission-policies.ts';
import { checkExpression } from './webhooks.ts';

const PATCHES: Readonly<Record<string, string>> = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' };

/** What an API server checks of a MutatingAdmissionPolicy. The expressions are checked in custom/cel. */
export const mutatingAdmissionPolicyRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  checkPolicy(spec);
  checkOperations(get(spec, 'matchConstraints'));
  const reinvocation = get(spec, 'reinvocationPolicy');
  if (isEmpty(reinvocation)) required(reinvocation, 'Never or IfNeeded');
  else isOneOf(reinvocation, ['Never', 'IfNeeded']);
  const mutations = get(spec, 'mutations');
  needed(mutations);
  for (const mutation of items(mutations)) checkMutation(mutation);
});

function checkOperations(constraints: Field): void {
  for (const each of items(get(constraints, 'resourceRules'))) {
    for (const operation of items(get(each, 'operations'))) {
      if (operation.value === 'DELETE') invalid(operation, 'must not be DELETE, which changes no object');
    }
  }
}

function checkMutation(mutation: Field): void {
  const type = get(mutation, 'patchType');
  needed(type);
  isOneOf(type, Object.keys(PATCHES));
  const wanted = entryOf(PATCHES, text(type));
  if (wanted === undefined) return;
  for (const name of Object.values(PATCHES)) {
    const field = get(mutation, name);
    if (name === wanted && !isSet(field)) required(field, `a mutation with patchType ${String(type.value)} has it`);
    else if (name !== wanted && isSet(field)) forbidden(field, `with patchType ${String(type.value)}`);
  }
  const expression = get(get(mutation, wanted), 'expression');
  if (isSet(get(mutation, wanted)) && isEmpty(expression)) required(expression);
  else checkExpression(expression);
}

/** What an API server checks of a MutatingAdmissionPolicyBinding. */
export const mutatingAdmissionPolicyBindingRule = kindRule(dnsSubdomainRule, (root) => {
  checkBinding(get(root, 'spec'));
});
