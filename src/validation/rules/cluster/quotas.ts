import { quantityOf } from '../../values/quantities.ts';
import { containerResourceRule, isExtendedResource } from '../pods/resources.ts';
import { distinct, entryOf, type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule, qualifiedNameRule } from '../shared/names.ts';

const COUNTED = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const QUOTA_RESOURCES: ReadonlySet<string> = new Set([
  ...COUNTED,
  ...COMPUTE,
  ...COMPUTE.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
]);
const POD_RESOURCES: ReadonlySet<string> = new Set([
  'pods',
  ...['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);
const CLAIM_RESOURCES: ReadonlySet<string> = new Set(['persistentvolumeclaims', 'requests.storage']);
const ONLY_PODS: ReadonlySet<string> = new Set(['pods']);

/** The resources that a quota with the scope can count. */
const SCOPES: Readonly<Record<string, ReadonlySet<string>>> = {
  Terminating: POD_RESOURCES,
  NotTerminating: POD_RESOURCES,
  BestEffort: ONLY_PODS,
  NotBestEffort: POD_RESOURCES,
  PriorityClass: POD_RESOURCES,
  CrossNamespacePodAffinity: POD_RESOURCES,
  VolumeAttributesClass: CLAIM_RESOURCES,
};
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** What an API server checks of a ResourceQuota. */
export const resourceQuotaRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  const hard = spec.get('hard').members();
  for (const amount of hard) {
    checkName(amount, quotaResourceRule(amount.step));
    checkAmount(amount, COUNTED.includes(amount.step));
  }
  const names = hard.map(({ step }) => step).filter(isStandard);
  const scopes = spec.get('scopes').textItems();
  filledIfSet(...scopes);
  for (const scope of scopes) checkScope(scope, names);
  checkConflict(scopes);
  const requirements = spec.getIn('scopeSelector', 'matchExpressions').items();
  for (const requirement of requirements) checkRequirement(requirement, names);
  checkConflict(requirements.map((requirement) => requirement.get('scopeName')));
});

function isStandard(name: string): boolean {
  return QUOTA_RESOURCES.has(name) || isHugePages(name);
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-') || name.startsWith('requests.hugepages-');
}

function quotaResourceRule(name: string): string | undefined {
  const broken = qualifiedNameRule(name);
  if (broken !== undefined || name.includes('/') || isStandard(name)) return broken;
  return 'must be a resource of quotas like requests.cpu, or count/RESOURCE';
}

function checkName(amount: Field & { readonly step: string }, broken: string | undefined): void {
  if (broken === undefined) return;
  const message = `the resource ${JSON.stringify(amount.step)} of ${amount.name} ${broken}`;
  amount.report('BadResource', message, { atKey: true });
}

function checkAmount(amount: Field & { readonly step: string }, mustBeWhole: boolean): void {
  const quantity = quantityOf(amount.value);
  if (quantity === undefined) return;
  if (quantity < 0) amount.invalid('must not be negative', { reason: 'BadResource' });
  else if ((mustBeWhole || isExtendedResource(amount.step)) && !Number.isInteger(quantity)) {
    amount.invalid('must be a whole number', { reason: 'BadResource' });
  }
}

function checkScope(scope: Field, names: readonly string[]): void {
  const found = scope.text;
  if (found === undefined) return;
  const countable = entryOf(SCOPES, found);
  const other = countable === undefined ? undefined : names.find((name) => !countable.has(name));
  if (other !== undefined) scope.invalid(`must not be set beside ${other}, which the scope does not count`);
}

const CONFLICTS = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

function checkConflict(scopes: readonly Field[]): void {
  for (const [one, other] of CONFLICTS) {
    const found = scopes.filter(({ value }) => value === one || value === other);
    const second = found.find(({ value }) => value !== found[0]?.value);
    if (second !== undefined)
      second.invalid(`must not be set beside ${String(found[0]?.value)}`, { reason: 'WrongChoice' });
  }
}

function checkRequirement(requirement: Field, names: readonly string[]): void {
  const [scope, operator, values] = [
    requirement.get('scopeName'),
    requirement.get('operator'),
    requirement.get('values'),
  ];
  checkScope(scope, names);
  const takesValues = operator.value === 'In' || operator.value === 'NotIn';
  const hasClass = scope.value === 'PriorityClass' || scope.value === 'VolumeAttributesClass';
  if (
    !hasClass &&
    scope.word !== undefined &&
    entryOf(SCOPES, scope.word) !== undefined &&
    operator.value !== 'Exists'
  ) {
    if (OPERATORS.includes(operator.text ?? ''))
      operator.invalid(`must be Exists for the scope ${String(scope.value)}`);
  }
  if (takesValues && values.isEmpty) values.required(`${String(operator.value)} needs values`);
  else if (!takesValues && !values.isEmpty && OPERATORS.includes(operator.text ?? '')) {
    values.forbidden(`with the operator ${String(operator.value)}`);
  }
}

const LIMIT_TYPES = ['Pod', 'Container', 'PersistentVolumeClaim'];
const LIMIT_RESOURCES: ReadonlySet<string> = new Set([...QUOTA_RESOURCES, 'storage']);
const AMOUNTS = ['min', 'max', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

/** What an API server checks of a LimitRange. */
export const limitRangeRule = kindRule(dnsSubdomainRule, (root) => {
  const limits = root.getIn('spec', 'limits').items();
  for (const limit of limits) checkLimit(limit);
  distinct(
    limits.map((limit) => limit.get('type')),
    'DuplicateValue',
  );
});

function checkLimit(limit: Field): void {
  const type = limit.get('type');
  const found = type.text;
  if (found !== undefined && !found.includes('/')) type.isOneOf(LIMIT_TYPES);
  const isOfPod = found === 'Pod';
  for (const name of AMOUNTS) {
    const amounts = limit.get(name);
    if (isOfPod && (name === 'default' || name === 'defaultRequest')) {
      if (!amounts.isEmpty) amounts.forbidden('in a limit of type Pod');
      continue;
    }
    for (const amount of amounts.members()) {
      const rule = isOfPod || found === 'Container' ? containerResourceRule : limitResourceRule;
      checkName(amount, rule(amount.step));
    }
  }
  if (found === 'PersistentVolumeClaim' && !['min', 'max'].some((name) => !limit.getIn(name, 'storage').isEmpty)) {
    limit.report('MissingField', `${limit.name} needs min.storage or max.storage`);
  }
  const names = new Set(
    AMOUNTS.flatMap((name) =>
      limit
        .get(name)
        .members()
        .map(({ step }) => step),
    ),
  );
  for (const name of names) compareAmounts(limit, name, isOfPod);
}

function limitResourceRule(name: string): string | undefined {
  const broken = qualifiedNameRule(name);
  if (broken !== undefined || name.includes('/') || LIMIT_RESOURCES.has(name) || isHugePages(name)) return broken;
  return 'must be a resource of Kubernetes, or have a prefix like example.com/';
}

/** Pairs of amounts of which the first must not be above the second; the problem is at the field that is named third. */
const ORDER = [
  ['min', 'max', 'min'],
  ['min', 'defaultRequest', 'defaultRequest'],
  ['defaultRequest', 'max', 'defaultRequest'],
  ['defaultRequest', 'default', 'defaultRequest'],
  ['min', 'default', 'default'],
  ['default', 'max', 'default'],
] as const;

function compareAmounts(limit: Field, name: string, isOfPod: boolean): void {
  const amount = (of: (typeof AMOUNTS)[number]) =>
    isOfPod && of.startsWith('default') ? undefined : quantityOf(limit.getIn(of, name).value);
  for (const [least, most, at] of ORDER) {
    const [low, high] = [amount(least), amount(most)];
    if (low === undefined || high === undefined || low <= high) continue;
    const other = at === least ? most : least;
    const rule = at === least ? `must be at most ${other}.${name}` : `must be at least ${other}.${name}`;
    limit.getIn(at, name).invalid(`${rule}, which is ${String(limit.getIn(other, name).value)}`, {
      reason: 'BadResource',
    });
  }
  const [min, max, ratio] = [amount('min'), amount('max'), amount('maxLimitRequestRatio')];
  const at = limit.getIn('maxLimitRequestRatio', name);
  if (ratio !== undefined && ratio < 1) at.invalid('must be at least 1', { reason: 'BadResource' });
  else if (ratio !== undefined && min !== undefined && max !== undefined && min > 0 && ratio > max / min) {
    at.invalid('must be at most max divided by min', { reason: 'BadResource' });
  }
}
