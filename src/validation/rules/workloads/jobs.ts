import { didYouMean } from '../../../manifest/problem.ts';
import { allContainers } from '../pods/containers.ts';
import { checkPodTemplate } from '../pods/pod-spec.ts';
import { warnOfName } from '../pods/pod-warnings.ts';
import type { Field } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, domainPrefixedPathRule, qualifiedNameRule } from '../shared/names.ts';
import { checkLabelSelector, selectsAll } from '../shared/selectors.ts';
import { scheduleRule } from './cron-schedule.ts';
import { timeZoneRule } from './time-zone.ts';
import { checkSelects } from './workloads.ts';

/** An Indexed Job with more Pods keeps no exact list of those that are done. */
const MOST_INDEXES = 100_000;
/** Limits that hold above {@link MOST_INDEXES} completions. */
const MOST_OF_MANY = 10_000;

export const jobRule = kindRule(dnsSubdomainRule, (root) => {
  warnOfName(root);
  const name = root.getIn('metadata', 'name');
  const spec = root.get('spec');
  checkJobSpec(spec, true);
  const selector = spec.get('selector');
  checkLabelSelector(selector);
  if (spec.get('manualSelector').isTrue) {
    if (selector.isSet) checkSelects(selector, spec.getIn('template', 'metadata', 'labels'));
    else selector.required('manualSelector: true needs it');
  } else if (selector.isSet && !selectsAll(selector)) {
    selector.forbidden('without manualSelector: true', 'leave it out: the API server makes it');
  }
  const completions = spec.get('completions').integer;
  const found = name.word;
  if (found !== undefined && found.length > 63 && !spec.get('manualSelector').isTrue) {
    name.invalid('must have at most 63 characters, because it becomes a label of the Pods', { reason: 'BadName' });
    return;
  }
  if (spec.get('completionMode').value === 'Indexed' && found !== undefined && (completions ?? 0) > 0) {
    const pod = `${found}-${(completions ?? 1) - 1}`;
    if (dnsSubdomainRule(found) === undefined && dnsLabelRule(pod) !== undefined) {
      name.invalid(`must give its Pods a DNS label of at most 63 characters as name, and ${pod} is none`, {
        reason: 'BadName',
      });
    }
  }
});

export const cronJobRule = kindRule(cronJobNameRule, (root) => {
  warnOfName(root);
  const spec = root.get('spec');
  spec.get('schedule').hasForm(scheduleRule, 'BadSchedule');
  const zone = spec.get('timeZone');
  const broken = zone.text === undefined ? undefined : timeZoneRule(zone.text ?? '');
  if (broken !== undefined) zone.invalid(broken, { reason: 'BadSchedule' });
  for (const step of ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit']) {
    spec.get(step).inRange(0);
  }
  if (!spec.get('jobTemplate').isSet) return;
  const job = spec.getIn('jobTemplate', 'spec');
  checkJobSpec(job, false);
  if (job.get('selector').isSet) job.get('selector').forbidden('in a CronJob, whose Jobs get one each');
  if (job.get('manualSelector').isTrue) job.get('manualSelector').invalid('must be false in a CronJob');
});

function cronJobNameRule(name: string): string | undefined {
  return name.length > 52 ? 'must have at most 52 characters' : dnsSubdomainRule(name);
}

const COUNTS =
  'parallelism completions activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished backoffLimitPerIndex maxFailedIndexes'.split(
    ' ',
  );

/** @param hasDefaults the API server sets the defaults of a Job, which it does not in the template of a CronJob */
function checkJobSpec(spec: Field, hasDefaults: boolean): void {
  if (!spec.isSet) {
    spec.required();
    return;
  }
  for (const step of COUNTS) spec.get(step).inRange(0);
  const manager = spec.get('managedBy');
  manager.notEmpty();
  manager.hasForm(managerRule);
  if (spec.get('completionMode').value === 'Indexed') checkIndexed(spec, hasDefaults);
  else {
    for (const step of ['backoffLimitPerIndex', 'maxFailedIndexes', 'successPolicy']) {
      if (spec.get(step).isSet) spec.get(step).forbidden('without completionMode: Indexed');
    }
  }
  const perIndex = spec.get('backoffLimitPerIndex');
  if (spec.get('maxFailedIndexes').isSet && !perIndex.isSet) perIndex.required('maxFailedIndexes needs it');
  const policy = spec.get('podFailurePolicy');
  if (policy.isSet) checkFailurePolicy(policy, spec);
  const replacement = spec.get('podReplacementPolicy');
  replacement.notEmpty();
  if (policy.isSet && replacement.value === 'TerminatingOrFailed') {
    replacement.invalid('must be Failed with podFailurePolicy');
  }
  const template = spec.get('template');
  if (!template.isSet) return;
  checkPodTemplate(template);
  checkEnds(template.getIn('spec', 'restartPolicy'), policy.isSet);
}

