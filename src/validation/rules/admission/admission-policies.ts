import {
  distinct,
  type Field,
  filledIfSet,
  get,
  hasForm,
  invalid,
  isEmpty,
  isOneOf,
  isSet,
  items,
  nameOf,
  needed,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
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
  const spec = get(root, 'spec');
  checkPolicy(spec);
  const validations = get(spec, 'validations');
  const annotations = get(spec, 'auditAnnotations');
  if (isEmpty(validations) && isEmpty(annotations)) {
    report(spec, 'WrongChoice', `${nameOf(spec)} needs validations, auditAnnotations or both`);
  }
  for (const validation of items(validations)) checkValidation(validation);
  checkAuditAnnotations(root, items(annotations));
});

/** Checks what all policies have in common: what they are for, their parameters and variables. */
export function checkPolicy(spec: Field): void {
  filledIfSet(get(spec, 'failurePolicy'));
  const constraints = get(spec, 'matchConstraints');
  if (isSet(constraints)) {
    checkMatchResources(constraints);
    needed(get(constraints, 'resourceRules'));
  } else required(constraints);
  checkParamKind(get(spec, 'paramKind'));
  checkMatchConditions(get(spec, 'matchConditions'));
  checkVariables(get(spec, 'variables'));
}

function checkVariables(variables: Field): void {
  for (const variable of items(variables)) {
    hasForm(get(variable, 'name'), celNameRule);
    checkExpression(get(variable, 'expression'));
  }
}

function checkMatchResources(match: Field): void {
  filledIfSet(get(match, 'matchPolicy'));
  checkLabelSelector(get(match, 'namespaceSelector'));
  checkLabelSelector(get(match, 'objectSelector'));
  for (const name of ['resourceRules', 'excludeResourceRules']) {
    for (const each of items(get(match, name))) checkAdmissionRule(each);
  }
}

function checkParamKind(kind: Field): void {
  if (!isSet(kind)) return;
  for (const name of ['apiVersion', 'kind']) needed(get(kind, name));
  hasForm(get(kind, 'kind'), (name) => dns1035LabelRule(name.toLowerCase()));
  hasForm(get(kind, 'apiVersion'), (version) => {
    const [group, name, ...rest] = version.includes('/') ? version.split('/') : ['none', version];
    const isGood =
      rest.length === 0 && dnsSubdomainRule(group ?? '') === undefined && dns1035LabelRule(name ?? '') === undefined;
    return isGood ? undefined : 'must be VERSION or GROUP/VERSION, like apps/v1';
  });
}

function checkValidation(validation: Field): void {
  checkExpression(get(validation, 'expression'));
  for (const name of ['message', 'messageExpression']) {
    const field = get(validation, name);
    const found = text(field) ?? '';
    if (found !== '' && found.trim() === '') invalid(field, 'must not be blank');
    else if (name === 'message' && /[\r\n]/.test(found.trim())) {
      report(field, 'WrongValue', `${nameOf(field)} must be one line`);
    }
  }
  isOneOf(get(validation, 'reason'), REASONS);
}

function checkAuditAnnotations(root: Field, annotations: readonly Field[]): void {
  const name = word(get(get(root, 'metadata'), 'name')) ?? 'name';
  for (const annotation of annotations) {
    hasForm(get(annotation, 'key'), (key) => qualifiedNameRule(`${name}/${key}`));
    checkExpression(get(annotation, 'valueExpression'));
  }
  distinct(annotations.map((annotation) => get(annotation, 'key')));
}

/** What an API server checks of a ValidatingAdmissionPolicyBinding. */
export const validatingAdmissionPolicyBindingRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  checkBinding(spec);
  const actions = get(spec, 'validationActions');
  needed(actions);
  filledIfSet(...textItems(actions));
  const words = items(actions).map(({ value }) => value);
  if (words.includes('Deny') && words.includes('Warn')) {
    report(actions, 'WrongChoice', `${nameOf(actions)} must not hold both Deny and Warn`);
  }
});

/** Checks what all bindings have in common: the policy, the objects and the parameters. */
export function checkBinding(spec: Field): void {
  const policy = get(spec, 'policyName');
  needed(policy);
  hasForm(policy, dnsSubdomainRule);
  const match = get(spec, 'matchResources');
  if (isSet(match)) checkMatchResources(match);
  checkParamRef(get(spec, 'paramRef'));
}

function checkParamRef(ref: Field): void {
  if (!isSet(ref)) return;
  const name = get(ref, 'name');
  const selector = get(ref, 'selector');
  if (isEmpty(name) === !isSet(selector)) {
    report(ref, 'WrongChoice', `${nameOf(ref)} needs exactly one of name, selector`);
  }
  hasForm(name, pathSegmentRule);
  checkLabelSelector(selector);
  const action = get(ref, 'parameterNotFoundAction');
  if (!isSet(action)) required(action, 'Allow or Deny');
  isOneOf(action, ['Allow', 'Deny']);
}
