import type { Field } from '../shared/field.ts';
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
  if (spec.has('nodeSelector')) checkLabelMap(spec.get('nodeSelector'));
  for (const toleration of spec.get('tolerations').items()) checkToleration(toleration);
  if (spec.has('affinity')) {
    const affinity = spec.get('affinity');
    checkNodeAffinity(affinity.get('nodeAffinity'));
    for (const name of ['podAffinity', 'podAntiAffinity']) checkPodAffinity(affinity.get(name), podLabels);
  }
  checkSpread(spec.get('topologySpreadConstraints').items(), podLabels);
  for (const gate of spec.get('schedulingGates').items()) gate.get('name').hasForm(qualifiedNameRule);
}

/** Checks one toleration of a taint. */
export function checkToleration(toleration: Field): void {
  const key = toleration.get('key');
  const operator = toleration.get('operator');
  const value = toleration.get('value');
  const effect = toleration.get('effect');
  key.hasForm(qualifiedNameRule, 'BadLabel');
  if (key.isEmpty && operator.value !== 'Exists') {
    const message = `${toleration.name} must have the operator Exists if it has no key`;
    (operator.isSet ? operator : toleration).report('WrongValue', message, { hint: 'add the key of the taint' });
  }
  if (operator.value === 'Exists' && !value.isEmpty) value.forbidden('with the operator Exists');
  if (operator.isEmpty || operator.value === 'Equal') value.hasForm(labelValueRule, 'BadLabel');
  if (operator.value === 'Lt' || operator.value === 'Gt') {
    if (!/^(0|-?[1-9]\d*)$/.test(value.text ?? ''))
      value.invalid(`must be a whole number for the operator ${operator.value}`);
  }
  const seconds = toleration.get('tolerationSeconds');
  if (seconds.isSet && effect.value !== 'NoExecute') seconds.forbidden('unless effect is NoExecute');
}

function checkNodeAffinity(affinity: Field): void {
  const must = affinity.get(REQUIRED);
  if (must.isSet) checkNodeSelector(must);
  for (const term of affinity.get(PREFERRED).items()) {
    term.get('weight').inRange(1, 100);
    checkNodeTerm(term.get('preference'), false);
  }
}

function checkPodAffinity(affinity: Field, podLabels: Field | undefined): void {
  for (const term of affinity.get(REQUIRED).items()) checkPodTerm(term, podLabels);
  for (const weighted of affinity.get(PREFERRED).items()) {
    weighted.get('weight').inRange(1, 100);
    checkPodTerm(weighted.get('podAffinityTerm'), podLabels);
  }
}

function checkPodTerm(term: Field, podLabels: Field | undefined): void {
  const topologyKey = term.get('topologyKey');
  topologyKey.hasForm(qualifiedNameRule, 'BadLabel');
  term.get('namespaces').haveForm(dnsLabelRule);
  checkLabelSelector(term.get('labelSelector'));
  checkLabelSelector(term.get('namespaceSelector'));
  checkMatchLabelKeys(term, podLabels);
}

/** Checks keys whose values are taken from the Pod itself. */
function checkMatchLabelKeys(term: Field, podLabels: Field | undefined): void {
  const selector = term.get('labelSelector');
  const match = term.get('matchLabelKeys').items();
  const mismatch = term.get('mismatchLabelKeys').items();
  for (const keys of [match, mismatch]) {
    const [first] = keys;
    if (first?.parent !== undefined && !selector.isSet) first.parent.forbidden('without labelSelector');
    else if (first?.parent !== undefined) first.parent.haveForm(qualifiedNameRule, 'BadLabel');
  }
  checkSelectorKeys(match, selector, podLabels);
  const excluded = new Set(mismatch.map(({ value }) => value));
  for (const key of match) {
    if (!excluded.has(key.value)) continue;
    key.report('DuplicateValue', `${key.name} is ${JSON.stringify(key.value)}, which is in mismatchLabelKeys too`);
  }
}

function checkSpread(constraints: readonly Field[], podLabels: Field | undefined): void {
  for (const constraint of constraints) {
    const action = constraint.get('whenUnsatisfiable');
    const domains = constraint.get('minDomains');
    constraint.get('maxSkew').inRange(1);
    domains.inRange(1);
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy']) constraint.get(policy).notEmpty();
    if (domains.isSet && action.value === 'ScheduleAnyway')
      domains.forbidden('unless whenUnsatisfiable is DoNotSchedule');
    checkLabelSelector(constraint.get('labelSelector'));
    checkMatchLabelKeys(constraint, podLabels);
  }
}

/**
 * The API server adds the Pod's own labels of `matchLabelKeys` to the selector, which must not have these keys yet. A
 * template is accepted, but its Pods are not.
 */
function checkSelectorKeys(keys: readonly Field[], selector: Field, podLabels: Field | undefined): void {
  if (keys.length === 0) return;
  const used = new Set<unknown>(
    selector
      .get('matchLabels')
      .members()
      .map(({ step }) => step),
  );
  for (const requirement of selector.get('matchExpressions').items()) used.add(requirement.get('key').value);
  for (const key of keys) {
    const found = key.word;
    if (found === undefined || !used.has(found)) continue;
    const severity = podLabels?.get(found).isSet ? 'error' : 'warning';
    const message = `${key.name} is ${JSON.stringify(found)}, which labelSelector has too`;
    key.report('DuplicateValue', message, { severity });
  }
}
