import { didYouMean } from '../../../manifest/problem.ts';
import { allContainers } from '../pods/containers.ts';
import { checkPodTemplate } from '../pods/pod-spec.ts';
import { warnOfName } from '../pods/pod-warnings.ts';
import {
  atMost,
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
  isTrue,
  items,
  nameOf,
  notEmpty,
  oneOf,
  report,
  required,
  text,
  word,
} from '../shared/field.ts';
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
  const name = getIn(root, 'metadata', 'name');
  const spec = get(root, 'spec');
  checkJobSpec(spec, true);
  const selector = get(spec, 'selector');
  checkLabelSelector(selector);
  if (isTrue(get(spec, 'manualSelector'))) {
    if (isSet(selector)) checkSelects(selector, getIn(spec, 'template', 'metadata', 'labels'));
    else required(selector, 'manualSelector: true needs it');
  } else if (isSet(selector) && !selectsAll(selector)) {
    forbidden(selector, 'without manualSelector: true', 'leave it out: the API server makes it');
  }
  const completions = integer(get(spec, 'completions'));
  const found = word(name);
  if (found !== undefined && found.length > 63 && !isTrue(get(spec, 'manualSelector'))) {
    invalid(name, 'must have at most 63 characters, because it becomes a label of the Pods', { reason: 'BadName' });
    return;
  }
  if (get(spec, 'completionMode').value === 'Indexed' && found !== undefined && (completions ?? 0) > 0) {
    const pod = `${found}-${(completions ?? 1) - 1}`;
    if (dnsSubdomainRule(found) === undefined && dnsLabelRule(pod) !== undefined) {
      invalid(name, `must give its Pods a DNS label of at most 63 characters as name, and ${pod} is none`, {
        reason: 'BadName',
      });
    }
  }
});

