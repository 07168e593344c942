import { describe, expect, test } from 'vitest';
import { problemOfConfiguration } from '../../../../../src/model/objects/webhooks/describe.ts';
import { leaseMatchers, type Matcher, matchers } from '../../../../../src/model/objects/webhooks/matchers.ts';
import {
  isExemptFromConstraints,
  isExemptFromRemediation,
  problemOfWebhook,
} from '../../../../../src/model/objects/webhooks/problematic.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

interface Described {
  readonly fp?: string;
  readonly t?: number;
  readonly group?: string;
  readonly version?: string;
  readonly resources: readonly string[];
  readonly operations?: readonly string[];
  readonly scope?: string;
  readonly ns?: JsonObject;
  readonly obj?: JsonObject;
}

function webhook({ fp, t, group = '', version = 'v1', resources, operations = ['CREATE'], scope, ns, obj }: Described) {
  return {
    name: 'hook.example.com',
    ...(fp === undefined ? {} : { failurePolicy: fp }),
    ...(t === undefined ? {} : { timeoutSeconds: t }),
    ...(ns === undefined ? {} : { namespaceSelector: ns }),
    ...(obj === undefined ? {} : { objectSelector: obj }),
    rules: [
      {
        ...{ operations, apiGroups: [group], apiVersions: [version], resources },
        ...(scope === undefined ? {} : { scope }),
      },
    ],
  };
}

const isProblematic = (described: Described) => problemOfWebhook(webhook(described)) !== undefined;
const notIn = (key: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator: 'NotIn', values }],
});
const NAME = 'kubernetes.io/metadata.name';

const written = ({ resource, subresource }: Matcher) => (subresource === '' ? resource : `${resource}/${subresource}`);
const listed = [
  ...new Map(
    matchers.map((matcher) => [`${matcher.group}/${matcher.version} ${written(matcher)}`, matcher] as const),
  ).entries(),
];

test('the table has 77 matchers, and 2 for Leases', () => {
  expect(matchers.length).toBe(77);
  expect(leaseMatchers.length).toBe(2);
});

describe.each(listed)('a webhook for %s', (_, matcher) => {
  const { group, version, resource } = matcher;
  const described = { group, version, resources: [written(matcher)] };
  const isLease = resource === 'leases';

  test.each([
    ['fails and waits 16 s', { fp: 'Fail', t: 16 }, true],
    ['fails and waits 15 s', { fp: 'Fail', t: 15 }, true],
    ['says neither', {}, true],
    ['ignores, without timeout', { fp: 'Ignore' }, true],
    ['ignores and waits 16 s', { fp: 'Ignore', t: 16 }, true],
    ['ignores and waits 15 s', { fp: 'Ignore', t: 15 }, isLease],
    ['ignores and waits 3 s', { fp: 'Ignore', t: 3 }, false],
    ['judges updates', { fp: 'Fail', t: 1, operations: ['UPDATE'] }, true],
    ['judges all operations', { fp: 'Fail', t: 1, operations: ['*'] }, true],
    ['judges removals only', { operations: ['DELETE', 'CONNECT'] }, false],
    ['is for another group', { group: 'example.com' }, false],
    ['is for another version', { version: 'v9' }, false],
    ['is for any group, version and resource', { group: '*', version: '*', resources: ['*/*'] }, true],
  ])('that %s', (_how, more, expected) => {
    expect(isProblematic({ ...described, ...more })).toBe(expected);
  });

  test('that a wildcard of resources names', () => {
    const { subresource } = matcher;
    expect(isProblematic({ ...described, resources: [`${resource}/*`] })).toBe(true);
    expect(isProblematic({ ...described, resources: ['*'], group, scope: '*' })).toBe(true);
    if (subresource !== '') expect(isProblematic({ ...described, resources: [`*/${subresource}`] })).toBe(true);
  });
});

