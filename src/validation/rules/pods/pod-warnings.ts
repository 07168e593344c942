import type { FindingReason } from '../../../model/fleet/diagnostic.ts';
import {
  entryOf,
  type Field,
  get,
  getIn,
  has,
  integer,
  isSet,
  items,
  members,
  nameOf,
  report,
  text,
  word,
} from '../shared/field.ts';
import { dnsLabelRule, dnsSubdomainRule } from '../shared/names.ts';

/** Reports what an API server accepts in a Pod or a template of Pods with a warning. */
export function warnOfPod(pod: Field, spec: Field, containers: readonly Field[]): void {
  warnOfDeprecated(pod, spec);
  warnOfSelectors(spec);
  warnOfRepeatedPorts(containers);
  warnOfAdmission(spec);
  if (!has(spec, 'terminationGracePeriodSeconds')) return;
  const grace = get(spec, 'terminationGracePeriodSeconds');
  if ((integer(grace) ?? 0) < 0) warn(grace, 'WrongValue', `${nameOf(grace)} is negative, which means 1 second`);
}

/** Warns of what an API server's default admission refuses, or what needs a feature gate that is off by default. */
function warnOfAdmission(spec: Field): void {
  const priority = get(spec, 'priority');
  if (!has(spec, 'priorityClassName') && (integer(priority) ?? 0) !== 0) {
    const message = `${nameOf(priority)} is refused in Pods unless the default PriorityClass has this value`;
    warn(priority, 'FieldNotAllowed', message, 'write priorityClassName instead');
  }
  const overhead = get(spec, 'overhead');
  if (!has(spec, 'runtimeClassName') && members(overhead).length > 0) {
    const message = `${nameOf(overhead)} is refused in Pods without a runtimeClassName whose RuntimeClass has this overhead`;
    warn(overhead, 'FieldNotAllowed', message, 'leave it out: a RuntimeClass sets it');
  }
  for (const toleration of items(get(spec, 'tolerations'))) {
    const operator = get(toleration, 'operator');
    if (operator.value === 'Lt' || operator.value === 'Gt')
      warnOfGate(operator, 'TaintTolerationComparisonOperators', 'Equal or Exists');
  }
  const policy = getIn(spec, 'securityContext', 'seLinuxChangePolicy');
  if (policy.value === 'MountOption') warnOfGate(policy, 'SELinuxMount', 'Recursive');
}

function warnOfGate(field: Field, gate: string, instead: string): void {
  const message = `${nameOf(field)} is ${JSON.stringify(field.value)}, which API servers refuse unless their feature gate ${gate} is on`;
  warn(field, 'WrongValue', message, `write ${instead}`);
}

/** Warns of a name that is allowed for the object, but not as the host name of its Pods. */
export function warnOfName(root: Field): void {
  const name = getIn(root, 'metadata', 'name');
  const found = word(name);
  if (found === undefined || dnsSubdomainRule(found) !== undefined || dnsLabelRule(found) === undefined) return;
  const message = `${nameOf(name)} is ${JSON.stringify(found)}, which is no DNS label, and becomes a part of host names`;
  warn(name, 'BadName', message, 'use at most 63 letters, digits and "-"');
}

function warn(field: Field, reason: FindingReason, message: string, hint?: string): void {
  report(field, reason, message, { severity: 'warning', hint });
}

/** Labels of nodes, each with what replaces it. */
const NODE_LABELS: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'node-role.kubernetes.io/master': 'node-role.kubernetes.io/control-plane',
};

/** Annotations of Pods that do nothing any more, each with the field that replaces it. */
const ANNOTATIONS: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'priorityClassName',
  'security.alpha.kubernetes.io/sysctls': 'securityContext.sysctls',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'securityContext.sysctls',
};

/** Volumes whose drivers Kubernetes has removed, or turned off. */
const VOLUMES = 'cephfs flocker gitRepo glusterfs photonPersistentDisk quobyte rbd scaleIO storageos'.split(' ');

