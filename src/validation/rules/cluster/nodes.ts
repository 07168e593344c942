import { parseNetwork } from '../../ip.ts';
import { checkCidr, cidrRule, strictCidrRule } from '../shared/addresses.ts';
import {
  filledIfSet,
  get,
  getIn,
  hasForm,
  isEmpty,
  items,
  nameOf,
  notEmpty,
  report,
  required,
  text,
  textItems,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsLabelRule, dnsSubdomainRule, labelValueRule, qualifiedNameRule } from '../shared/names.ts';
/** What an API server checks of a ServiceCIDR. */
export const serviceCidrRule = kindRule(dnsSubdomainRule, (root) => {
  const cidrs = getIn(root, 'spec', 'cidrs');
  const all = textItems(cidrs);
  if (isEmpty(cidrs)) required(cidrs);
  filledIfSet(...all);
  for (const cidr of all) hasForm(cidr, (block) => cidrRule(block) ?? strictCidrRule(block), 'BadAddress');
  const families = all.map((cidr) => parseNetwork(text(cidr) ?? '')?.address.family);
  if (all.length > 2 || (families.length === 2 && families[0] !== undefined && families[0] === families[1])) {
    report(cidrs, 'BadAddress', `${nameOf(cidrs)} must have at most one block of each IP family`);
  }
});

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