describe('a problematic webhook', () => {
  const configmaps = { resources: ['configmaps'], fp: 'Fail', t: 10 };
  test.each<[string, Described, boolean]>([
    ['another namespace by its label', { ...configmaps, ns: { matchLabels: { foo: 'bar' } } }, false],
    [
      'kube-system by a first label',
      { ...configmaps, ns: { matchLabels: { 'shoot.gardener.cloud/no-cleanup': 'true' } } },
      true,
    ],
    [
      'kube-system by a second label',
      { ...configmaps, ns: { matchLabels: { 'gardener.cloud/purpose': 'kube-system' } } },
      true,
    ],
    ['kube-system by its name', { ...configmaps, ns: { matchLabels: { [NAME]: 'kube-system' } } }, true],
    ['all but kube-system', { ...configmaps, ns: notIn(NAME, 'kube-system') }, false],
    [
      'pods: the object alone is selected',
      {
        ...configmaps,
        resources: ['pods'],
        obj: { matchLabels: { origin: 'gardener' } },
        ns: { matchLabels: { foo: 'bar' } },
      },
      false,
    ],
    [
      'pods: the namespace alone is selected',
      {
        ...configmaps,
        resources: ['pods'],
        obj: { matchLabels: { foo: 'bar' } },
        ns: { matchLabels: { [NAME]: 'kube-system' } },
      },
      false,
    ],
    [
      'pods, without kube-system by purpose',
      { ...configmaps, resources: ['pods'], ns: notIn('gardener.cloud/purpose', 'kube-system') },
      false,
    ],
    [
      'services, without both namespaces',
      { ...configmaps, resources: ['services'], ns: notIn(NAME, 'kube-system', 'default') },
      false,
    ],
    [
      'services, without kube-system by purpose',
      { ...configmaps, resources: ['services'], ns: notIn('gardener.cloud/purpose', 'kube-system') },
      true,
    ],
    [
      'endpoints, without kube-system',
      { ...configmaps, resources: ['endpoints'], ns: notIn(NAME, 'kube-system') },
      true,
    ],
    ['nodes in namespaces', { ...configmaps, resources: ['nodes'], scope: 'Namespaced' }, false],
    ['namespaces in namespaces', { ...configmaps, resources: ['namespaces'], scope: 'Namespaced' }, false],
    ['namespaces outside of namespaces', { ...configmaps, resources: ['namespaces'], scope: 'Cluster' }, true],
    [
      'namespaces, without kube-system by object',
      { ...configmaps, resources: ['namespaces'], obj: notIn(NAME, 'kube-system') },
      false,
    ],
    ['pods outside of namespaces', { ...configmaps, resources: ['pods'], scope: 'Cluster' }, false],
    [
      'nodes, whatever the namespace',
      { ...configmaps, resources: ['nodes'], ns: { matchLabels: { foo: 'bar' } } },
      true,
    ],
    ['nodes, whatever the object', { ...configmaps, resources: ['nodes'], obj: { matchLabels: { foo: 'bar' } } }, true],
    ['everything, and ignored', { resources: ['*'], group: '*', version: '*', fp: 'Ignore', t: 10 }, true],
    [
      'everything outside of kube-system, and ignored',
      { resources: ['*'], group: '*', version: '*', fp: 'Ignore', t: 10, ns: notIn(NAME, 'kube-system') },
      false,
    ],
    [
      'Leases of any namespace, if it fails',
      { resources: ['leases'], group: 'coordination.k8s.io', fp: 'Fail', t: 2, ns: { matchLabels: { foo: 'bar' } } },
      true,
    ],
    [
      'labelled Leases, and ignored',
      {
        resources: ['leases'],
        group: 'coordination.k8s.io',
        fp: 'Ignore',
        t: 10,
        obj: { matchLabels: { app: 'test' } },
      },
      false,
    ],
    [
      'all of core without both namespaces',
      { ...configmaps, resources: ['*'], scope: 'Namespaced', ns: notIn(NAME, 'kube-system', 'default') },
      false,
    ],
    [
      'an unreadable selector',
      { ...configmaps, ns: { matchExpressions: [{ key: NAME, operator: 'Near', values: [] }] } },
      true,
    ],
    ['no slash: not the subresource', { ...configmaps, resources: ['deployments'], group: 'apps' }, true],
    ['a subresource that is not listed', { ...configmaps, resources: ['deployments/status'], group: 'apps' }, false],
    ['stateful sets', { ...configmaps, resources: ['statefulsets'], group: 'apps' }, false],
  ])('%s', (_, described, expected) => {
    expect(isProblematic(described)).toBe(expected);
  });

  test('is recognised in any input', () => {
    for (const hostile of [{}, { rules: 7 }, { rules: [null, 'a', { operations: { CREATE: 1 } }] }]) {
      expect(problemOfWebhook(hostile as JsonObject)).toBeUndefined();
    }
  });
});

describe('what constraints say of a configuration', () => {
  const configuration = (webhooks: readonly JsonObject[], metadata: JsonObject = {}) => ({
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'policy', ...metadata },
    webhooks,
  });
  const good = webhook({ resources: ['pods'], group: 'example.com' });

  test('the first problem, with what is unset', () => {
    expect(problemOfConfiguration(configuration([good, webhook({ resources: ['nodes'] })]))).toEqual({
      reason: 'ProblematicWebhooks',
      message:
        'ValidatingWebhookConfiguration "policy" is problematic: webhook "hook.example.com" with failurePolicy "nil" and unset timeoutSeconds might prevent worker nodes from properly joining the shoot cluster',
    });
    expect(
      problemOfConfiguration(configuration([webhook({ resources: ['nodes'], fp: 'Fail', t: 10 })]))?.message,
    ).toContain('with failurePolicy "Fail" and 10s timeout might');
  });

  test('that it was remediated, until the annotation is gone', () => {
    const annotations = { 'gardener.cloud/warning': 'mended' };
    expect(problemOfConfiguration(configuration([good], { annotations }))).toEqual({
      reason: 'RemediatedWebhooks',
      message:
        'ValidatingWebhookConfiguration "policy" is problematic and was remediated by Gardener (please check its annotations for details).',
    });
    expect(problemOfConfiguration(configuration([good]))).toBeUndefined();
  });

  test('long names are cut', () => {
    const long = { ...webhook({ resources: ['nodes'], fp: 'x'.repeat(1_000_000) }), name: 'y'.repeat(1_000_000) };
    const { message = '' } = problemOfConfiguration(configuration([long])) ?? {};
    expect(message.length).toBeLessThan(1_000);
    expect(message).toContain('y... cut, 1000000 characters"');
  });

  test.each([
    [{ app: 'gardener-resource-manager' }, true, false],
    [{ 'resources.gardener.cloud/managed-by': 'gardener' }, true, true],
    [{ 'remediation.webhook.shoot.gardener.cloud/exclude': 'true' }, false, true],
    [{ 'remediation.webhook.shoot.gardener.cloud/exclude': 'yes' }, false, false],
  ])('labels %o exempt from constraints: %s, from remediation: %s', (labels, constraints, remediation) => {
    const found = configuration([webhook({ resources: ['nodes'] })], { labels });
    expect(isExemptFromConstraints(found)).toBe(constraints);
    expect(isExemptFromRemediation(found)).toBe(remediation);
    expect(problemOfConfiguration(found) === undefined).toBe(constraints);
  });
});
