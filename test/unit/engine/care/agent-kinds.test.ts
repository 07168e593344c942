import { expect, test } from 'vitest';
import { defaultFleetPolicy } from '../../../../src/model/fleet-policy.ts';
import { agentSettings } from '../../../../src/sinks/agents/settings.ts';
import { CONTROL_PLANE, careWorld } from '../../../support/care-world.ts';

const WORKERS = 'provider: {workers: [{name: a, minimum: 1, maximum: 1}]}';
const PARTS = ['druid.gardener.cloud/Etcd', 'resources.gardener.cloud/ManagedResource'];

function settings(spec: string, cluster: string) {
  const { discovery, care } = agentSettings(careWorld(spec).engine, cluster, defaultFleetPolicy);
  const all = (discovery.additionalKinds ?? []).flatMap(({ kinds, ...rest }) =>
    kinds.map((kind) => ({ kind, ...rest })),
  );
  return { care, parts: all.filter(({ kind }) => PARTS.includes(kind)) };
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
