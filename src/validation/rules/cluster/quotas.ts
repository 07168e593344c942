import { quantityOf } from '../../values/quantities.ts';
import { containerResourceRule, isExtendedResource } from '../pods/resources.ts';
import {
  distinct,
  entryOf,
  type Field,
  filledIfSet,
  forbidden,
  get,
  getIn,
  invalid,
  isEmpty,
  isOneOf,
  items,
  members,
  nameOf,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
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
  const spec = get(root, 'spec');
  const hard = members(get(spec, 'hard'));
  for (const amount of hard) {
    checkName(amount, quotaResourceRule(amount.step));
    checkAmount(amount, COUNTED.includes(amount.step));
  }
  const names = hard.map(({ step }) => step).filter(isStandard);
  const scopes = textItems(get(spec, 'scopes'));
  filledIfSet(...scopes);
  for (const scope of scopes) checkScope(scope, names);
  checkConflict(scopes);
  const requirements = items(getIn(spec, 'scopeSelector', 'matchExpressions'));
  for (const requirement of requirements) checkRequirement(requirement, names);
  checkConflict(requirements.map((requirement) => get(requirement, 'scopeName')));
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
  const message = `the resource ${JSON.stringify(amount.step)} of ${nameOf(amount)} ${broken}`;
  report(amount, 'BadResource', message, { atKey: true });
}

function checkAmount(amount: Field & { readonly step: string }, mustBeWhole: boolean): void {
  const quantity = quantityOf(amount.value);
  if (quantity === undefined) return;
  if (quantity < 0) invalid(amount, 'must not be negative', { reason: 'BadResource' });
  else if ((mustBeWhole || isExtendedResource(amount.step)) && !Number.isInteger(quantity)) {
    invalid(amount, 'must be a whole number', { reason: 'BadResource' });
  }
}

function checkScope(scope: Field, names: readonly string[]): void {
  const found = text(scope);
  if (found === undefined) return;
  const countable = entryOf(SCOPES, found);
  const other = countable === undefined ? undefined : names.find((name) => !countable.has(name));
  if (other !== undefined) invalid(scope, `must not be set beside ${other}, which the scope does not count`);
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
      invalid(second, `must not be set beside ${String(found[0]?.value)}`, { reason: 'WrongChoice' });
  }
}

function checkRequirement(requirement: Field, names: readonly string[]): void {
  const [scope, operator, values] = [
    get(requirement, 'scopeName'),
    get(requirement, 'operator'),
    get(requirement, 'values'),
  ];
  checkScope(scope, names);
  const takesValues = operator.value === 'In' || operator.value === 'NotIn';
  const hasClass = scope.value === 'PriorityClass' || scope.value === 'VolumeAttributesClass';
  if (
    !hasClass &&
    word(scope) !== undefined &&
    entryOf(SCOPES, word(scope)) !== undefined &&
    operator.value !== 'Exists'
  ) {
    if (OPERATORS.includes(text(operator) ?? ''))
      invalid(operator, `must be Exists for the scope ${String(scope.value)}`);
  }
  if (takesValues && isEmpty(values)) required(values, `${String(operator.value)} needs values`);
  else if (!takesValues && !isEmpty(values) && OPERATORS.includes(text(operator) ?? '')) {
    forbidden(values, `with the operator ${String(operator.value)}`);
  }
}

const LIMIT_TYPES = ['Pod', 'Container', 'PersistentVolumeClaim'];
const LIMIT_RESOURCES: ReadonlySet<string> = new Set([...QUOTA_RESOURCES, 'storage']);
const AMOUNTS = ['min', 'max', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

/** What an API server checks of a LimitRange. */
export const limitRangeRule = kindRule(dnsSubdomainRule, (root) => {
  const limits = items(getIn(root, 'spec', 'limits'));
  for (const limit of limits) checkLimit(limit);
  distinct(
    limits.map((limit) => get(limit, 'type')),
    'DuplicateValue',
  );
});

function checkLimit(limit: Field): void {
  const type = get(limit, 'type');
  const found = text(type);
  if (found !== undefined && !found.includes('/')) isOneOf(type, LIMIT_TYPES);
  const isOfPod = found === 'Pod';
  for (const name of AMOUNTS) {
    const amounts = get(limit, name);
    if (isOfPod && (name === 'default' || name === 'defaultRequest')) {
      if (!isEmpty(amounts)) forbidden(amounts, 'in a limit of type Pod');
      continue;
    }
    for (const amount of members(amounts)) {
      const rule = isOfPod || found === 'Container' ? containerResourceRule : limitResourceRule;
      checkName(amount, rule(amount.step));
    }
  }
  if (found === 'PersistentVolumeClaim' && !['min', 'max'].some((name) => !isEmpty(getIn(limit, name, 'storage')))) {
    report(limit, 'MissingField', `${nameOf(limit)} needs min.storage or max.storage`);
  }
  const names = new Set(AMOUNTS.flatMap((name) => members(get(limit, name)).map(({ step }) => step)));
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
    isOfPod && of.startsWith('default') ? undefined : quantityOf(getIn(limit, of, name).value);
  for (const [least, most, at] of ORDER) {
    const [low, high] = [amount(least), amount(most)];
    if (low === undefined || high === undefined || low <= high) continue;
    const other = at === least ? most : least;
    const rule = at === least ? `must be at most ${other}.${name}` : `must be at least ${other}.${name}`;
    invalid(getIn(limit, at, name), `${rule}, which is ${String(getIn(limit, other, name).value)}`, {
      reason: 'BadResource',
    });
  }
  const [min, max, ratio] = [amount('min'), amount('max'), amount('maxLimitRequestRatio')];
  const at = getIn(limit, 'maxLimitRequestRatio', name);
  if (ratio !== undefined && ratio < 1) invalid(at, 'must be at least 1', { reason: 'BadResource' });
  else if (ratio !== undefined && min !== undefined && max !== undefined && min > 0 && ratio > max / min) {
    invalid(at, 'must be at most max divided by min', { reason: 'BadResource' });
  }
}
