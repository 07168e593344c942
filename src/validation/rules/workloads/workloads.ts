import { checkPod, checkPodTemplate, type TemplateOptions } from '../pods/pod-spec.ts';
import { warnOfName } from '../pods/pod-warnings.ts';
import type { Field } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, percentRule } from '../shared/names.ts';
import { checkLabelSelector, selectorMatches, selectsAll } from '../shared/selectors.ts';
import { checkClaimSpec } from '../storage/claims.ts';

export const podRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  checkPod(root);
});

export const podTemplateRule = kindRule(dnsSubdomainRule, (root) => {
  checkPodTemplate(root.get('template'));
});

export const replicationControllerRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  const spec = root.get('spec');
  const template = spec.get('template');
  checkCounts(spec, 'replicas', 'minReadySeconds');
  if (!template.isSet) return template.required();
  checkPodTemplate(template);
  checkRunsForever(template, 'a ReplicationController');
  const selector = spec.get('selector');
  const labels = template.getIn('metadata', 'labels');
  // An API server takes the labels of the template as the selector if there is none.
  if (selector.isEmpty) {
    if (labels.isEmpty) selector.required();
    return;
  }
  const wrong = selector.members().find(({ step, value }) => labels.get(step).value !== value);
  if (wrong !== undefined) reportMismatch(wrong, labels);
});

export const replicaSetRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  const spec = root.get('spec');
  checkCounts(spec, 'replicas', 'minReadySeconds');
  checkSelectedTemplate(spec, 'a ReplicaSet');
  if (spec.isSet && !spec.get('template').isSet) spec.get('template').required();
});

export const deploymentRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  const spec = root.get('spec');
  checkCounts(spec, 'replicas', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds');
  checkSelectedTemplate(spec, 'a Deployment');
  const deadline = spec.get('progressDeadlineSeconds');
  const ready = spec.get('minReadySeconds');
  const least = ready.integer ?? 0;
  if (deadline.isSet && (deadline.integer ?? Number.POSITIVE_INFINITY) <= least) {
    deadline.invalid(`must be above minReadySeconds, which is ${least}`);
  } else if (!deadline.isSet && least >= 600) ready.invalid('must be below progressDeadlineSeconds, which is 600');
  const strategy = spec.get('strategy');
  const type = strategy.get('type');
  const update = strategy.get('rollingUpdate');
  if (type.value === 'Recreate' && update.isSet) update.forbidden('with the type Recreate');
  if (type.isEmpty || type.value === 'RollingUpdate') checkRollingUpdate(update);
});

function checkRollingUpdate(update: Field): void {
  const unavailable = update.get('maxUnavailable');
  const surge = update.get('maxSurge');
  checkAmount(unavailable, true);
  checkAmount(surge, false);
  if (isZero(unavailable) && isZero(surge)) unavailable.invalid('must not be 0 if maxSurge is 0');
}

export const daemonSetRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  checkCounts(spec, 'minReadySeconds', 'revisionHistoryLimit');
  checkSelectedTemplate(spec, 'a DaemonSet');
  const strategy = spec.get('updateStrategy');
  const type = strategy.get('type');
  const update = strategy.get('rollingUpdate');
  if (!update.isSet || type.value === 'OnDelete') return;
  const unavailable = update.get('maxUnavailable');
  const surge = update.get('maxSurge');
  checkAmount(unavailable, true);
  checkAmount(surge, true);
  const hasSurge = surge.isSet && !isZero(surge);
  const hasUnavailable = !isZero(unavailable);
  if (hasSurge && hasUnavailable) {
    const hint = unavailable.isSet ? undefined : 'set maxUnavailable: 0; its default is 1';
    surge.invalid('must be 0 unless maxUnavailable is 0', { hint });
  } else if (!hasSurge && !hasUnavailable) unavailable.invalid('must not be 0 if maxSurge is 0');
});

