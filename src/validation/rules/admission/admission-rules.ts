import {
  distinct,
  type Field,
  filledIfSet,
  get,
  hasForm,
  invalid,
  items,
  nameOf,
  needed,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
import { pathSegmentRule } from '../shared/names.ts';

/** Checks which operations on which resources a webhook or an admission policy gets. */
export function checkAdmissionRule(each: Field): void {
  const operations = get(each, 'operations');
  needed(operations);
  aloneIfStar(operations);
  filledIfSet(...textItems(operations), get(each, 'scope'));
  for (const name of ['apiGroups', 'apiVersions']) {
    const list = get(each, name);
    needed(list, name === 'apiGroups' ? 'the core group is "": apiGroups: [""]' : undefined);
    aloneIfStar(list);
  }
  filledIfSet(...textItems(get(each, 'apiVersions')));
  checkResources(get(each, 'resources'));
  const names = items(get(each, 'resourceNames'));
  for (const name of names) hasForm(name, pathSegmentRule);
  distinct(names);
}

function aloneIfStar(list: Field): void {
  const all = items(list);
  if (all.length > 1 && all.some(({ value }) => value === '*')) {
    report(list, 'WrongValue', `${nameOf(list)} must hold nothing else beside "*"`);
  }
}

/** `RESOURCE`, `RESOURCE/SUBRESOURCE`, each with `*` for all. */
function checkResources(resources: Field): void {
  const all = textItems(resources);
  needed(resources);
  const allOf = new Set<string>();
  const inAll = new Set<string>();
  for (const resource of all) {
    const found = word(resource);
    if (found === undefined) {
      if (text(resource) === '') required(resource);
      continue;
    }
    const slash = found.indexOf('/');
    if (slash < 0) continue;
    const name = found.slice(0, slash);
    const subresource = found.slice(slash + 1);
    if (allOf.has(name)) invalid(resource, `must not stand beside "${name}/*"`);
    else if (inAll.has(subresource)) invalid(resource, `must not stand beside "*/${subresource}"`);
    if (subresource === '*') allOf.add(name);
    if (name === '*') inAll.add(subresource);
  }
  const words = all.map(({ value }) => value);
  if (words.length > 1 && words.includes('*/*')) {
    report(resources, 'WrongValue', `${nameOf(resources)} must hold nothing else beside "*/*"`);
  } else if (words.includes('*') && isLastPlainNamed(words)) {
    report(resources, 'WrongValue', `${nameOf(resources)} must hold no other resource beside "*"`);
  }
}

/** Only the last resource without a subresource counts, as in the API server. */
function isLastPlainNamed(words: readonly unknown[]): boolean {
  const plain = words.filter((each) => typeof each === 'string' && !each.includes('/'));
  return plain.length > 0 && plain.at(-1) !== '*';
}
