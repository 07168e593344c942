import {
  type Field,
  forbidden,
  get,
  getIn,
  hasForm,
  invalid,
  isEmpty,
  isOneOf,
  isSet,
  items,
  needed,
  notEmpty,
  notSupported,
  required,
  text,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule, pathSegmentRule } from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** What an API server checks of a Role. */
export const roleRule = kindRule(pathSegmentRule, (root) => {
  for (const each of items(get(root, 'rules'))) checkPolicyRule(each, true);
});

/** What an API server checks of a ClusterRole. */
export const clusterRoleRule = kindRule(pathSegmentRule, (root) => {
  for (const each of items(get(root, 'rules'))) checkPolicyRule(each, false);
  const aggregation = get(root, 'aggregationRule');
  const selectors = get(aggregation, 'clusterRoleSelectors');
  if (isSet(aggregation) && isEmpty(selectors)) required(selectors);
  for (const selector of items(selectors)) checkLabelSelector(selector);
});

function checkPolicyRule(each: Field, isNamespaced: boolean): void {
  notEmpty(get(each, 'verbs'));
  const urls = get(each, 'nonResourceURLs');
  const [groups, resources, names] = ['apiGroups', 'resources', 'resourceNames'].map((name) => get(each, name));
  if (groups === undefined || resources === undefined || names === undefined) return;
  if (isEmpty(urls)) {
    needed(groups, 'the core group is "": apiGroups: [""]');
    needed(resources);
    return;
  }
  if (isNamespaced) forbidden(urls, 'in a Role', 'URLs have no namespace: use a ClusterRole');
  else if (![groups, resources, names].every(isEmpty)) {
    forbidden(urls, 'in a rule with apiGroups, resources or resourceNames', 'make a rule of its own of the URLs');
  }
}

/** What an API server checks of a RoleBinding. */
export const roleBindingRule = kindRule(pathSegmentRule, (root) => checkBinding(root, true));

/** What an API server checks of a ClusterRoleBinding. */
export const clusterRoleBindingRule = kindRule(pathSegmentRule, (root) => checkBinding(root, false));

function checkBinding(root: Field, isNamespaced: boolean): void {
  const ref = get(root, 'roleRef');
  const group = get(ref, 'apiGroup');
  // A missing one has a default.
  if (word(group) !== undefined && group.value !== GROUP) notSupported(group, [GROUP]);
  const kind = get(ref, 'kind');
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  isOneOf(kind, kinds);
  const name = get(ref, 'name');
  hasForm(name, pathSegmentRule);
  for (const subject of items(get(root, 'subjects'))) checkSubject(subject, isNamespaced);
}

const SUBJECTS = ['ServiceAccount', 'User', 'Group'];

function checkSubject(subject: Field, isNamespaced: boolean): void {
  const name = get(subject, 'name');
  const kind = get(subject, 'kind');
  const group = get(subject, 'apiGroup');
  if (kind.value === 'ServiceAccount') {
    hasForm(name, dnsSubdomainRule);
    if (word(group) !== undefined) invalid(group, 'must be empty for a ServiceAccount');
    const namespace = getIn(subject, 'namespace');
    if (!isNamespaced && isEmpty(namespace)) required(namespace, 'the namespace of the ServiceAccount');
  } else if (kind.value === 'User' || kind.value === 'Group') {
    if (word(group) !== undefined && group.value !== GROUP) notSupported(group, [GROUP]);
  } else if (text(kind) !== undefined) notSupported(kind, SUBJECTS);
}
