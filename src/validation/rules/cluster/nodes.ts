import { checkCidr } from '../shared/addresses.ts';
import { filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, labelValueRule, qualifiedNameRule } from '../shared/names.ts';

/** What an API server checks of a Node. */
export const nodeRule = kindRule(dnsSubdomainRule, (root) => {
  const taints = root.getIn('spec', 'taints').items();
  const seen = new Set<string>();
  for (const taint of taints) {
    const key = taint.get('key');
    key.notEmpty();
    key.hasForm(qualifiedNameRule, 'BadLabel');
    taint.get('value').hasForm(labelValueRule, 'BadLabel');
    const pair = `${key.text ?? ''} ${taint.get('effect').text ?? ''}`;
    if (seen.has(pair)) taint.report('DuplicateValue', `${taint.name} has the key and the effect of an entry above`);
    seen.add(pair);
  }
  for (const cidr of root.getIn('spec', 'podCIDRs').items()) checkCidr(cidr);
});

/** What an API server checks of a Namespace. */
export const namespaceRule = kindRule(dnsLabelRule, (root) => {
  const finalizers = root.getIn('spec', 'finalizers').textItems();
  filledIfSet(...finalizers);
  for (const name of finalizers) {
    name.hasForm((found) => {
      const isKnown = found === 'kubernetes' || found.includes('/');
      return (
        qualifiedNameRule(found) ?? (isKnown ? undefined : 'must have a domain before it, like "example.com/finalizer"')
      );
    });
  }
});
