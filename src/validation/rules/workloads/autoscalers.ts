import { quantityOf } from '../../values/quantities.ts';
import {
  eitherOf,
  entryOf,
  type Field,
  forbidden,
  get,
  getIn,
  hasForm,
  inRange,
  integer,
  invalid,
  isEmpty,
  isOneOf,
  isSet,
  items,
  nameOf,
  notSupported,
  report,
  required,
  text,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, pathSegmentRule } from '../shared/names.ts';

/** The field of a metric for each `type`. */
const SOURCES: Readonly<Record<string, string>> = {
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
  External: 'external',
  ContainerResource: 'containerResource',
};
const TARGET_TYPES = ['Utilization', 'Value', 'AverageValue'];
const POLICY_TYPES = ['Pods', 'Percent'];
const SELECT_POLICIES = ['Max', 'Min', 'Disabled'];
const LONGEST_PERIOD_SECONDS = 1800;
const LONGEST_WINDOW_SECONDS = 3600;

/** What an API server checks of a HorizontalPodAutoscaler, `autoscaling/v1` and `autoscaling/v2`. */
export const horizontalPodAutoscalerRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  const most = get(spec, 'maxReplicas');
  const least = get(spec, 'minReplicas');
  inRange(most, 1);
  inRange(least, 0);
  const [from, to] = [integer(least), integer(most)];
  if (from !== undefined && to !== undefined && to >= 1 && to < from) {
    invalid(most, `must be at least minReplicas, which is ${from}`);
  }
  const target = get(spec, 'scaleTargetRef');
  checkReference(target);
  checkGroup(target);
  inRange(get(spec, 'targetCPUUtilizationPercentage'), 1);
  const metrics = get(spec, 'metrics');
  for (const metric of items(metrics)) checkMetric(metric);
  const canScaleToZero = items(metrics).some(({ value }) => hasType(value, 'Object') || hasType(value, 'External'));
  if (from === 0) {
    const gate = canScaleToZero
      ? 'unless the feature gate HPAScaleToZero is on'
      : 'without a metric of type Object or External';
    invalid(least, `must be at least 1 ${gate}`, canScaleToZero ? { severity: 'warning' } : {});
  }
  for (const direction of ['scaleUp', 'scaleDown']) checkScaling(getIn(spec, 'behavior', direction), direction);
});

function hasType(metric: Field['value'], type: string): boolean {
  return typeof metric === 'object' && metric !== null && 'type' in metric && metric.type === type;
}

/** The scalable kinds have a group, apart from ReplicationController. API servers before Kubernetes 1.34 do not look at it. */
function checkGroup(target: Field): void {
  const version = get(target, 'apiVersion');
  if (!isSet(target) || get(target, 'kind').value === 'ReplicationController') return;
  if (isEmpty(version)) {
    report(version, 'MissingField', `${nameOf(version)} is missing`, {
      hint: 'apps/v1 for a Deployment',
      isMissing: true,
      since: 34,
    });
  } else if (text(version)?.includes('/') === false) {
    invalid(version, 'must have a group, like apps/v1', { since: 34 });
  }
}

function checkReference(ref: Field): void {
  for (const name of ['kind', 'name']) hasForm(get(ref, name), pathSegmentRule);
  hasForm(get(ref, 'apiVersion'), (version) =>
    version.split('/').length > 2 ? 'must be VERSION or GROUP/VERSION, like apps/v1' : undefined,
  );
}

function checkMetric(metric: Field): void {
  const type = get(metric, 'type');
  const wanted = entryOf(SOURCES, text(type));
  if (text(type) !== undefined && wanted === undefined) notSupported(type, Object.keys(SOURCES));
  const given = Object.values(SOURCES).filter((name) => isSet(get(metric, name)));
  if (wanted !== undefined) {
    const others = given.filter((name) => name !== wanted);
    if (others.length === given.length) {
      const hint = `a metric of type ${String(type.value)} has it${others.length === 0 ? '' : ` instead of ${others.join(', ')}`}`;
      required(get(metric, wanted), hint);
    } else for (const name of others) forbidden(get(metric, name), `in a metric of type ${String(type.value)}`);
  }
  const [source] = given;
  if (source !== undefined && given.length === 1) checkSource(get(metric, source), source);
}

function checkSource(source: Field, name: string): void {
  const target = get(source, 'target');
  hasForm(getIn(source, 'metric', 'name'), pathSegmentRule);
  hasForm(get(source, 'container'), dnsLabelRule);
  if (name === 'object') checkReference(get(source, 'describedObject'));
  if (isSet(target)) checkTarget(target, name);
}

function checkTarget(target: Field, source: string): void {
  const type = get(target, 'type');
  isOneOf(type, TARGET_TYPES);
  const [value, averageValue, utilization] = [
    get(target, 'value'),
    get(target, 'averageValue'),
    get(target, 'averageUtilization'),
  ];
  for (const amount of [value, averageValue]) {
    if ((quantityOf(amount.value) ?? 1) <= 0) invalid(amount, 'must be greater than 0');
  }
  inRange(utilization, 1);
  switch (source) {
    case 'resource':
    case 'containerResource':
      eitherOf(target, utilization, averageValue);
      return;
    case 'external':
      eitherOf(target, averageValue, value);
      return;
    case 'object': {
      if (!isSet(value) && !isSet(averageValue)) {
        report(target, 'WrongChoice', `${nameOf(target)} needs value or averageValue`);
      }
      return;
    }
    default:
      if (!isSet(averageValue)) required(averageValue);
  }
}

function checkScaling(scaling: Field, direction: string): void {
  if (!isSet(scaling)) return;
  inRange(get(scaling, 'stabilizationWindowSeconds'), 0, LONGEST_WINDOW_SECONDS);
  const select = get(scaling, 'selectPolicy');
  isOneOf(select, SELECT_POLICIES);
  const policies = get(scaling, 'policies');
  // Missing policies have a default.
  if (isSet(policies) && isEmpty(policies)) required(policies, `leave it out for the default of ${direction}`);
  for (const policy of items(policies)) {
    const type = get(policy, 'type');
    isOneOf(type, POLICY_TYPES);
    inRange(get(policy, 'value'), 1);
    inRange(get(policy, 'periodSeconds'), 1, LONGEST_PERIOD_SECONDS);
  }
  if ((quantityOf(get(scaling, 'tolerance').value) ?? 0) < 0) invalid(get(scaling, 'tolerance'), 'must be at least 0');
}
