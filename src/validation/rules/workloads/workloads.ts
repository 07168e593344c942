import { checkPod, checkPodTemplate, type TemplateOptions } from '../pods/pod-spec.ts';
import { warnOfName } from '../pods/pod-warnings.ts';
import {
  type Field,
  forbidden,
  get,
  getIn,
  hasForm,
  inRange,
  integer,
  invalid,
  isEmpty,
  isSet,
  items,
  members,
  nameOf,
  oneOf,
  report,
  required,
  text,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, percentRule } from '../shared/names.ts';
import { checkLabelSelector, selectorMatches, selectsAll } from '../shared/selectors.ts';
import { checkClaimSpec } from '../storage/claims.ts';

export const podRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  checkPod(root);
});

export const podTemplateRule = kindRule(dnsSubdomainRule, (root) => {
  checkPodTemplate(get(root, 'template'));
});

export const replicationControllerRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  const spec = get(root, 'spec');
  const template = get(spec, 'template');
  checkCounts(spec, 'replicas', 'minReadySeconds');
  if (!isSet(template)) return required(template);
  checkPodTemplate(template);
  checkRunsForever(template, 'a ReplicationController');
  const selector = get(spec, 'selector');
  const labels = getIn(template, 'metadata', 'labels');
  // An API server takes the labels of the template as the selector if there is none.
  if (isEmpty(selector)) {
    if (isEmpty(labels)) required(selector);
    return;
  }
  const wrong = members(selector).find(({ step, value }) => get(labels, step).value !== value);
  if (wrong !== undefined) reportMismatch(wrong, labels);
});

export const replicaSetRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  const spec = get(root, 'spec');
  checkCounts(spec, 'replicas', 'minReadySeconds');
  checkSelectedTemplate(spec, 'a ReplicaSet');
  if (isSet(spec) && !isSet(get(spec, 'template'))) required(get(spec, 'template'));
});

export const deploymentRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  const spec = get(root, 'spec');
  checkCounts(spec, 'replicas', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds');
  checkSelectedTemplate(spec, 'a Deployment');
  const deadline = get(spec, 'progressDeadlineSeconds');
  const ready = get(spec, 'minReadySeconds');
  const least = integer(ready) ?? 0;
  if (isSet(deadline) && (integer(deadline) ?? Number.POSITIVE_INFINITY) <= least) {
    invalid(deadline, `must be above minReadySeconds, which is ${least}`);
  } else if (!isSet(deadline) && least >= 600) invalid(ready, 'must be below progressDeadlineSeconds, which is 600');
  const strategy = get(spec, 'strategy');
  const type = get(strategy, 'type');
  const update = get(strategy, 'rollingUpdate');
  if (type.value === 'Recreate' && isSet(update)) forbidden(update, 'with the type Recreate');
  if (isEmpty(type) || type.value === 'RollingUpdate') checkRollingUpdate(update);
});

function checkRollingUpdate(update: Field): void {
  const unavailable = get(update, 'maxUnavailable');
  const surge = get(update, 'maxSurge');
  checkAmount(unavailable, true);
  checkAmount(surge, false);
  if (isZero(unavailable) && isZero(surge)) invalid(unavailable, 'must not be 0 if maxSurge is 0');
}

export const daemonSetRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  checkCounts(spec, 'minReadySeconds', 'revisionHistoryLimit');
  checkSelectedTemplate(spec, 'a DaemonSet');
  const strategy = get(spec, 'updateStrategy');
  const type = get(strategy, 'type');
  const update = get(strategy, 'rollingUpdate');
  if (!isSet(update) || type.value === 'OnDelete') return;
  const unavailable = get(update, 'maxUnavailable');
  const surge = get(update, 'maxSurge');
  checkAmount(unavailable, true);
  checkAmount(surge, true);
  const hasSurge = isSet(surge) && !isZero(surge);
  const hasUnavailable = !isZero(unavailable);
  if (hasSurge && hasUnavailable) {
    const hint = isSet(unavailable) ? undefined : 'set maxUnavailable: 0; its default is 1';
    invalid(surge, 'must be 0 unless maxUnavailable is 0', { hint });
  } else if (!hasSurge && !hasUnavailable) invalid(unavailable, 'must not be 0 if maxSurge is 0');
});

