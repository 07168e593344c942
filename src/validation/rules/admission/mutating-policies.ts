import { entryOf, type Field } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule } from '../shared/names.ts';
import { checkBinding, checkPolicy } from './admission-policies.ts';
import { checkExpression } from './webhooks.ts';

const PATCHES: Readonly<Record<string, string>> = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' };

/** What an API server checks of a MutatingAdmissionPolicy. The expressions are checked in custom/cel. */
export const mutatingAdmissionPolicyRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  checkPolicy(spec);
  checkOperations(spec.get('matchConstraints'));
  const reinvocation = spec.get('reinvocationPolicy');
  if (reinvocation.isEmpty) reinvocation.required('Never or IfNeeded');
  else reinvocation.isOneOf(['Never', 'IfNeeded']);
  const mutations = spec.get('mutations');
  mutations.needed();
  for (const mutation of mutations.items()) checkMutation(mutation);
});

function checkOperations(constraints: Field): void {
  for (const each of constraints.get('resourceRules').items()) {
    for (const operation of each.get('operations').items()) {
      if (operation.value === 'DELETE') operation.invalid('must not be DELETE, which changes no object');
    }
  }
}

function checkMutation(mutation: Field): void {
  const type = mutation.get('patchType');
  type.needed();
  type.isOneOf(Object.keys(PATCHES));
  const wanted = entryOf(PATCHES, type.text);
  if (wanted === undefined) return;
  for (const name of Object.values(PATCHES)) {
    const field = mutation.get(name);
    if (name === wanted && !field.isSet) field.required(`a mutation with patchType ${String(type.value)} has it`);
    else if (name !== wanted && field.isSet) field.forbidden(`with patchType ${String(type.value)}`);
  }
  const expression = mutation.get(wanted).get('expression');
  if (mutation.get(wanted).isSet && expression.isEmpty) expression.required();
  else checkExpression(expression);
}

/** What an API server checks of a MutatingAdmissionPolicyBinding. */
export const mutatingAdmissionPolicyBindingRule = kindRule(dnsSubdomainRule, (root) => {
  checkBinding(root.get('spec'));
});