/** The Pods of a Job must end. */
function checkEnds(policy: Field, hasFailurePolicy: boolean): void {
  if ((policy.parent ?? policy).get('containers').value === undefined) return;
  const hint = 'write restartPolicy: Never, or OnFailure';
  if (policy.isEmpty) {
    policy.report('BadRestartPolicy', `${policy.name} is missing, and its default Always is not allowed in a Job`, {
      hint,
    });
  } else if (policy.value === 'Always') {
    policy.invalid('must be OnFailure or Never in a Job', { reason: 'BadRestartPolicy' });
  } else if (hasFailurePolicy && policy.value === 'OnFailure') {
    policy.invalid('must be Never with podFailurePolicy', { reason: 'BadRestartPolicy' });
  }
}

function managerRule(name: string): string | undefined {
  return name.length > 63 ? 'must have at most 63 characters' : domainPrefixedPathRule(name);
}

function checkIndexed(spec: Field, hasDefaults: boolean): void {
  const completions = spec.get('completions');
  const parallelism = spec.get('parallelism');
  const failed = spec.get('maxFailedIndexes');
  // The default is 1 if neither is set.
  const isDefaulted = hasDefaults && !parallelism.isSet;
  if (!completions.isSet && !isDefaulted) completions.required('completionMode: Indexed needs it');
  const amount = completions.integer ?? 1;
  const isMany = amount > MOST_INDEXES && spec.get('backoffLimitPerIndex').isSet;
  const most = isMany ? MOST_OF_MANY : MOST_INDEXES;
  if ((parallelism.integer ?? 0) > most) parallelism.invalid(`must be at most ${most} with completionMode: Indexed`);
  if (isMany && !failed.isSet) failed.required(`more than ${MOST_INDEXES} completions need it`);
  const mostFailed = completions.isSet ? Math.min(amount, most) : most;
  if ((failed.integer ?? 0) > mostFailed) failed.invalid(`must be at most ${mostFailed}`);
  const success = spec.get('successPolicy');
  if (success.isSet && completions.isSet) checkSuccessPolicy(success, amount);
}

function checkSuccessPolicy(policy: Field, completions: number): void {
  const rules = policy.get('rules');
  rules.atMost(20);
  for (const entry of rules.items()) {
    const indexes = entry.get('succeededIndexes');
    const count = entry.get('succeededCount');
    if (!indexes.isSet && !count.isSet) {
      entry.report('WrongChoice', `${entry.name} needs succeededIndexes or succeededCount`);
    }
    const found = indexes.text;
    const total = found === undefined ? completions : countIndexes(found, completions);
    if (total === undefined) {
      indexes.invalid(`must be rising indexes and ranges below ${completions}, like "0,2-4"`);
      continue;
    }
    count.inRange(0);
    if ((count.integer ?? 0) > total) count.invalid(`must be at most ${total}, the number of the indexes`);
  }
}

/** The number of indexes in a text like `0,2-4`; undefined if it is malformed. */
function countIndexes(text: string, completions: number): number | undefined {
  if (text === '') return 0;
  let last = -1;
  let total = 0;
  for (const range of text.split(',')) {
    const found = /^(\d+)(?:-(\d+))?$/.exec(range);
    if (found === null) return undefined;
    const first = Number(found[1]);
    const end = found[2] === undefined ? first : Number(found[2]);
    if (first <= last || end >= completions || (found[2] !== undefined && end <= first)) return undefined;
    total += end - first + 1;
    last = end;
  }
  return total;
}

function checkFailurePolicy(policy: Field, spec: Field): void {
  const rules = policy.get('rules').items();
  policy.get('rules').atMost(20);
  const names = allContainers(spec.getIn('template', 'spec')).flatMap((container) => container.get('name').text ?? []);
  for (const entry of rules) {
    const action = entry.get('action');
    if (action.value === 'FailIndex' && !spec.get('backoffLimitPerIndex').isSet) {
      action.invalid('needs backoffLimitPerIndex in the Job');
    }
    const codes = entry.get('onExitCodes');
    const conditions = entry.get('onPodConditions');
    if (codes.isSet === !conditions.isEmpty) {
      entry.report('WrongChoice', `${entry.name} needs either onExitCodes or onPodConditions`);
    }
    if (codes.isSet) checkExitCodes(codes, names);
    conditions.atMost(20);
    for (const condition of conditions.items()) {
      condition.get('type').hasForm(qualifiedNameRule);
      condition.get('status').oneOf(['True', 'False', 'Unknown']);
    }
  }
}

function checkExitCodes(codes: Field, names: readonly string[]): void {
  const operator = codes.get('operator');
  const container = codes.get('containerName');
  const name = container.text;
  if (name !== undefined && !names.includes(name)) {
    const message = `${container.name} is ${JSON.stringify(name)}, but the template has no container of this name`;
    container.report('UnknownReference', message, { hint: didYouMean(name, names) });
  }
  const list = codes.get('values');
  const values = list.items();
  list.atMost(255);
  for (const [index, value] of values.entries()) {
    const code = value.integer;
    const before = index === 0 ? undefined : (values[index - 1] ?? value).integer;
    if (code === 0 && operator.value === 'In') value.invalid('must not be 0 with the operator In');
    if (code !== undefined && before !== undefined && code <= before)
      value.invalid(`must be above ${before}, the value before it`);
  }
}
