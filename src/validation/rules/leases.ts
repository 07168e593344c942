import { forbidden, get, hasForm, inRange, isEmpty, required, text } from './field.ts';
import { kindRule } from './metadata.ts';
import { dnsSubdomainRule, qualifiedNameRule } from './names.ts';

/** What an API server checks of a Lease. */
export const leaseRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  inRange(get(spec, 'leaseDurationSeconds'), 1);
  inRange(get(spec, 'leaseTransitions'), 0);
  const strategy = get(spec, 'strategy');
  hasForm(strategy, (name) =>
    name.includes('/') || name === 'OldestEmulationVersion'
      ? qualifiedNameRule(name)
      : 'must be OldestEmulationVersion, or have a prefix like example.com/',
  );
  if (text(strategy) === '') required(strategy);
  const preferred = get(spec, 'preferredHolder');
  if (!isEmpty(preferred) && isEmpty(strategy)) forbidden(preferred, 'without strategy');
});
