import {
  type Field,
  forbidden,
  get,
  has,
  hasForm,
  haveForm,
  inRange,
  invalid,
  isEmpty,
  isSet,
  items,
  members,
  nameOf,
  notEmpty,
  report,
  text,
  word,
} from '../shared/field.ts';
import { dnsLabelRule, labelValueRule, qualifiedNameRule } from '../shared/names.ts';
import { checkNodeSelector, checkNodeTerm } from '../shared/node-selectors.ts';
import { checkLabelMap, checkLabelSelector } from '../shared/selectors.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

/**
 * Checks what decides on which node a Pod runs.
 *
 * @param podLabels of a Pod; undefined for a template
 */
export function checkScheduling(spec: Field, podLabels: Field | undefined): void {
  if (has(spec, 'nodeSelector')) checkLabelMap(get(spec, 'nodeSelector'));
  for (const toleration of items(get(spec, 'tolerations'))) checkToleration(toleration);
  if (has(spec, 'affinity')) {
    const affinity = get(spec, 'affinity');
    checkNodeAffinity(get(affinity, 'nodeAffinity'));
    for (const name of ['podAffinity', 'podAntiAffinity']) checkPodAffinity(get(affinity, name), podLabels);
  }
  checkSpread(items(get(spec, 'topologySpreadConstraints')), podLabels);
  for (const gate of items(get(spec, 'schedulingGates'))) hasForm(get(gate, 'name'), qualifiedNameRule);
}

/** Checks one toleration of a taint. */
export function checkToleration(toleration: Field): void {
  const key = get(toleration, 'key');
  const operator = get(toleration, 'operator');
  const value = get(toleration, 'value');
  const effect = get(toleration, 'effect');
  hasForm(key, qualifiedNameRule, 'BadLabel');
  if (isEmpty(key) && operator.value !== 'Exists') {
    const message = `${nameOf(toleration)} must have the operator Exists if it has no key`;
    report(isSet(operator) ? operator : toleration, 'WrongValue', message, { hint: 'add the key of the taint' });
  }
  if (operator.value === 'Exists' && !isEmpty(value)) forbidden(value, 'with the operator Exists');
  if (isEmpty(operator) || operator.value === 'Equal') hasForm(value, labelValueRule, 'BadLabel');
  if (operator.value === 'Lt' || operator.value === 'Gt') {
    if (!/^(0|-?[1-9]\d*)$/.test(text(value) ?? ''))
      invalid(value, `must be a whole number for the operator ${operator.value}`);
  }
  const seconds = get(toleration, 'tolerationSeconds');
  if (isSet(seconds) && effect.value !== 'NoExecute') forbidden(seconds, 'unless effect is NoExecute');
}

function checkNodeAffinity(affinity: Field): void {
  const must = get(affinity, REQUIRED);
  if (isSet(must)) checkNodeSelector(must);
  for (const term of items(get(affinity, PREFERRED))) {
    inRange(get(term, 'weight'), 1, 100);
    checkNodeTerm(get(term, 'preference'), false);
  }
}

function checkPodAffinity(affinity: Field, podLabels: Field | undefined): void {
  for (const term of items(get(affinity, REQUIRED))) checkPodTerm(term, podLabels);
  for (const weighted of items(get(affinity, PREFERRED))) {
    inRange(get(weighted, 'weight'), 1, 100);
    checkPodTerm(get(weighted, 'podAffinityTerm'), podLabels);
  }
}

function checkPodTerm(term: Field, podLabels: Field | undefined): void {
  const topologyKey = get(term, 'topologyKey');
  hasForm(topologyKey, qualifiedNameRule, 'BadLabel');
  haveForm(get(term, 'namespaces'), dnsLabelRule);
  checkLabelSelector(get(term, 'labelSelector'));
  checkLabelSelector(get(term, 'namespaceSelector'));
  checkMatchLabelKeys(term, podLabels);
}

/** Checks keys whose values are taken from the Pod itself. */
function checkMatchLabelKeys(term: Field, podLabels: Field | undefined): void {
  const selector = get(term, 'labelSelector');
  const match = items(get(term, 'matchLabelKeys'));
  const mismatch = items(get(term, 'mismatchLabelKeys'));
  for (const keys of [match, mismatch]) {
    const [first] = keys;
    if (first?.parent !== undefined && !isSet(selector)) forbidden(first.parent, 'without labelSelector');
    else if (first?.parent !== undefined) haveForm(first.parent, qualifiedNameRule, 'BadLabel');
  }
  checkSelectorKeys(match, selector, podLabels);
  const excluded = new Set(mismatch.map(({ value }) => value));
  for (const key of match) {
    if (!excluded.has(key.value)) continue;
    report(key, 'DuplicateValue', `${nameOf(key)} is ${JSON.stringify(key.value)}, which is in mismatchLabelKeys too`);
  }
}

function checkSpread(constraints: readonly Field[], podLabels: Field | undefined): void {
  for (const constraint of constraints) {
    const action = get(constraint, 'whenUnsatisfiable');
    const domains = get(constraint, 'minDomains');
    inRange(get(constraint, 'maxSkew'), 1);
    inRange(domains, 1);
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy']) notEmpty(get(constraint, policy));
    if (isSet(domains) && action.value === 'ScheduleAnyway')
      forbidden(domains, 'unless whenUnsatisfiable is DoNotSchedule');
    checkLabelSelector(get(constraint, 'labelSelector'));
    checkMatchLabelKeys(constraint, podLabels);
  }
}

/**
 * The API server adds the Pod's own labels of `matchLabelKeys` to the selector, which must not have these keys yet. A
 * template is accepted, but its Pods are not.
 */
function checkSelectorKeys(keys: readonly Field[], selector: Field, podLabels: Field | undefined): void {
  if (keys.length === 0) return;
  const used = new Set<unknown>(members(get(selector, 'matchLabels')).map(({ step }) => step));
  for (const requirement of items(get(selector, 'matchExpressions'))) used.add(get(requirement, 'key').value);
  for (const key of keys) {
    const found = word(key);
    if (found === undefined || !used.has(found)) continue;
    const severity = podLabels !== undefined && isSet(get(podLabels, found)) ? 'error' : 'warning';
    const message = `${nameOf(key)} is ${JSON.stringify(found)}, which labelSelector has too`;
    report(key, 'DuplicateValue', message, { severity });
  }
}