export const statefulSetRule = kindRule(dnsLabelRule, (root) => {
  const spec = root.get('spec');
  checkCounts(spec, 'replicas', 'minReadySeconds');
  spec.getIn('ordinals', 'start').inRange(0);
  spec.get('serviceName').hasForm(dnsLabelRule);
  checkStatefulUpdate(spec.get('updateStrategy'));
  const retention = spec.get('persistentVolumeClaimRetentionPolicy');
  for (const step of ['whenDeleted', 'whenScaled']) retention.get(step).oneOf(['Retain', 'Delete']);
  const claims = new Map<string, Field>();
  for (const template of spec.get('volumeClaimTemplates').items()) {
    const name = template.getIn('metadata', 'name');
    const found = name.word;
    name.hasForm(dnsLabelRule);
    if (found === undefined) name.required();
    else claims.set(found, asClaimVolume(template));
    checkClaimSpec(template.get('spec'));
  }
  checkSelectedTemplate(spec, 'a StatefulSet', { added: claims, setsHostname: true });
});

/** The volume that a claim template adds to each Pod. */
function asClaimVolume(template: Field): Field {
  return template.withValue({ persistentVolumeClaim: {} });
}

function checkStatefulUpdate(strategy: Field): void {
  const type = strategy.get('type');
  const update = strategy.get('rollingUpdate');
  if (type.value === 'OnDelete' && update.isSet) update.forbidden('with the type OnDelete');
  update.get('partition').inRange(0);
}

function checkCounts(spec: Field, ...steps: readonly string[]): void {
  for (const step of steps) spec.get(step).inRange(0);
}

/** Checks a number of Pods or a percentage. */
function checkAmount(field: Field, isPart: boolean): void {
  field.inRange(0);
  const found = field.text;
  if (found === undefined) return;
  const broken = percentRule(found);
  if (broken !== undefined) field.invalid(broken);
  else if (isPart && Number(found.slice(0, -1)) > 100) field.invalid('must be at most 100%');
}

function isZero({ value }: Field): boolean {
  return value === 0 || (typeof value === 'string' && /^0+%$/.test(value));
}

/** Checks the selector of a workload, its template, and that they belong together. */
function checkSelectedTemplate(spec: Field, owner: string, options?: TemplateOptions): void {
  const selector = spec.get('selector');
  const template = spec.get('template');
  if (!spec.isSet) spec.required();
  checkLabelSelector(selector);
  if (selector.isSet && selectsAll(selector)) {
    const message = `${selector.name} must have matchLabels or matchExpressions`;
    selector.report('EmptySelector', message, { hint: 'select the labels of the template' });
  }
  if (!template.isSet) return;
  checkPodTemplate(template, options);
  checkRunsForever(template, owner);
  if (selector.isSet) checkSelects(selector, template.getIn('metadata', 'labels'));
}

/** Checks that a selector matches the labels of a template. */
export function checkSelects(selector: Field, labels: Field): void {
  if (selectorMatches(selector, labels)) return;
  const wrong = selector
    .get('matchLabels')
    .members()
    .find(({ step, value }) => labels.get(step).value !== value);
  if (wrong !== undefined) reportMismatch(wrong, labels);
  else {
    const message = `${labels.name} must match the matchExpressions of ${selector.name}`;
    labels.report('SelectorMismatch', message);
  }
}

function reportMismatch(wanted: Field & { readonly step: string }, labels: Field): void {
  const label = labels.get(wanted.step);
  const found = label.isSet ? `is ${JSON.stringify(label.value)}` : 'is missing';
  const message = `${label.name} ${found}, but ${wanted.name} is ${JSON.stringify(wanted.value ?? '')}`;
  label.report('SelectorMismatch', message, { hint: 'the selector must match the labels of the template' });
}

/** A controller that keeps Pods running allows no Pods that end. */
function checkRunsForever(template: Field, owner: string): void {
  const policy = template.getIn('spec', 'restartPolicy');
  if (policy.value === 'Never' || policy.value === 'OnFailure') {
    const hint = 'a Job runs Pods that end';
    policy.invalid(`must be Always in ${owner}`, { reason: 'BadRestartPolicy', hint });
  }
  const deadline = template.getIn('spec', 'activeDeadlineSeconds');
  if (deadline.isSet) deadline.forbidden(`in ${owner}`);
}
