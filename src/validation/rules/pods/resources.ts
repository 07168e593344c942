import { didYouMean } from '../../../manifest/problem.ts';
import { quantityOf } from '../../values/quantities.ts';
import type { Field } from '../shared/field.ts';
import { dnsLabelRule, qualifiedNameRule } from '../shared/names.ts';

const STANDARD = ['cpu', 'memory', 'ephemeral-storage'] as const;
/** Those that a Pod can have as a whole. */
const OF_PODS = ['cpu', 'memory'] as const;
const HUGE_PAGES = 'hugepages-';

/** A request or a limit of one resource. */
type Amount = Field & { readonly step: string };

/**
 * Checks the resources of a container or of a Pod.
 *
 * @param claims the names of the Pod's resource claims
 */
export function checkResources(resources: Field, level: 'container' | 'pod', claims: ReadonlySet<string>): void {
  if (!resources.isSet) return;
  const limits = resources.get('limits').members();
  const requests = resources.get('requests').members();
  for (const limit of limits) checkAmount(limit, level);
  for (const request of requests) {
    if (checkAmount(request, level)) compareWithLimit(request, resources.get('limits').get(request.step));
  }
  const all = [...limits, ...requests];
  const hugePages = all.find(({ step }) => step.startsWith(HUGE_PAGES));
  if (hugePages !== undefined && !all.some(({ step }) => step === 'cpu' || step === 'memory')) {
    const message = `${hugePages.name} needs a request or a limit of cpu or memory beside it`;
    hugePages.report('BadResource', message, { atKey: true });
  }
  if (level === 'container') checkClaims(resources.get('claims'), claims);
  else if (resources.get('claims').isSet) resources.get('claims').forbidden('in the resources of a Pod');
}

/** Checks the overhead of a Pod. */
export function checkOverhead(overhead: Field): void {
  for (const amount of overhead.members()) checkAmount(amount, 'container');
}

/** Checks the name and the value; false if the name is not allowed. */
function checkAmount(amount: Amount, level: 'container' | 'pod'): boolean {
  const { step: name, value } = amount;
  const broken = level === 'container' ? containerResourceRule(name) : podResourceRule(name);
  if (broken !== undefined) {
    const hint = didYouMean(name, level === 'container' ? STANDARD : OF_PODS);
    amount.report('BadResource', `the resource ${JSON.stringify(name)} of ${amount.name} ${broken}`, {
      hint,
      atKey: true,
    });
    return false;
  }
  const quantity = quantityOf(value);
  if (quantity === undefined) return true;
  if (quantity < 0) amount.invalid('must not be negative', { reason: 'BadResource' });
  if (name.startsWith(HUGE_PAGES)) {
    const size = quantityOf(name.slice(HUGE_PAGES.length));
    if (size === undefined || size <= 0 || !Number.isInteger(size) || Math.ceil(quantity) % size !== 0) {
      amount.invalid(`must be a multiple of the page size in ${name}`, { reason: 'BadResource' });
    }
  } else if (isExtendedResource(name)) {
    if (!Number.isInteger(quantity)) amount.invalid('must be a whole number', { reason: 'BadResource' });
  } else if ((name === 'memory' || name === 'ephemeral-storage') && !Number.isInteger(quantity)) {
    const hint =
      typeof value === 'string' && value.endsWith('m')
        ? `"m" means thousandths; did you mean ${value.slice(0, -1)}Mi?`
        : undefined;
    amount.invalid('must be a whole number of bytes', { reason: 'BadResource', hint, severity: 'warning' });
  }
  return true;
}

function compareWithLimit(request: Amount, limit: Field): void {
  const { step: name, value } = request;
  const mustBeEqual = name.startsWith(HUGE_PAGES) || !isNative(name);
  if (!limit.isSet) {
    if (!mustBeEqual) return;
    const message = `${request.name} needs a limit of the same amount`;
    request.report('BadResource', message, { atKey: true });
    return;
  }
  const wanted = quantityOf(value);
  const most = quantityOf(limit.value);
  if (wanted === undefined || most === undefined || wanted === most || (wanted < most && !mustBeEqual)) return;
  const rule = mustBeEqual ? 'must be equal to the limit' : 'must be at most the limit';
  request.invalid(`${rule} of ${limit.value}`, { reason: 'RequestAboveLimit' });
}

function checkClaims(list: Field, claims: ReadonlySet<string>): void {
  const entries = list.items();
  for (const entry of entries) {
    const name = entry.get('name');
    entry.get('request').hasForm(dnsLabelRule);
    const text = name.word;
    if (text === undefined || claims.has(text)) continue;
    const message = `${name.name} is ${JSON.stringify(text)}, but the Pod has no such entry in resourceClaims`;
    name.report('UnknownReference', message, { hint: didYouMean(text, claims) });
  }
  const seen = new Set<string>();
  for (const entry of entries) {
    const name = entry.get('name');
    const claim = name.word;
    if (claim === undefined) continue;
    const request = entry.get('request').word;
    const key = `${claim}/${request ?? ''}`;
    const isIncluded = seen.has(key) || seen.has(`${claim}/`);
    if (isIncluded || (request === undefined && seen.has(claim))) name.duplicate('DuplicateValue');
    seen.add(key).add(claim);
  }
}

/** A resource of Kubernetes itself; all others are extended resources, of devices. */
function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** Whether a resource belongs to a device plugin, and not to Kubernetes. */
export function isExtendedResource(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.');
}

/** The name of a resource that a container can have. */
export function containerResourceRule(name: string): string | undefined {
  const broken = qualifiedNameRule(name);
  if (broken !== undefined) return broken;
  if (!name.includes('/')) {
    const isKnown = STANDARD.some((known) => known === name) || name.startsWith(HUGE_PAGES);
    return isKnown
      ? undefined
      : 'must be cpu, memory, ephemeral-storage, hugepages-SIZE, or have a prefix like example.com/';
  }
  return isNative(name) || (isExtendedResource(name) && qualifiedNameRule(`requests.${name}`) === undefined)
    ? undefined
    : 'must not begin with "requests."';
}

function podResourceRule(name: string): string | undefined {
  return OF_PODS.some((known) => known === name) || name.startsWith(HUGE_PAGES)
    ? undefined
    : 'must be cpu, memory or hugepages-SIZE in the resources of a Pod';
}
