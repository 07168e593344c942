import { checkCidr } from '../shared/addresses.ts';
import { filledIfSet, get, getIn, hasForm, items, nameOf, notEmpty, report, text, textItems } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, labelValueRule, qualifiedNameRule } from '../shared/names.ts';

/** What an API server checks of a Node. */
export const nodeRule = kindRule(dnsSubdomainRule, (root) => {
  const taints = items(getIn(root, 'spec', 'taints'));
  const seen = new Set<string>();
  for (const taint of taints) {
    const key = get(taint, 'key');
    notEmpty(key);
    hasForm(key, qualifiedNameRule, 'BadLabel');
    hasForm(get(taint, 'value'), labelValueRule, 'BadLabel');
    const pair = `${text(key) ?? ''} ${text(get(taint, 'effect')) ?? ''}`;
    if (seen.has(pair))
      report(taint, 'DuplicateValue', `${nameOf(taint)} has the key and the effect of an entry above`);
    seen.add(pair);
  }
  for (const cidr of items(getIn(root, 'spec', 'podCIDRs'))) checkCidr(cidr);
});

/** What an API server checks of a Namespace. */
export const namespaceRule = kindRule(dnsLabelRule, (root) => {
  const finalizers = textItems(getIn(root, 'spec', 'finalizers'));
  filledIfSet(...finalizers);
  for (const name of finalizers) {
    hasForm(name, (found) => {
      const isKnown = found === 'kubernetes' || found.includes('/');
      return (
        qualifiedNameRule(found) ?? (isKnown ? undefined : 'must have a domain before it, like "example.com/finalizer"')
      );
    });
  }
});
