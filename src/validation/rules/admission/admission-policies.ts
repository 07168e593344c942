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
  notEmpty,
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

/** What an API server checks of a ValidatingAdmissionPolicy. CEL is not compiled. */
export const validatingAdmissionPolicyRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  filledIfSet(get(spec, 'failurePolicy'));
  const constraints = get(spec, 'matchConstraints');
  if (!isSet(constraints)) required(constraints);
  else {
    checkMatchResources(constraints);
    if (isEmpty(get(constraints, 'resourceRules'))) required(get(constraints, 'resourceRules'));
  }
  checkParamKind(get(spec, 'paramKind'));
  checkMatchConditions(get(spec, 'matchConditions'));
  checkVariables(get(spec, 'variables'));
  const validations = get(spec, 'validations');
  const annotations = get(spec, 'auditAnnotations');
  if (isEmpty(validations) && isEmpty(annotations)) {
    report(spec, 'WrongChoice', `${nameOf(spec)} needs validations, auditAnnotations or both`);
  }
  for (const validation of items(validations)) checkValidation(validation);
  checkAuditAnnotations(root, items(annotations));
});

/** Checks the variables of a policy. */
export function checkVariables(variables: Field): void {
  for (const variable of items(variables)) {
    hasForm(get(variable, 'name'), celNameRule);
    checkExpression(get(variable, 'expression'));
  }
}

/** Checks which objects a policy is for. */
export function checkMatchResources(match: Field): void {
  filledIfSet(get(match, 'matchPolicy'));
  checkLabelSelector(get(match, 'namespaceSelector'));
  checkLabelSelector(get(match, 'objectSelector'));
  for (const name of ['resourceRules', 'excludeResourceRules']) {
    for (const each of items(get(match, name))) checkAdmissionRule(each);
  }
}

/** Checks the kind of a policy's parameters. */
export function checkParamKind(kind: Field): void {
  if (!isSet(kind)) return;
  for (const name of ['apiVersion', 'kind']) if (isEmpty(get(kind, name))) required(get(kind, name));
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
  const policy = get(spec, 'policyName');
  notEmpty(policy);
  hasForm(policy, dnsSubdomainRule);
  const actions = get(spec, 'validationActions');
  notEmpty(actions);
  filledIfSet(...textItems(actions));
  const words = items(actions).map(({ value }) => value);
  if (words.includes('Deny') && words.includes('Warn')) {
    report(actions, 'WrongChoice', `${nameOf(actions)} must not hold both Deny and Warn`);
  }
  const match = get(spec, 'matchResources');
  if (isSet(match)) checkMatchResources(match);
  checkParamRef(get(spec, 'paramRef'));
});

/** Checks the reference to the parameters of a policy. */
export function checkParamRef(ref: Field): void {
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
