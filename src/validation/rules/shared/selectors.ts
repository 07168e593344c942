import { type LabelRequirement, type LabelSelector, matchesLabels } from '../../../model/objects/label-selector.ts';
import type { Field } from './field.ts';
import { labelValueRule, qualifiedNameRule } from './names.ts';

const OPERATORS: readonly LabelRequirement['operator'][] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Checks a map of labels. */
export function checkLabelMap(labels: Field): void {
  for (const label of labels.members()) {
    checkLabelKey(label, label.step);
    label.hasForm(labelValueRule, 'BadLabel');
  }
}

/** Checks the keys of a map of annotations. */
export function checkAnnotationKeys(annotations: Field): void {
  for (const annotation of annotations.members()) {
    const broken = qualifiedNameRule(annotation.step.toLowerCase());
    if (broken === undefined) continue;
    annotation.report('BadAnnotation', `the key of ${annotation.name} ${broken}`, { atKey: true });
  }
}

function checkLabelKey(field: Field, key: string): void {
  const broken = qualifiedNameRule(key);
  if (broken !== undefined) field.report('BadLabel', `the key of ${field.name} ${broken}`, { atKey: true });
}

/** Checks a label selector (`matchLabels` and `matchExpressions`). */
export function checkLabelSelector(selector: Field): void {
  checkLabelMap(selector.get('matchLabels'));
  for (const requirement of selector.get('matchExpressions').items()) checkRequirement(requirement);
}

function checkRequirement(requirement: Field): void {
  const operator = requirement.get('operator');
  const values = requirement.get('values');
  operator.oneOf(OPERATORS);
  const takesValues = operator.value === 'In' || operator.value === 'NotIn';
  if (takesValues && values.isEmpty) values.required(`${operator.value} needs values`);
  if (!takesValues && !values.isEmpty && OPERATORS.some((known) => known === operator.value)) {
    values.forbidden(`with the operator ${operator.value}`);
  }
  requirement.get('key').hasForm(qualifiedNameRule, 'BadLabel');
  for (const value of values.items()) value.hasForm(labelValueRule, 'BadLabel');
}

/** Reads a label selector; undefined if it is missing or malformed. */
export function labelSelectorOf(selector: Field): LabelSelector | undefined {
  if (selector.value === undefined) return undefined;
  const matchLabels: Record<string, string> = {};
  for (const label of selector.get('matchLabels').members()) {
    // An API server reads null as the empty text.
    const value = label.value === undefined ? '' : label.text;
    if (value === undefined) return undefined;
    matchLabels[label.step] = value;
  }
  const matchExpressions: LabelRequirement[] = [];
  for (const requirement of selector.get('matchExpressions').items()) {
    const key = requirement.get('key').word;
    const operator = OPERATORS.find((known) => known === requirement.get('operator').value);
    if (key === undefined || operator === undefined) return undefined;
    const values = requirement
      .get('values')
      .items()
      .flatMap((item) => (item.value === undefined ? '' : (item.text ?? [])));
    if (values.length === 0 && (operator === 'In' || operator === 'NotIn')) return undefined;
    matchExpressions.push({ key, operator, values });
  }
  return { matchLabels, matchExpressions };
}

/** Whether a label selector selects everything, because it has no requirement. */
export function selectsAll(selector: Field): boolean {
  return selector.get('matchLabels').isEmpty && selector.get('matchExpressions').isEmpty;
}

/** Whether the labels match the selector; true if the selector is malformed. */
export function selectorMatches(selector: Field, labels: Field): boolean {
  const read = labelSelectorOf(selector);
  return read === undefined || matchesLabels(read, labelsOf(labels));
}

function labelsOf(labels: Field): Readonly<Record<string, unknown>> {
  return Object.fromEntries(labels.members().map((label) => [label.step, label.value ?? '']));
}
