import type { FindingReason } from '../../../model/fleet/diagnostic.ts';
import { entryOf, type Field } from '../shared/field.ts';
import { dnsLabelRule, dnsSubdomainRule } from '../shared/names.ts';

/** Reports what an API server accepts in a Pod or a template of Pods with a warning. */
export function warnOfPod(pod: Field, spec: Field, containers: readonly Field[]): void {
  warnOfDeprecated(pod, spec);
  warnOfSelectors(spec);
  warnOfRepeatedPorts(containers);
  warnOfAdmission(spec);
  if (!spec.has('terminationGracePeriodSeconds')) return;
  const grace = spec.get('terminationGracePeriodSeconds');
  if ((grace.integer ?? 0) < 0) warn(grace, 'WrongValue', `${grace.name} is negative, which means 1 second`);
}

/** Warns of what an API server's default admission refuses, or what needs a feature gate that is off by default. */
function warnOfAdmission(spec: Field): void {
  const priority = spec.get('priority');
  if (!spec.has('priorityClassName') && (priority.integer ?? 0) !== 0) {
    const message = `${priority.name} is refused in Pods unless the default PriorityClass has this value`;
    warn(priority, 'FieldNotAllowed', message, 'write priorityClassName instead');
  }
  const overhead = spec.get('overhead');
  if (!spec.has('runtimeClassName') && overhead.members().length > 0) {
    const message = `${overhead.name} is refused in Pods without a runtimeClassName whose RuntimeClass has this overhead`;
    warn(overhead, 'FieldNotAllowed', message, 'leave it out: a RuntimeClass sets it');
  }
  for (const toleration of spec.get('tolerations').items()) {
    const operator = toleration.get('operator');
    if (operator.value === 'Lt' || operator.value === 'Gt')
      warnOfGate(operator, 'TaintTolerationComparisonOperators', 'Equal or Exists');
  }
  const policy = spec.getIn('securityContext', 'seLinuxChangePolicy');
  if (policy.value === 'MountOption') warnOfGate(policy, 'SELinuxMount', 'Recursive');
}

function warnOfGate(field: Field, gate: string, instead: string): void {
  const message = `${field.name} is ${JSON.stringify(field.value)}, which API servers refuse unless their feature gate ${gate} is on`;
  warn(field, 'WrongValue', message, `write ${instead}`);
}

/** Warns of a name that is allowed for the object, but not as the host name of its Pods. */
export function warnOfName(root: Field): void {
  const name = root.getIn('metadata', 'name');
  const found = name.word;
  if (found === undefined || dnsSubdomainRule(found) !== undefined || dnsLabelRule(found) === undefined) return;
  const message = `${name.name} is ${JSON.stringify(found)}, which is no DNS label, and becomes a part of host names`;
  warn(name, 'BadName', message, 'use at most 63 letters, digits and "-"');
}

function warn(field: Field, reason: FindingReason, message: string, hint?: string): void {
  field.report(reason, message, { severity: 'warning', hint });
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
  if (spec.has('nodeSelector')) for (const label of spec.get('nodeSelector').members()) warnOfLabel(label, label.step);
  for (const term of spec.has('affinity') ? nodeTermsOf(spec.getIn('affinity', 'nodeAffinity')) : []) {
    for (const requirement of term.get('matchExpressions').items()) {
      const key = requirement.get('key');
      warnOfLabel(key, key.text);
    }
  }
  for (const constraint of spec.get('topologySpreadConstraints').items()) {
    const key = constraint.get('topologyKey');
    warnOfLabel(key, key.text);
  }
  for (const volume of spec.get('volumes').items()) {
    for (const step of VOLUMES) {
      if (!volume.has(step)) continue;
      const source = volume.get(step);
      const message = `${source.name} has no driver any more: nodes cannot mount the volume`;
      source.report('DeprecatedField', message, { severity: 'warning', atKey: true });
    }
  }
  for (const annotation of pod.getIn('metadata', 'annotations').members()) {
    const instead = entryOf(ANNOTATIONS, annotation.step);
    if (instead === undefined) continue;
    const message = `the annotation ${annotation.step} does nothing any more`;
    annotation.report('DeprecatedField', message, { severity: 'warning', atKey: true, hint: `write ${instead}` });
  }
}

function nodeTermsOf(affinity: Field): readonly Field[] {
  return [
    ...affinity.getIn('requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms').items(),
    ...affinity
      .get('preferredDuringSchedulingIgnoredDuringExecution')
      .items()
      .map((term) => term.get('preference')),
  ];
}

function warnOfLabel(field: Field, label: string | undefined): void {
  const instead = entryOf(NODE_LABELS, label);
  if (instead === undefined) return;
  const message = `the label ${label} of nodes is deprecated, and new nodes may not have it`;
  const atKey = field.step === label;
  field.report('DeprecatedField', message, { severity: 'warning', atKey, hint: `write ${instead}` });
}

/** Without a selector, a rule for Pods is about no Pod. */
function warnOfSelectors(spec: Field): void {
  for (const constraint of spec.get('topologySpreadConstraints').items()) warnOfSelector(constraint);
  if (!spec.has('affinity')) return;
  for (const name of ['podAffinity', 'podAntiAffinity']) {
    const affinity = spec.getIn('affinity', name);
    for (const term of affinity.get('requiredDuringSchedulingIgnoredDuringExecution').items()) warnOfSelector(term);
    for (const weighted of affinity.get('preferredDuringSchedulingIgnoredDuringExecution').items()) {
      warnOfSelector(weighted.get('podAffinityTerm'));
    }
  }
}

function warnOfSelector(term: Field): void {
  const selector = term.get('labelSelector');
  if (!term.isSet || selector.isSet) return;
  const message = `${selector.name} is missing, so no Pod is selected`;
  warn(selector, 'SelectsNothing', message, 'select the labels of the Pods; {} selects all of them');
}

/** The schema reports names that one container has twice. */
function warnOfRepeatedPorts(containers: readonly Field[]): void {
  if (containers.length > 1) warnOfSame(containers.flatMap((container) => namesOf(container.get('ports'), 'name')));
}

function namesOf(list: Field, step: string): readonly Field[] {
  return list.items().map((item) => item.get(step));
}

function warnOfSame(fields: readonly Field[]): void {
  if (fields.length < 2) return;
  const seen = new Set<string>();
  for (const field of fields) {
    const found = field.word;
    if (found === undefined) continue;
    if (seen.has(found)) warn(field, 'DuplicateName', `${field.name} is ${JSON.stringify(found)}, as above`);
    seen.add(found);
  }
}
