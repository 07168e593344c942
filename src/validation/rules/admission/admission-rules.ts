import { distinct, type Field, filledIfSet } from '../shared/field.ts';
import { pathSegmentRule } from '../shared/names.ts';

/** Checks which operations on which resources a webhook or an admission policy gets. */
export function checkAdmissionRule(each: Field): void {
  const operations = each.get('operations');
  operations.needed();
  aloneIfStar(operations);
  filledIfSet(...operations.textItems(), each.get('scope'));
  for (const name of ['apiGroups', 'apiVersions']) {
    const list = each.get(name);
    list.needed(name === 'apiGroups' ? 'the core group is "": apiGroups: [""]' : undefined);
    aloneIfStar(list);
  }
  filledIfSet(...each.get('apiVersions').textItems());
  checkResources(each.get('resources'));
  const names = each.get('resourceNames').items();
  for (const name of names) name.hasForm(pathSegmentRule);
  distinct(names);
}

function aloneIfStar(list: Field): void {
  const all = list.items();
  if (all.length > 1 && all.some(({ value }) => value === '*')) {
    list.report('WrongValue', `${list.name} must hold nothing else beside "*"`);
  }
}

/** `RESOURCE`, `RESOURCE/SUBRESOURCE`, each with `*` for all. */
function checkResources(resources: Field): void {
  const all = resources.textItems();
  resources.needed();
  const allOf = new Set<string>();
  const inAll = new Set<string>();
  for (const resource of all) {
    const found = resource.word;
    if (found === undefined) {
      if (resource.text === '') resource.required();
      continue;
    }
    const slash = found.indexOf('/');
    if (slash < 0) continue;
    const name = found.slice(0, slash);
    const subresource = found.slice(slash + 1);
    if (allOf.has(name)) resource.invalid(`must not stand beside "${name}/*"`);
    else if (inAll.has(subresource)) resource.invalid(`must not stand beside "*/${subresource}"`);
    if (subresource === '*') allOf.add(name);
    if (name === '*') inAll.add(subresource);
  }
  const words = all.map(({ value }) => value);
  if (words.length > 1 && words.includes('*/*')) {
    resources.report('WrongValue', `${resources.name} must hold nothing else beside "*/*"`);
  } else if (words.includes('*') && isLastPlainNamed(words)) {
    resources.report('WrongValue', `${resources.name} must hold no other resource beside "*"`);
  }
}

/** Only the last resource without a subresource counts, as in the API server. */
function isLastPlainNamed(words: readonly unknown[]): boolean {
  const plain = words.filter((each) => typeof each === 'string' && !each.includes('/'));
  return plain.length > 0 && plain.at(-1) !== '*';
}
