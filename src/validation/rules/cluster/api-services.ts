import type { Field } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dns1035LabelRule, dnsSubdomainRule, pathSegmentRule } from '../shared/names.ts';

const HIGHEST_GROUP_PRIORITY = 20_000;
const HIGHEST_VERSION_PRIORITY = 1000;

/** What an API server checks of an APIService. */
export const apiServiceRule = kindRule(pathSegmentRule, (root) => {
  const spec = root.get('spec');
  const [group, version] = [spec.get('group'), spec.get('version')];
  checkName(root, group.word, version.word);
  if (version.isEmpty) version.required();
  else if (group.isEmpty && version.value !== 'v1') group.required();
  group.hasForm(dnsSubdomainRule);
  version.hasForm(dns1035LabelRule);
  spec.get('groupPriorityMinimum').inRange(1, HIGHEST_GROUP_PRIORITY);
  spec.get('versionPriority').inRange(1, HIGHEST_VERSION_PRIORITY);
  const service = spec.get('service');
  const bundle = spec.get('caBundle');
  const insecure = spec.get('insecureSkipTLSVerify');
  if (!service.isSet) {
    if (!bundle.isEmpty) bundle.forbidden('without a service');
    if (insecure.isTrue) insecure.forbidden('without a service');
    return;
  }
  for (const name of ['namespace', 'name']) service.get(name).needed();
  service.get('port').inRange(1, 65_535);
  if (insecure.isTrue && !bundle.isEmpty) insecure.forbidden('beside caBundle');
});

function checkName(root: Field, group: string | undefined, version: string | undefined): void {
  const name = root.getIn('metadata', 'name');
  if (version === undefined || name.text === undefined) return;
  const wanted = `${version}.${group ?? ''}`;
  if (name.value !== wanted)
    name.invalid(`must be ${wanted}, made of spec.version and spec.group`, { reason: 'BadName' });
}