function warnOfDeprecated(pod: Field, spec: Field): void {
  if (has(spec, 'nodeSelector')) for (const label of members(get(spec, 'nodeSelector'))) warnOfLabel(label, label.step);
  for (const term of has(spec, 'affinity') ? nodeTermsOf(getIn(spec, 'affinity', 'nodeAffinity')) : []) {
    for (const requirement of items(get(term, 'matchExpressions'))) {
      const key = get(requirement, 'key');
      warnOfLabel(key, text(key));
    }
  }
  for (const constraint of items(get(spec, 'topologySpreadConstraints'))) {
    const key = get(constraint, 'topologyKey');
    warnOfLabel(key, text(key));
  }
  for (const volume of items(get(spec, 'volumes'))) {
    for (const step of VOLUMES) {
      if (!has(volume, step)) continue;
      const source = get(volume, step);
      const message = `${nameOf(source)} has no driver any more: nodes cannot mount the volume`;
      report(source, 'DeprecatedField', message, { severity: 'warning', atKey: true });
    }
  }
  for (const annotation of members(getIn(pod, 'metadata', 'annotations'))) {
    const instead = entryOf(ANNOTATIONS, annotation.step);
    if (instead === undefined) continue;
    const message = `the annotation ${annotation.step} does nothing any more`;
    report(annotation, 'DeprecatedField', message, { severity: 'warning', atKey: true, hint: `write ${instead}` });
  }
}

function nodeTermsOf(affinity: Field): readonly Field[] {
  return [
    ...items(getIn(affinity, 'requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms')),
    ...items(get(affinity, 'preferredDuringSchedulingIgnoredDuringExecution')).map((term) => get(term, 'preference')),
  ];
}

function warnOfLabel(field: Field, label: string | undefined): void {
  const instead = entryOf(NODE_LABELS, label);
  if (instead === undefined) return;
  const message = `the label ${label} of nodes is deprecated, and new nodes may not have it`;
  const atKey = field.step === label;
  report(field, 'DeprecatedField', message, { severity: 'warning', atKey, hint: `write ${instead}` });
}

/** Without a selector, a rule for Pods is about no Pod. */
function warnOfSelectors(spec: Field): void {
  for (const constraint of items(get(spec, 'topologySpreadConstraints'))) warnOfSelector(constraint);
  if (!has(spec, 'affinity')) return;
  for (const name of ['podAffinity', 'podAntiAffinity']) {
    const affinity = getIn(spec, 'affinity', name);
    for (const term of items(get(affinity, 'requiredDuringSchedulingIgnoredDuringExecution'))) warnOfSelector(term);
    for (const weighted of items(get(affinity, 'preferredDuringSchedulingIgnoredDuringExecution'))) {
      warnOfSelector(get(weighted, 'podAffinityTerm'));
    }
  }
}

function warnOfSelector(term: Field): void {
  const selector = get(term, 'labelSelector');
  if (!isSet(term) || isSet(selector)) return;
  const message = `${nameOf(selector)} is missing, so no Pod is selected`;
  warn(selector, 'SelectsNothing', message, 'select the labels of the Pods; {} selects all of them');
}

/** The schema reports names that one container has twice. */
function warnOfRepeatedPorts(containers: readonly Field[]): void {
  if (containers.length > 1) warnOfSame(containers.flatMap((container) => namesOf(get(container, 'ports'), 'name')));
}

function namesOf(list: Field, step: string): readonly Field[] {
  return items(list).map((item) => get(item, step));
}

function warnOfSame(fields: readonly Field[]): void {
  if (fields.length < 2) return;
  const seen = new Set<string>();
  for (const field of fields) {
    const found = word(field);
    if (found === undefined) continue;
    if (seen.has(found)) warn(field, 'DuplicateName', `${nameOf(field)} is ${JSON.stringify(found)}, as above`);
    seen.add(found);
  }
}
