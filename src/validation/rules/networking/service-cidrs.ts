import { parseNetwork } from '../../../model/text/ip-address.ts';
import { cidrRule, strictCidrRule } from '../shared/addresses.ts';
import { filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule } from '../shared/names.ts';

/** What an API server checks of a ServiceCIDR. */
export const serviceCidrRule = kindRule(dnsSubdomainRule, (root) => {
  const cidrs = root.getIn('spec', 'cidrs');
  const all = cidrs.textItems();
  cidrs.needed();
  filledIfSet(...all);
  for (const cidr of all) cidr.hasForm((block) => cidrRule(block) ?? strictCidrRule(block), 'BadAddress');
  const families = all.map((cidr) => parseNetwork(cidr.text ?? '')?.address.family);
  if (all.length > 2 || (families.length === 2 && families[0] !== undefined && families[0] === families[1])) {
    cidrs.report('BadAddress', `${cidrs.name} must have at most one block of each IP family`);
  }
});
