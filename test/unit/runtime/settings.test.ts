import { expect, it } from 'vitest';
import { healthDefaults } from '../../../src/domains/health/model/settings.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { policyYaml } from '../../support/manifests.ts';
import { base, restart, startedWorld, typo } from '../../support/started-world.ts';

const policy = `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec:
  discovery:
    excludedNamespaces: [kube-system]
    excludedKinds: [Event, Lease.coordination.k8s.io]
    namespaceSelector: { matchExpressions: [{ key: private, operator: DoesNotExist }] }
  drift:
    ignoredFields: [{ group: apps, kind: Deployment, fields: [spec.replicas] }]
`;

const { injector } = healthDefaults;
const defaults = { ...NO_SETTINGS, injector };

const asSettings = {
  discovery: {
    excludedNamespaces: ['kube-system'],
    excludedKinds: ['/Event', 'coordination.k8s.io/Lease'],
    namespaceSelector: {
      matchLabels: {},
      matchExpressions: [{ key: 'private', operator: 'DoesNotExist', values: [] }],
    },
  },
  ignoredFields: [{ kind: 'apps/Deployment', fields: ['spec.replicas'] }],
  injector,
};

it('an agent receives the settings of the policy at its connect and at each change, and none twice', async () => {
  const world = await startedWorld();
  expect(world.agent('east').settings).toEqual([defaults]);
  world.source.push({ 'fleet/policy.yaml': policy });
  await world.settle();
  world.source.push({ 'fleet/policy.yaml': `# a comment\n${policy}` });
  await world.settle();
  expect(world.agent('east').settings).toEqual([defaults, asSettings]);
  world.source.push({ 'fleet/policy.yaml': policyYaml(7) });
  await world.settle();
  expect(world.agent('east').settings).toEqual([defaults, asSettings, defaults]);
});

it('a policy that cannot be read takes nothing back, also not over a restart', async () => {
  const first = await startedWorld({ ...base, 'fleet/policy.yaml': policy });
  first.source.push({ 'fleet/policy.yaml': typo });
  await first.settle();
  expect(first.agent('east').settings).toEqual([asSettings]);
  const world = await restart(first);
  world.source.push({ ...base, 'fleet/policy.yaml': typo });
  world.agent('east').connect();
  await world.settle();
  expect(world.agent('east').settings.filter((said) => said !== undefined)).toEqual([asSettings, asSettings]);
});

it('a server without state sends no settings while the policy may only be unreadable', async () => {
  const world = await startedWorld({ ...base, 'fleet/policy.yaml': typo });
  expect(world.agent('east').settings).toEqual([]);
  world.source.push({ 'fleet/policy.yaml': policy });
  await world.settle();
  expect(world.agent('east').settings).toEqual([asSettings]);
});

it('whether opt-outs on live objects count is said by the policy, within the bounds of the server', async () => {
  const saying = (ignoreLiveOptOuts: boolean) =>
    `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: { name: fleet }\nspec:\n  drift: { ignoreLiveOptOuts: ${ignoreLiveOptOuts} }\n`;
  const open = await startedWorld({ ...base, 'fleet/policy.yaml': saying(true) });
  expect(open.agent('east').settings).toEqual([{ ...defaults, ignoreLiveOptOuts: true }]);
  for (const ignoreLiveOptOuts of [true, false]) {
    const world = await createFleetWorld({ ignoreLiveOptOuts });
    world.source.push({ ...base, 'fleet/policy.yaml': saying(!ignoreLiveOptOuts) });
    world.agent('east').connect();
    await world.settle();
    const expected = ignoreLiveOptOuts ? { ...defaults, ignoreLiveOptOuts } : defaults;
    expect(world.agent('east').settings).toEqual([expected]);
    expect(world.server.api.diagnostics().map(({ message }) => message)).toContainEqual(
      expect.stringContaining(`ignoreLiveOptOuts is ${!ignoreLiveOptOuts}, the server sets ${ignoreLiveOptOuts}`),
    );
  }
});
