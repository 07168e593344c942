import { describe, expect, test } from 'vitest';
import { describeChange, remediateConfiguration } from '../../../../../src/domains/care/model/remediate.ts';
import { problemOfWebhook, warningOf } from '../../../../../src/model/objects/webhooks/problematic.ts';
import { type JsonObject, objectOf, objectsOf } from '../../../../../src/model/text/json.ts';

const configuration = (webhook: JsonObject, labels: JsonObject = {}): JsonObject => ({
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'policy', labels, annotations: { other: 'kept' } },
  webhooks: [{ name: 'hook.example.com', ...webhook }],
});
const remediated = (webhook: JsonObject) => {
  const { configuration: mended } = remediateConfiguration(configuration(webhook));
  const { name, ...rest } = objectsOf(mended.webhooks)[0] ?? {};
  expect(name).toBe('hook.example.com');
  return rest;
};
const rule = (resources: readonly string[], group = '', operations = ['CREATE']) => ({
  rules: [{ operations, apiGroups: [group], apiVersions: ['v1'], resources }],
});
const notIn = (key: string, value: string) => ({ key, operator: 'NotIn', values: [value] });
const LEASE = rule(['leases'], 'coordination.k8s.io', ['UPDATE']);
const KUBE_SYSTEM = [
  notIn('shoot.gardener.cloud/no-cleanup', 'true'),
  notIn('gardener.cloud/purpose', 'kube-system'),
  notIn('kubernetes.io/metadata.name', 'kube-system'),
];

describe('one run of the webhook remediator', () => {
  test('lowers the timeout of every webhook, and says so', () => {
    const { configuration: mended, changes } = remediateConfiguration(configuration({ timeoutSeconds: 30 }));
    expect(objectsOf(mended.webhooks)[0]).toEqual({ name: 'hook.example.com', timeoutSeconds: 15 });
    expect(changes).toEqual([
      { webhook: 'hook.example.com', field: 'timeoutSeconds', from: 30, to: 15, how: 'set to 15' },
    ]);
    expect(changes.map(describeChange)).toEqual(['timeoutSeconds of webhook "hook.example.com" was set to 15']);
    expect(warningOf(mended)).toContain(
      '\nThe following modifications have been made:\n- timeoutSeconds of webhook "hook.example.com" was set to 15',
    );
    expect(objectOf(objectOf(mended.metadata).annotations).other).toBe('kept');
    expect(remediated({ timeoutSeconds: 30, failurePolicy: 'Ignore' })).toEqual({
      timeoutSeconds: 15,
      failurePolicy: 'Ignore',
    });
  });

  test.each([
    { 'remediation.webhook.shoot.gardener.cloud/exclude': 'true' },
    { 'resources.gardener.cloud/managed-by': 'gardener' },
  ])('leaves what has the labels %o', (labels) => {
    const before = configuration({ timeoutSeconds: 30 }, labels);
    expect(remediateConfiguration(before)).toEqual({ configuration: before, changes: [] });
  });

  test('extends the selectors of a webhook for Pods', () => {
    expect(remediated({ failurePolicy: 'Fail', ...rule(['pods']) })).toEqual({
      ...rule(['pods']),
      failurePolicy: 'Fail',
      timeoutSeconds: 15,
      namespaceSelector: { matchExpressions: KUBE_SYSTEM },
      objectSelector: {
        matchExpressions: [notIn('shoot.gardener.cloud/no-cleanup', 'true'), notIn('origin', 'gardener')],
      },
    });
  });

  test('keeps what selectors say already, and adds each label once', () => {
    const selector = { matchLabels: { team: 'web' }, matchExpressions: [{ key: 'a', operator: 'Exists' }] };
    const unknown = { matchExpressions: [notIn('a', 'b')] };
    expect(
      remediated({ timeoutSeconds: 5, namespaceSelector: unknown, ...rule(['services', 'secrets']) }).namespaceSelector,
    ).toEqual({
      matchExpressions: [notIn('a', 'b'), ...KUBE_SYSTEM, notIn('kubernetes.io/metadata.name', 'default')],
    });
    expect(
      remediated({ timeoutSeconds: 5, namespaceSelector: selector, ...rule(['secrets']) }).namespaceSelector,
    ).toEqual(selector);
  });

  test('ignores failures where no label can exempt an object', () => {
    expect(remediated({ failurePolicy: 'Fail', timeoutSeconds: 10, ...rule(['nodes', 'secrets']) })).toEqual({
      ...rule(['nodes', 'secrets']),
      failurePolicy: 'Ignore',
      timeoutSeconds: 10,
      namespaceSelector: { matchExpressions: KUBE_SYSTEM },
    });
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['an unset timeout', {}, { timeoutSeconds: 3, failurePolicy: 'Ignore' }],
    ['30 s', { timeoutSeconds: 30 }, { timeoutSeconds: 3, failurePolicy: 'Ignore' }],
    ['10 s, ignored', { timeoutSeconds: 10, failurePolicy: 'Ignore' }, { timeoutSeconds: 3, failurePolicy: 'Ignore' }],
    ['1 s, ignored', { timeoutSeconds: 1, failurePolicy: 'Ignore' }, { timeoutSeconds: 1, failurePolicy: 'Ignore' }],
    [
      '10 s, for labelled Leases',
      { timeoutSeconds: 10, failurePolicy: 'Ignore', objectSelector: { matchLabels: { app: 'test' } } },
      { timeoutSeconds: 10, failurePolicy: 'Ignore', objectSelector: { matchLabels: { app: 'test' } } },
    ],
  ])('gives a webhook for Leases 3 s: %s', (_, before, expected) => {
    expect(remediated({ ...before, ...LEASE })).toEqual({ ...expected, ...LEASE });
  });

  test('leaves no problem behind, and a second run changes nothing', () => {
    for (const resources of ['*', '*/*', 'pods', 'services', 'namespaces', 'nodes', 'leases', 'endpoints', 'roles']) {
      for (const failurePolicy of ['Fail', 'Ignore']) {
        const webhook = {
          failurePolicy,
          rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: [resources] }],
        };
        const { configuration: mended, changes } = remediateConfiguration(configuration(webhook));
        expect(changes.length).toBeGreaterThan(0);
        expect(objectsOf(mended.webhooks).map(problemOfWebhook)).toEqual([undefined]);
        expect(remediateConfiguration(mended).changes).toEqual([]);
      }
    }
  });

  test('passes over what is no webhook', () => {
    const odd = { kind: 'MutatingWebhookConfiguration', metadata: null, webhooks: [7, null] } as unknown as JsonObject;
    expect(remediateConfiguration({ ...odd, webhooks: 7 }).changes).toEqual([]);
  });
});
