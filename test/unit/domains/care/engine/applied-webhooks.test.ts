import { load } from 'js-yaml';
import { expect, it } from 'vitest';
import { decoders } from '../../../../../src/domains/decoders.ts';
import { engineDiagnostics } from '../../../../../src/engine/status/diagnostics.ts';
import { locate } from '../../../../../src/manifest/locate.ts';
import { bytesOf } from '../../../../support/decoding.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';

const SHOOT =
  'apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: blue, namespace: garden-web}\nspec: {}\n';
const POLICY =
  'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {care: {webhookRemediatorEnabled: true}}\n';
const HOOKS = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: policy}
webhooks:
- name: fine.example.com
  timeoutSeconds: 5
- name: pods.example.com
  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [secrets, nodes]}]
`;

/** `path:line hint` of what is left alone. */
function leftAlone(files: Readonly<Record<string, string>>, isAllowed = true): readonly string[] {
  const { engine, file } = createEngineWorld();
  const bounds = { guards: {}, safeModes: [], webhookRemediator: isAllowed };
  engine.inputs.fleet.set('', '', { bounds, role: 'leader' });
  const all = { 'clusters.yaml': `${clusterYaml('blue')}---\n${clusterYaml('green')}`, 'shoot.yaml': SHOOT, ...files };
  for (const [path, text] of Object.entries(all)) file(path, text);
  engine.commit();
  return engineDiagnostics(engine).flatMap(({ reason, hint, message, at: [at] }) => {
    if (reason !== 'WebhookLeftAlone' || at === undefined) return [];
    const place = locate(decoders, at.path, bytesOf(files[at.path] ?? ''), {
      ...at,
      field: at.field ?? [],
      part: 'value',
    });
    return [`${at.path}:${place?.at.line} ${message}: ${hint}`];
  });
}

it('a webhook that fleetrelay applies to the cluster of a Shoot is shown at its line, with the mended YAML', () => {
  const files = { 'policy.yaml': POLICY, 'clusters/blue/hooks.yaml': HOOKS };
  const [shown = '', ...others] = leftAlone(files);
  expect(others).toEqual([]);
  const [, place, yaml = ''] = /^(.*): write (.*)$/.exec(shown) ?? [];
  expect(place).toBe(
    'clusters/blue/hooks.yaml:7 the webhook remediator would change webhook "pods.example.com" in cluster blue, and leaves it alone because fleetrelay applies it',
  );
  const notIn = (key: string, value: string) => ({ key, operator: 'NotIn', values: [value] });
  expect(load(`{${yaml}}`)).toEqual({
    timeoutSeconds: 15,
    failurePolicy: 'Ignore',
    namespaceSelector: {
      matchExpressions: [
        notIn('shoot.gardener.cloud/no-cleanup', 'true'),
        notIn('gardener.cloud/purpose', 'kube-system'),
        notIn('kubernetes.io/metadata.name', 'kube-system'),
      ],
    },
  });
});

it('it is not shown without the remediator, of other clusters, and once it is mended', () => {
  const hooks = { 'clusters/blue/hooks.yaml': HOOKS };
  expect(leftAlone(hooks)).toEqual([]);
  expect(leftAlone({ 'policy.yaml': POLICY, ...hooks }, false)).toEqual([]);
  expect(leftAlone({ 'policy.yaml': POLICY, 'clusters/green/hooks.yaml': HOOKS })).toEqual([]);
  const mended = HOOKS.replace('- name: pods', '- timeoutSeconds: 15\n  failurePolicy: Ignore\n  name: pods');
  expect(leftAlone({ 'policy.yaml': POLICY, 'clusters/blue/hooks.yaml': mended })).toEqual([]);
});

it('of a configuration with many webhooks twenty are shown, and the others are counted', () => {
  const hooks = Array.from({ length: 500 }, (_, index) => `- {name: h${index}.example.com, timeoutSeconds: 30}\n`);
  const text = `${HOOKS.slice(0, HOOKS.indexOf('- name'))}${hooks.join('')}`;
  const shown = leftAlone({ 'policy.yaml': POLICY, 'clusters/blue/hooks.yaml': text });
  expect(shown).toHaveLength(20);
  expect(shown[0]).toContain('(so it is with 480 more webhooks of the configuration)');
});
