import {
  type Field,
  forbidden,
  get,
  getIn,
  hasForm,
  inRange,
  invalid,
  isEmpty,
  isSet,
  isTrue,
  needed,
  required,
  text,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dns1035LabelRule, dnsSubdomainRule, pathSegmentRule } from '../shared/names.ts';

const HIGHEST_GROUP_PRIORITY = 20_000;
const HIGHEST_VERSION_PRIORITY = 1000;

/** What an API server checks of an APIService. */
export const apiServiceRule = kindRule(pathSegmentRule, (root) => {
  const spec = get(root, 'spec');
  const [group, version] = [get(spec, 'group'), get(spec, 'version')];
  checkName(root, word(group), word(version));
  if (isEmpty(version)) required(version);
  else if (isEmpty(group) && version.value !== 'v1') required(group);
  hasForm(group, dnsSubdomainRule);
  hasForm(version, dns1035LabelRule);
  inRange(get(spec, 'groupPriorityMinimum'), 1, HIGHEST_GROUP_PRIORITY);
  inRange(get(spec, 'versionPriority'), 1, HIGHEST_VERSION_PRIORITY);
  const service = get(spec, 'service');
  const bundle = get(spec, 'caBundle');
  const insecure = get(spec, 'insecureSkipTLSVerify');
  if (!isSet(service)) {
    if (!isEmpty(bundle)) forbidden(bundle, 'without a service');
    if (isTrue(insecure)) forbidden(insecure, 'without a service');
    return;
  }
  for (const name of ['namespace', 'name']) needed(get(service, name));
  inRange(get(service, 'port'), 1, 65_535);
  if (isTrue(insecure) && !isEmpty(bundle)) forbidden(insecure, 'beside caBundle');
});

function checkName(root: Field, group: string | undefined, version: string | undefined): void {
  const name = getIn(root, 'metadata', 'name');
  if (version === undefined || text(name) === undefined) return;
  const wanted = `${version}.${group ?? ''}`;
  if (name.value !== wanted)
    invalid(name, `must be ${wanted}, made of spec.version and spec.group`, { reason: 'BadName' });
}
