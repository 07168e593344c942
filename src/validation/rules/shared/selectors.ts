import { type LabelRequirement, type LabelSelector, matchesLabels } from '../../../model/objects/label-selector.ts';
import {
  type Field,
  forbidden,
  get,
  hasForm,
  isEmpty,
  items,
  members,
  nameOf,
  oneOf,
  report,
  required,
  text,
  word,
} from './field.ts';
import { labelValueRule, qualifiedNameRule } from './names.ts';

const OPERATORS: readonly LabelRequirement['operator'][] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Checks a map of labels. */
export function checkLabelMap(labels: Field): void {
  for (const label of members(labels)) {
    checkLabelKey(label, label.step);
    hasForm(label, labelValueRule, 'BadLabel');
  }
}

/** Checks the keys of a map of annotations. */
export function checkAnnotationKeys(annotations: Field): void {
  for (const annotation of members(annotations)) {
    const broken = qualifiedNameRule(annotation.step.toLowerCase());
    if (broken === undefined) continue;
    report(annotation, 'BadAnnotation', `the key of ${nameOf(annotation)} ${broken}`, { atKey: true });
  }
}

function checkLabelKey(field: Field, key: string): void {
  const broken = qualifiedNameRule(key);
  if (broken !== undefined) report(field, 'BadLabel', `the key of ${nameOf(field)} ${broken}`, { atKey: true });
}

/** Checks a label selector (`matchLabels` and `matchExpressions`). */
export function checkLabelSelector(selector: Field): void {
  checkLabelMap(get(selector, 'matchLabels'));
  for (const requirement of items(get(selector, 'matchExpressions'))) checkRequirement(requirement);
}

function checkRequirement(requirement: Field): void {
  const operator = get(requirement, 'operator');
  const values = get(requirement, 'values');
  oneOf(operator, OPERATORS);
  const takesValues = operator.value === 'In' || operator.value === 'NotIn';
  if (takesValues && isEmpty(values)) required(values, `${operator.value} needs values`);
  if (!takesValues && !isEmpty(values) && OPERATORS.some((known) => known === operator.value)) {
    forbidden(values, `with the operator ${operator.value}`);
  }
  hasForm(get(requirement, 'key'), qualifiedNameRule, 'BadLabel');
  for (const value of items(values)) hasForm(value, labelValueRule, 'BadLabel');
}

/** Reads a label selector; undefined if it is missing or malformed. */
export function labelSelectorOf(selector: Field): LabelSelector | undefined {
  if (selector.value === undefined) return undefined;
  const matchLabels: Record<string, string> = {};
  for (const label of members(get(selector, 'matchLabels'))) {
    // An API server reads null as the empty text.
    const value = label.value === undefined ? '' : text(label);
    if (value === undefined) return undefined;
    matchLabels[label.step] = value;
  }
  const matchExpressions: LabelRequirement[] = [];
  for (const requirement of items(get(selector, 'matchExpressions'))) {
    const key = word(get(requirement, 'key'));
    const operator = OPERATORS.find((known) => known === get(requirement, 'operator').value);
    if (key === undefined || operator === undefined) return undefined;
    const values = items(get(requirement, 'values')).flatMap((item) =>
      item.value === undefined ? '' : (text(item) ?? []),
    );
    if (values.length === 0 && (operator === 'In' || operator === 'NotIn')) return undefined;
    matchExpressions.push({ key, operator, values });
  }
  return { matchLabels, matchExpressions };
}

/** Whether a label selector selects everything, because it has no requirement. */
export function selectsAll(selector: Field): boolean {
  return isEmpty(get(selector, 'matchLabels')) && isEmpty(get(selector, 'matchExpressions'));
}

/** Whether the labels match the selector; true if the selector is malformed. */
export function selectorMatches(selector: Field, labels: Field): boolean {
  const read = labelSelectorOf(selector);
  return read === undefined || matchesLabels(read, labelsOf(labels));
}

function labelsOf(labels: Field): Readonly<Record<string, unknown>> {
  return Object.fromEntries(members(labels).map((label) => [label.step, label.value ?? '']));
}
