import { distinct, type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import {
  cIdentifierRule,
  dns1035LabelRule,
  dnsSubdomainRule,
  pathSegmentRule,
  qualifiedNameRule,
} from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';
import { checkAdmissionRule } from './admission-rules.ts';
import { checkExpression, checkMatchConditions } from './webhooks.ts';

const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
/** Words of CEL that are no names. */
const CEL_WORDS: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function celNameRule(name: string): string | undefined {
  return CEL_WORDS.has(name) ? 'must not be a reserved word of CEL' : cIdentifierRule(name);
}

/** What an API server checks of a ValidatingAdmissionPolicy. The expressions are checked in custom/cel. */
export const validatingAdmissionPolicyRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  checkPolicy(spec);
  const validations = spec.get('validations');
  const annotations = spec.get('auditAnnotations');
  if (validations.isEmpty && annotations.isEmpty) {
    spec.report('WrongChoice', `${spec.name} needs validations, auditAnnotations or both`);
  }
  for (const validation of validations.items()) checkValidation(validation);
  checkAuditAnnotations(root, annotations.items());
});

/** Checks what all policies have in common: what they are for, their parameters and variables. */
export function checkPolicy(spec: Field): void {
  filledIfSet(spec.get('failurePolicy'));
  const constraints = spec.get('matchConstraints');
  if (constraints.isSet) {
    checkMatchResources(constraints);
    constraints.get('resourceRules').needed();
  } else constraints.required();
  checkParamKind(spec.get('paramKind'));
  checkMatchConditions(spec.get('matchConditions'));
  checkVariables(spec.get('variables'));
}

function checkVariables(variables: Field): void {
  for (const variable of variables.items()) {
    variable.get('name').hasForm(celNameRule);
    checkExpression(variable.get('expression'));
  }
}

function checkMatchResources(match: Field): void {
  filledIfSet(match.get('matchPolicy'));
  checkLabelSelector(match.get('namespaceSelector'));
  checkLabelSelector(match.get('objectSelector'));
  for (const name of ['resourceRules', 'excludeResourceRules']) {
    for (const each of match.get(name).items()) checkAdmissionRule(each);
  }
}

function checkParamKind(kind: Field): void {
  if (!kind.isSet) return;
  for (const name of ['apiVersion', 'kind']) kind.get(name).needed();
  kind.get('kind').hasForm((name) => dns1035LabelRule(name.toLowerCase()));
  kind.get('apiVersion').hasForm((version) => {
    const [group, name, ...rest] = version.includes('/') ? version.split('/') : ['none', version];
    const isGood =
      rest.length === 0 && dnsSubdomainRule(group ?? '') === undefined && dns1035LabelRule(name ?? '') === undefined;
    return isGood ? undefined : 'must be VERSION or GROUP/VERSION, like apps/v1';
  });
}

function checkValidation(validation: Field): void {
  checkExpression(validation.get('expression'));
  for (const name of ['message', 'messageExpression']) {
    const field = validation.get(name);
    const found = field.text ?? '';
    if (found !== '' && found.trim() === '') field.invalid('must not be blank');
    else if (name === 'message' && /[\r\n]/.test(found.trim())) {
      field.report('WrongValue', `${field.name} must be one line`);
    }
  }
  validation.get('reason').isOneOf(REASONS);
}

function checkAuditAnnotations(root: Field, annotations: readonly Field[]): void {
  const name = root.get('metadata').get('name').word ?? 'name';
  for (const annotation of annotations) {
    annotation.get('key').hasForm((key) => qualifiedNameRule(`${name}/${key}`));
    checkExpression(annotation.get('valueExpression'));
  }
  distinct(annotations.map((annotation) => annotation.get('key')));
}

/** What an API server checks of a ValidatingAdmissionPolicyBinding. */
export const validatingAdmissionPolicyBindingRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  checkBinding(spec);
  const actions = spec.get('validationActions');
  actions.needed();
  filledIfSet(...actions.textItems());
  const words = actions.items().map(({ value }) => value);
  if (words.includes('Deny') && words.includes('Warn')) {
    actions.report('WrongChoice', `${actions.name} must not hold both Deny and Warn`);
  }
});

/** Checks what all bindings have in common: the policy, the objects and the parameters. */
export function checkBinding(spec: Field): void {
  const policy = spec.get('policyName');
  policy.needed();
  policy.hasForm(dnsSubdomainRule);
  const match = spec.get('matchResources');
  if (match.isSet) checkMatchResources(match);
  checkParamRef(spec.get('paramRef'));
}

function checkParamRef(ref: Field): void {
  if (!ref.isSet) return;
  const name = ref.get('name');
  const selector = ref.get('selector');
  if (name.isEmpty === !selector.isSet) {
    ref.report('WrongChoice', `${ref.name} needs exactly one of name, selector`);
  }
  name.hasForm(pathSegmentRule);
  checkLabelSelector(selector);
  const action = ref.get('parameterNotFoundAction');
  if (!action.isSet) action.required('Allow or Deny');
  action.isOneOf(['Allow', 'Deny']);
}
