import type { Field } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule, pathSegmentRule } from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** What an API server checks of a Role. */
export const roleRule = kindRule(pathSegmentRule, (root) => {
  for (const each of root.get('rules').items()) checkPolicyRule(each, true);
});

/** What an API server checks of a ClusterRole. */
export const clusterRoleRule = kindRule(pathSegmentRule, (root) => {
  for (const each of root.get('rules').items()) checkPolicyRule(each, false);
  const aggregation = root.get('aggregationRule');
  const selectors = aggregation.get('clusterRoleSelectors');
  if (aggregation.isSet && selectors.isEmpty) selectors.required();
  for (const selector of selectors.items()) checkLabelSelector(selector);
});

function checkPolicyRule(each: Field, isNamespaced: boolean): void {
  each.get('verbs').notEmpty();
  const urls = each.get('nonResourceURLs');
  const [groups, resources, names] = ['apiGroups', 'resources', 'resourceNames'].map((name) => each.get(name));
  if (groups === undefined || resources === undefined || names === undefined) return;
  if (urls.isEmpty) {
    groups.needed('the core group is "": apiGroups: [""]');
    resources.needed();
    return;
  }
  if (isNamespaced) urls.forbidden('in a Role', 'URLs have no namespace: use a ClusterRole');
  else if (![groups, resources, names].every((field) => field.isEmpty)) {
    urls.forbidden('in a rule with apiGroups, resources or resourceNames', 'make a rule of its own of the URLs');
  }
}

/** What an API server checks of a RoleBinding. */
export const roleBindingRule = kindRule(pathSegmentRule, (root) => checkBinding(root, true));

/** What an API server checks of a ClusterRoleBinding. */
export const clusterRoleBindingRule = kindRule(pathSegmentRule, (root) => checkBinding(root, false));

function checkBinding(root: Field, isNamespaced: boolean): void {
  const ref = root.get('roleRef');
  const group = ref.get('apiGroup');
  // A missing one has a default.
  if (group.word !== undefined && group.value !== GROUP) group.notSupported([GROUP]);
  const kind = ref.get('kind');
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  kind.isOneOf(kinds);
  const name = ref.get('name');
  name.hasForm(pathSegmentRule);
  for (const subject of root.get('subjects').items()) checkSubject(subject, isNamespaced);
}

const SUBJECTS = ['ServiceAccount', 'User', 'Group'];

function checkSubject(subject: Field, isNamespaced: boolean): void {
  const name = subject.get('name');
  const kind = subject.get('kind');
  const group = subject.get('apiGroup');
  if (kind.value === 'ServiceAccount') {
    name.hasForm(dnsSubdomainRule);
    if (group.word !== undefined) group.invalid('must be empty for a ServiceAccount');
    const namespace = subject.get('namespace');
    if (!isNamespaced && namespace.isEmpty) namespace.required('the namespace of the ServiceAccount');
  } else if (kind.value === 'User' || kind.value === 'Group') {
    if (group.word !== undefined && group.value !== GROUP) group.notSupported([GROUP]);
  } else if (kind.text !== undefined) kind.notSupported(SUBJECTS);
}
