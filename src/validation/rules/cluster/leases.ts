import { get, inRange } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule } from '../shared/names.ts';

/** What an API server checks of a Lease. It drops `strategy` and `preferredHolder` unless a feature is on. */
export const leaseRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  inRange(get(spec, 'leaseDurationSeconds'), 1);
  inRange(get(spec, 'leaseTransitions'), 0);
});
