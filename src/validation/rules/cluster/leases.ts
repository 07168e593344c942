import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule } from '../shared/names.ts';

/** What an API server checks of a Lease. It drops `strategy` and `preferredHolder` unless a feature is on. */
export const leaseRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  spec.get('leaseDurationSeconds').inRange(1);
  spec.get('leaseTransitions').inRange(0);
});