export const statefulSetRule = kindRule(dnsLabelRule, (root) => {
  const spec = get(root, 'spec');
  checkCounts(spec, 'replicas', 'minReadySeconds');
  inRange(getIn(spec, 'ordinals', 'start'), 0);
  hasForm(get(spec, 'serviceName'), dnsLabelRule);
  checkStatefulUpdate(get(spec, 'updateStrategy'));
  const retention = get(spec, 'persistentVolumeClaimRetentionPolicy');
  for (const step of ['whenDeleted', 'whenScaled']) oneOf(get(retention, step), ['Retain', 'Delete']);
  const claims = new Map<string, Field>();
  for (const template of items(get(spec, 'volumeClaimTemplates'))) {
    const name = getIn(template, 'metadata', 'name');
    const found = word(name);
    hasForm(name, dnsLabelRule);
    if (found === undefined) required(name);
    else claims.set(found, asClaimVolume(template));
    checkClaimSpec(get(template, 'spec'));
  }
  checkSelectedTemplate(spec, 'a StatefulSet', { added: claims, setsHostname: true });
});

/** The volume that a claim template adds to each Pod. */
function asClaimVolume(template: Field): Field {
  return { ...template, value: { persistentVolumeClaim: {} } };
}

function checkStatefulUpdate(strategy: Field): void {
  const type = get(strategy, 'type');
  const update = get(strategy, 'rollingUpdate');
  if (type.value === 'OnDelete' && isSet(update)) forbidden(update, 'with the type OnDelete');
  inRange(get(update, 'partition'), 0);
}

function checkCounts(spec: Field, ...steps: readonly string[]): void {
  for (const step of steps) inRange(get(spec, step), 0);
}

/** Checks a number of Pods or a percentage. */
function checkAmount(field: Field, isPart: boolean): void {
  inRange(field, 0);
  const found = text(field);
  if (found === undefined) return;
  const broken = percentRule(found);
  if (broken !== undefined) invalid(field, broken);
  else if (isPart && Number(found.slice(0, -1)) > 100) invalid(field, 'must be at most 100%');
}

function isZero({ value }: Field): boolean {
  return value === 0 || (typeof value === 'string' && /^0+%$/.test(value));
}

/** Checks the selector of a workload, its template, and that they belong together. */
function checkSelectedTemplate(spec: Field, owner: string, options?: TemplateOptions): void {
  const selector = get(spec, 'selector');
  const template = get(spec, 'template');
  if (!isSet(spec)) required(spec);
  checkLabelSelector(selector);
  if (isSet(selector) && selectsAll(selector)) {
    const message = `${nameOf(selector)} must have matchLabels or matchExpressions`;
    report(selector, 'EmptySelector', message, { hint: 'select the labels of the template' });
  }
  if (!isSet(template)) return;
  checkPodTemplate(template, options);
  checkRunsForever(template, owner);
  if (isSet(selector)) checkSelects(selector, getIn(template, 'metadata', 'labels'));
}

/** Checks that a selector matches the labels of a template. */
export function checkSelects(selector: Field, labels: Field): void {
  if (selectorMatches(selector, labels)) return;
  const wrong = members(get(selector, 'matchLabels')).find(({ step, value }) => get(labels, step).value !== value);
  if (wrong !== undefined) reportMismatch(wrong, labels);
  else {
    const message = `${nameOf(labels)} must match the matchExpressions of ${nameOf(selector)}`;
    report(labels, 'SelectorMismatch', message);
  }
}

function reportMismatch(wanted: Field & { readonly step: string }, labels: Field): void {
  const label = get(labels, wanted.step);
  const found = isSet(label) ? `is ${JSON.stringify(label.value)}` : 'is missing';
  const message = `${nameOf(label)} ${found}, but ${nameOf(wanted)} is ${JSON.stringify(wanted.value ?? '')}`;
  report(label, 'SelectorMismatch', message, { hint: 'the selector must match the labels of the template' });
}

/** A controller that keeps Pods running allows no Pods that end. */
function checkRunsForever(template: Field, owner: string): void {
  const policy = getIn(template, 'spec', 'restartPolicy');
  if (policy.value === 'Never' || policy.value === 'OnFailure') {
    const hint = 'a Job runs Pods that end';
    invalid(policy, `must be Always in ${owner}`, { reason: 'BadRestartPolicy', hint });
  }
  const deadline = getIn(template, 'spec', 'activeDeadlineSeconds');
  if (isSet(deadline)) forbidden(deadline, `in ${owner}`);
}
