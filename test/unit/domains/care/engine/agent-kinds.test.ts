import { expect, test } from 'vitest';
import { defaultFleetPolicy } from '../../../../../src/model/fleet/fleet-policy.ts';
import { agentSettings } from '../../../../../src/sinks/agents/settings.ts';
import { CONTROL_PLANE, careWorld, shootYaml } from '../../../../support/care-world.ts';

const WORKERS = 'provider: {workers: [{name: a, minimum: 1, maximum: 1}]}';
const PARTS = ['druid.gardener.cloud/Etcd', 'resources.gardener.cloud/ManagedResource'];
const MACHINES = ['machine.sapcloud.io/MachineDeployment', 'machine.sapcloud.io/Machine'];

function settings(spec: string, cluster: string) {
  const { discovery, care } = agentSettings(careWorld(spec).engine, cluster, defaultFleetPolicy);
  const all = (discovery.additionalKinds ?? []).flatMap(({ kinds, ...rest }) =>
    kinds.map((kind) => ({ kind, ...rest })),
  );
  const named = (names: readonly string[]) => all.filter(({ kind }) => names.includes(kind));
  return { care, parts: named(PARTS), machines: named(MACHINES), secrets: named(['/Secret']) };
}

test('the agent of a Seed reports the parts of bound control planes only', () => {
  const spec = `{seedName: seed, ${WORKERS}}`;
  expect(settings(spec, 'seed').parts).toEqual(PARTS.map((kind) => ({ kind, namespaces: [CONTROL_PLANE] })));
  expect(settings(spec, 'blue').parts).toEqual([]);
  expect(settings('{}', 'seed').parts).toEqual([]);
});

test.each([
  ['with a Seed and workers', `{seedName: seed, ${WORKERS}}`, true],
  ['without workers', '{seedName: seed}', false],
  ['without a Seed', `{${WORKERS}}`, false],
])('the agent of a cluster tests the tunnel of a Shoot %s', (_name, spec, expected) => {
  expect(settings(spec, 'blue').care?.tunnel).toBe(expected);
});

test('agents report Machines of bound control planes, and the metadata of operating system configs', () => {
  const spec = `{seedName: seed, ${WORKERS}}`;
  expect(settings(spec, 'seed').machines).toEqual(MACHINES.map((kind) => ({ kind, namespaces: [CONTROL_PLANE] })));
  expect(settings(spec, 'blue').machines).toEqual([]);
  const labels = { 'gardener.cloud/role': 'operating-system-config' };
  const secrets = [{ kind: '/Secret', namespaces: ['kube-system'], labels, metadataOnly: true }];
  expect(settings(spec, 'blue').secrets).toEqual(secrets);
  expect(settings(`{${WORKERS}}`, 'blue').secrets).toEqual([]);
  expect(settings('{seedName: seed}', 'blue').secrets).toEqual([]);
});

test.each([
  ['with a Seed and workers', `{seedName: seed, ${WORKERS}}`, ['kube-node-lease', 'kube-system']],
  ['without workers', '{seedName: seed}', []],
  ['without a Seed', `{${WORKERS}}`, ['kube-node-lease']],
])('the agent of a cluster judges the Leases of a Shoot %s', (_name, spec, expected) => {
  const { leases = [] } = settings(spec, 'blue').care ?? {};
  expect(leases.map(({ namespace }) => namespace)).toEqual(expected);
  expect(leases.find(({ namespace }) => namespace === 'kube-system')?.namePrefix).toBe(
    expected.includes('kube-system') ? 'gardener-node-agent-' : undefined,
  );
});

test('agents do nothing for the Shoot of a Gardener, and it takes no cluster from another one', () => {
  const world = careWorld('{seedName: seed}');
  const needs = (cluster: string) => agentSettings(world.engine, cluster, defaultFleetPolicy).care;
  expect(needs('blue')).toBeDefined();
  const ofGardener = `${shootYaml('{seedName: seed}')}status: {gardener: {name: gardener-controller-manager}}\n`;
  world.file('shoot.yaml', ofGardener);
  world.engine.commit();
  expect([needs('blue'), needs('seed')]).toEqual([undefined, undefined]);
  const ours = shootYaml('{}').replace('name: blue', 'name: later, annotations: {fleetrelay.dev/cluster: blue}');
  world.file('z-later.yaml', ours);
  world.engine.commit();
  expect(needs('blue')).toBeDefined();
  expect(needs('seed')).toBeUndefined();
});
