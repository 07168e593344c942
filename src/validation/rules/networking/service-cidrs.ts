import { parseNetwork } from '../../../model/text/ip-address.ts';
import { cidrRule, strictCidrRule } from '../shared/addresses.ts';
import { filledIfSet, getIn, hasForm, nameOf, needed, report, text, textItems } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule } from '../shared/names.ts';

/** What an API server checks of a ServiceCIDR. */
export const serviceCidrRule = kindRule(dnsSubdomainRule, (root) => {
  const cidrs = getIn(root, 'spec', 'cidrs');
  const all = textItems(cidrs);
  needed(cidrs);
  filledIfSet(...all);
  for (const cidr of all) hasForm(cidr, (block) => cidrRule(block) ?? strictCidrRule(block), 'BadAddress');
  const families = all.map((cidr) => parseNetwork(text(cidr) ?? '')?.address.family);
  if (all.length > 2 || (families.length === 2 && families[0] !== undefined && families[0] === families[1])) {
    report(cidrs, 'BadAddress', `${nameOf(cidrs)} must have at most one block of each IP family`);
  }
});
