import { quantityOf } from '../../values/quantities.ts';
import { entryOf, type Field } from '../shared/field.ts';
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
  const spec = root.get('spec');
  const most = spec.get('maxReplicas');
  const least = spec.get('minReplicas');
  most.inRange(1);
  least.inRange(0);
  const [from, to] = [least.integer, most.integer];
  if (from !== undefined && to !== undefined && to >= 1 && to < from) {
    most.invalid(`must be at least minReplicas, which is ${from}`);
  }
  const target = spec.get('scaleTargetRef');
  checkReference(target);
  checkGroup(target);
  spec.get('targetCPUUtilizationPercentage').inRange(1);
  const metrics = spec.get('metrics');
  for (const metric of metrics.items()) checkMetric(metric);
  const canScaleToZero = metrics.items().some(({ value }) => hasType(value, 'Object') || hasType(value, 'External'));
  if (from === 0) {
    const gate = canScaleToZero
      ? 'unless the feature gate HPAScaleToZero is on'
      : 'without a metric of type Object or External';
    least.invalid(`must be at least 1 ${gate}`, canScaleToZero ? { severity: 'warning' } : {});
  }
  for (const direction of ['scaleUp', 'scaleDown']) checkScaling(spec.getIn('behavior', direction), direction);
});

function hasType(metric: Field['value'], type: string): boolean {
  return typeof metric === 'object' && metric !== null && 'type' in metric && metric.type === type;
}

/** The scalable kinds have a group, apart from ReplicationController. API servers before Kubernetes 1.34 do not look at it. */
function checkGroup(target: Field): void {
  const version = target.get('apiVersion');
  if (!target.isSet || target.get('kind').value === 'ReplicationController') return;
  if (version.isEmpty) {
    version.report('MissingField', `${version.name} is missing`, {
      hint: 'apps/v1 for a Deployment',
      isMissing: true,
      since: 34,
    });
  } else if (version.text?.includes('/') === false) {
    version.invalid('must have a group, like apps/v1', { since: 34 });
  }
}

function checkReference(ref: Field): void {
  for (const name of ['kind', 'name']) ref.get(name).hasForm(pathSegmentRule);
  ref
    .get('apiVersion')
    .hasForm((version) =>
      version.split('/').length > 2 ? 'must be VERSION or GROUP/VERSION, like apps/v1' : undefined,
    );
}

function checkMetric(metric: Field): void {
  const type = metric.get('type');
  const wanted = entryOf(SOURCES, type.text);
  if (type.text !== undefined && wanted === undefined) type.notSupported(Object.keys(SOURCES));
  const given = Object.values(SOURCES).filter((name) => metric.get(name).isSet);
  if (wanted !== undefined) {
    const others = given.filter((name) => name !== wanted);
    if (others.length === given.length) {
      const hint = `a metric of type ${String(type.value)} has it${others.length === 0 ? '' : ` instead of ${others.join(', ')}`}`;
      metric.get(wanted).required(hint);
    } else for (const name of others) metric.get(name).forbidden(`in a metric of type ${String(type.value)}`);
  }
  const [source] = given;
  if (source !== undefined && given.length === 1) checkSource(metric.get(source), source);
}

function checkSource(source: Field, name: string): void {
  const target = source.get('target');
  source.getIn('metric', 'name').hasForm(pathSegmentRule);
  source.get('container').hasForm(dnsLabelRule);
  if (name === 'object') checkReference(source.get('describedObject'));
  if (target.isSet) checkTarget(target, name);
}

function checkTarget(target: Field, source: string): void {
  const type = target.get('type');
  type.isOneOf(TARGET_TYPES);
  const [value, averageValue, utilization] = [
    target.get('value'),
    target.get('averageValue'),
    target.get('averageUtilization'),
  ];
  for (const amount of [value, averageValue]) {
    if ((quantityOf(amount.value) ?? 1) <= 0) amount.invalid('must be greater than 0');
  }
  utilization.inRange(1);
  switch (source) {
    case 'resource':
    case 'containerResource':
      target.eitherOf(utilization, averageValue);
      return;
    case 'external':
      target.eitherOf(averageValue, value);
      return;
    case 'object': {
      if (!value.isSet && !averageValue.isSet) {
        target.report('WrongChoice', `${target.name} needs value or averageValue`);
      }
      return;
    }
    default:
      if (!averageValue.isSet) averageValue.required();
  }
}

function checkScaling(scaling: Field, direction: string): void {
  if (!scaling.isSet) return;
  scaling.get('stabilizationWindowSeconds').inRange(0, LONGEST_WINDOW_SECONDS);
  const select = scaling.get('selectPolicy');
  select.isOneOf(SELECT_POLICIES);
  const policies = scaling.get('policies');
  // Missing policies have a default.
  if (policies.isSet && policies.isEmpty) policies.required(`leave it out for the default of ${direction}`);
  for (const policy of policies.items()) {
    const type = policy.get('type');
    type.isOneOf(POLICY_TYPES);
    policy.get('value').inRange(1);
    policy.get('periodSeconds').inRange(1, LONGEST_PERIOD_SECONDS);
  }
  if ((quantityOf(scaling.get('tolerance').value) ?? 0) < 0) scaling.get('tolerance').invalid('must be at least 0');
}