export const cronJobRule = kindRule(cronJobNameRule, (root) => {
  warnOfName(root);
  const spec = get(root, 'spec');
  hasForm(get(spec, 'schedule'), scheduleRule, 'BadSchedule');
  const zone = get(spec, 'timeZone');
  const broken = text(zone) === undefined ? undefined : timeZoneRule(text(zone) ?? '');
  if (broken !== undefined) invalid(zone, broken, { reason: 'BadSchedule' });
  for (const step of ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit']) {
    inRange(get(spec, step), 0);
  }
  if (!isSet(get(spec, 'jobTemplate'))) return;
  const job = getIn(spec, 'jobTemplate', 'spec');
  checkJobSpec(job, false);
  if (isSet(get(job, 'selector'))) forbidden(get(job, 'selector'), 'in a CronJob, whose Jobs get one each');
  if (isTrue(get(job, 'manualSelector'))) invalid(get(job, 'manualSelector'), 'must be false in a CronJob');
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
  if (!isSet(spec)) {
    required(spec);
    return;
  }
  for (const step of COUNTS) inRange(get(spec, step), 0);
  const manager = get(spec, 'managedBy');
  notEmpty(manager);
  hasForm(manager, managerRule);
  if (get(spec, 'completionMode').value === 'Indexed') checkIndexed(spec, hasDefaults);
  else {
    for (const step of ['backoffLimitPerIndex', 'maxFailedIndexes', 'successPolicy']) {
      if (isSet(get(spec, step))) forbidden(get(spec, step), 'without completionMode: Indexed');
    }
  }
  const perIndex = get(spec, 'backoffLimitPerIndex');
  if (isSet(get(spec, 'maxFailedIndexes')) && !isSet(perIndex)) required(perIndex, 'maxFailedIndexes needs it');
  const policy = get(spec, 'podFailurePolicy');
  if (isSet(policy)) checkFailurePolicy(policy, spec);
  const replacement = get(spec, 'podReplacementPolicy');
  notEmpty(replacement);
  if (isSet(policy) && replacement.value === 'TerminatingOrFailed') {
    invalid(replacement, 'must be Failed with podFailurePolicy');
  }
  const template = get(spec, 'template');
  if (!isSet(template)) return;
  checkPodTemplate(template);
  checkEnds(getIn(template, 'spec', 'restartPolicy'), isSet(policy));
}

/** The Pods of a Job must end. */
function checkEnds(policy: Field, hasFailurePolicy: boolean): void {
  if (getIn(policy.parent ?? policy, 'containers').value === undefined) return;
  const hint = 'write restartPolicy: Never, or OnFailure';
  if (isEmpty(policy)) {
    report(policy, 'BadRestartPolicy', `${nameOf(policy)} is missing, and its default Always is not allowed in a Job`, {
      hint,
    });
  } else if (policy.value === 'Always') {
    invalid(policy, 'must be OnFailure or Never in a Job', { reason: 'BadRestartPolicy' });
  } else if (hasFailurePolicy && policy.value === 'OnFailure') {
    invalid(policy, 'must be Never with podFailurePolicy', { reason: 'BadRestartPolicy' });
  }
}

function managerRule(name: string): string | undefined {
  return name.length > 63 ? 'must have at most 63 characters' : domainPrefixedPathRule(name);
}

function checkIndexed(spec: Field, hasDefaults: boolean): void {
  const completions = get(spec, 'completions');
  const parallelism = get(spec, 'parallelism');
  const failed = get(spec, 'maxFailedIndexes');
  // The default is 1 if neither is set.
  const isDefaulted = hasDefaults && !isSet(parallelism);
  if (!isSet(completions) && !isDefaulted) required(completions, 'completionMode: Indexed needs it');
  const amount = integer(completions) ?? 1;
  const isMany = amount > MOST_INDEXES && isSet(get(spec, 'backoffLimitPerIndex'));
  const most = isMany ? MOST_OF_MANY : MOST_INDEXES;
  if ((integer(parallelism) ?? 0) > most) invalid(parallelism, `must be at most ${most} with completionMode: Indexed`);
  if (isMany && !isSet(failed)) required(failed, `more than ${MOST_INDEXES} completions need it`);
  const mostFailed = isSet(completions) ? Math.min(amount, most) : most;
  if ((integer(failed) ?? 0) > mostFailed) invalid(failed, `must be at most ${mostFailed}`);
  const success = get(spec, 'successPolicy');
  if (isSet(success) && isSet(completions)) checkSuccessPolicy(success, amount);
}

function checkSuccessPolicy(policy: Field, completions: number): void {
  const rules = get(policy, 'rules');
  atMost(rules, 20);
  for (const entry of items(rules)) {
    const indexes = get(entry, 'succeededIndexes');
    const count = get(entry, 'succeededCount');
    if (!isSet(indexes) && !isSet(count)) {
      report(entry, 'WrongChoice', `${nameOf(entry)} needs succeededIndexes or succeededCount`);
    }
    const found = text(indexes);
    const total = found === undefined ? completions : countIndexes(found, completions);
    if (total === undefined) {
      invalid(indexes, `must be rising indexes and ranges below ${completions}, like "0,2-4"`);
      continue;
    }
    inRange(count, 0);
    if ((integer(count) ?? 0) > total) invalid(count, `must be at most ${total}, the number of the indexes`);
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
  const rules = items(get(policy, 'rules'));
  atMost(get(policy, 'rules'), 20);
  const names = allContainers(getIn(spec, 'template', 'spec')).flatMap(
    (container) => text(get(container, 'name')) ?? [],
  );
  for (const entry of rules) {
    const action = get(entry, 'action');
    if (action.value === 'FailIndex' && !isSet(get(spec, 'backoffLimitPerIndex'))) {
      invalid(action, 'needs backoffLimitPerIndex in the Job');
    }
    const codes = get(entry, 'onExitCodes');
    const conditions = get(entry, 'onPodConditions');
    if (isSet(codes) === !isEmpty(conditions)) {
      report(entry, 'WrongChoice', `${nameOf(entry)} needs either onExitCodes or onPodConditions`);
    }
    if (isSet(codes)) checkExitCodes(codes, names);
    atMost(conditions, 20);
    for (const condition of items(conditions)) {
      hasForm(get(condition, 'type'), qualifiedNameRule);
      oneOf(get(condition, 'status'), ['True', 'False', 'Unknown']);
    }
  }
}

function checkExitCodes(codes: Field, names: readonly string[]): void {
  const operator = get(codes, 'operator');
  const container = get(codes, 'containerName');
  const name = text(container);
  if (name !== undefined && !names.includes(name)) {
    const message = `${nameOf(container)} is ${JSON.stringify(name)}, but the template has no container of this name`;
    report(container, 'UnknownReference', message, { hint: didYouMean(name, names) });
  }
  const list = get(codes, 'values');
  const values = items(list);
  atMost(list, 255);
  for (const [index, value] of values.entries()) {
    const code = integer(value);
    const before = index === 0 ? undefined : integer(values[index - 1] ?? value);
    if (code === 0 && operator.value === 'In') invalid(value, 'must not be 0 with the operator In');
    if (code !== undefined && before !== undefined && code <= before)
      invalid(value, `must be above ${before}, the value before it`);
  }
}
