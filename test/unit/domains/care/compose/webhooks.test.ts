import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findDocuments } from '../../../../../src/compose/validate/find-documents.ts';
import { validatePaths } from '../../../../../src/compose/validate/validate.ts';
import { judgeWebhooks } from '../../../../../src/domains/care/compose/webhooks.ts';
import { remediateConfiguration } from '../../../../../src/domains/care/model/remediate.ts';

const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-care-'));
afterAll(() => rmSync(folder, { recursive: true }));

const POLICY = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'policy' },
  webhooks: [
    {
      name: 'nodes.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      clientConfig: { url: 'https://hooks.example.com/nodes' },
      failurePolicy: 'Fail',
      timeoutSeconds: 10,
      rules: [{ operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'] }],
    },
    {
      name: 'web.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      clientConfig: { url: 'https://hooks.example.com/web' },
      timeoutSeconds: 10,
      rules: [{ operations: ['*'], apiGroups: ['example.com'], apiVersions: ['*'], resources: ['*'] }],
    },
  ],
};
const EXCLUDED = {
  ...POLICY,
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'excluded', labels: { 'remediation.webhook.shoot.gardener.cloud/exclude': 'true' } },
};

/** Writes the files, and judges `paths`. */
function judge(files: Readonly<Record<string, string>>, paths: readonly string[], stdin = '') {
  const cwd = mkdtempSync(join(folder, 'case-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(cwd, path, '..'), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  const request = { paths, cwd, readStdin: async () => new TextEncoder().encode(stdin) };
  return { judged: judgeWebhooks(request, findDocuments), validated: validatePaths(request) };
}

describe('webhook configurations in files', () => {
  test('each webhook has a verdict, and each configuration is as a remediator leaves it', async () => {
    const { judged } = judge({ 'hooks/policy.json': JSON.stringify(POLICY) }, ['hooks']);
    const { configuration: remediated } = remediateConfiguration(POLICY);
    expect(remediated.webhooks).toMatchObject([{ failurePolicy: 'Ignore' }, {}]);
    expect(await judged).toEqual({
      configurations: [
        {
          kind: 'ValidatingWebhookConfiguration',
          name: 'policy',
          at: 'hooks/policy.json:1',
          webhooks: [
            { name: 'nodes.example.com', problematic: true },
            { name: 'web.example.com', problematic: false },
          ],
          changed: true,
          remediated,
        },
      ],
      diagnostics: [],
    });
  });

  test('several documents, lists and standard input', async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'Namespace' }, EXCLUDED] };
    const text = `# hooks\n---\n${JSON.stringify(POLICY)}\n---\n${JSON.stringify(list, undefined, 1)}\n`;
    const { judged } = judge({ 'a.yaml': text }, ['a.yaml', '-'], text);
    const { configurations } = await judged;
    expect(configurations.map(({ name, at, changed }) => `${name} ${at} ${changed}`)).toEqual([
      'policy a.yaml:3 true',
      'excluded a.yaml:13 false',
      'policy -:3 true',
      'excluded -:13 false',
    ]);
    expect(configurations[1]?.remediated).toEqual(EXCLUDED);
    expect(configurations[1]?.webhooks).toContainEqual({ name: 'nodes.example.com', problematic: true });
  });

  test('what is no webhook configuration is passed over, and what cannot be read is an error', async () => {
    const other = { ...POLICY, apiVersion: 'example.com/v1' };
    const { judged } = judge({ 'a.yaml': JSON.stringify(other), 'b.yaml': 'a: [', 'c.yaml': JSON.stringify(POLICY) }, [
      '.',
      'none',
    ]);
    const { configurations, diagnostics } = await judged;
    expect(configurations.map(({ at }) => at)).toEqual(['c.yaml:1']);
    expect(diagnostics.map(({ reason, at }) => `${reason} ${at?.path}`)).toEqual([
      'FileUnreadable none',
      'YamlSyntax b.yaml',
    ]);
  });
});

describe('validate', () => {
  const webhook = POLICY.webhooks[0];
  const rule = (resources: readonly string[], apiGroups = ['']) => [
    { operations: ['CREATE'], apiGroups, apiVersions: ['v1'], resources },
  ];
  const SERVES = 'nodes may not join, and a cluster that sleeps may not wake up';

  test.each([
    [
      { rules: rule(['nodes', 'pods']) },
      `while webhook "nodes.example.com" does not answer, it blocks pods, nodes: ${SERVES}`,
      'take nodes out of its rules, or write failurePolicy: Ignore and timeoutSeconds: 15 or less',
    ],
    [
      { rules: rule(['services']) },
      `while webhook "nodes.example.com" does not answer, it blocks services: ${SERVES}`,
      'exclude kube-system and default by kubernetes.io/metadata.name in its namespaceSelector, or write failurePolicy: Ignore and timeoutSeconds: 15 or less',
    ],
    [
      { rules: rule(['*/*'], ['*']) },
      'while webhook "nodes.example.com" does not answer, it delays Leases in kube-system for 10 s: controllers may lose their leadership',
      'write timeoutSeconds: 3, or exclude kube-system',
    ],
    [
      { rules: rule(['*/*']), failurePolicy: 'Ignore', timeoutSeconds: 20 },
      `while webhook "nodes.example.com" does not answer, it delays pods, pods/status, configmaps, secrets, serviceaccounts and 7 more for 20 s: ${SERVES}`,
      'write timeoutSeconds: 15 or less',
    ],
  ])('warns of %j', async (change, message, hint) => {
    const configuration = { ...POLICY, webhooks: [{ ...webhook, ...change }] };
    const { diagnostics } = await judge({ 'a.yaml': JSON.stringify(configuration) }, ['a.yaml']).validated;
    expect(diagnostics).toMatchObject([{ severity: 'warning', code: 'FR2150', message, hint }]);
  });

  test('is silent where Gardener is', async () => {
    const labels = { 'resources.gardener.cloud/managed-by': 'gardener' };
    const text = JSON.stringify({ ...POLICY, metadata: { name: 'policy', labels } });
    expect((await judge({ 'a.yaml': text }, ['a.yaml']).validated).diagnostics).toEqual([]);
  });
});
