import { expect, test } from 'vitest';
import { care } from '../../../../../src/domains/care/engine/care.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';
import { stageLive } from '../../health/engine/support.ts';

/** The figures of Shoots for the metrics. */

const shoot = (name: string, spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name, namespace: 'garden-web', ...metadata },
  spec,
});

const world = createEngineWorld();
const seedSpec = {
  provider: { type: 'gcp', workers: [{ name: 'a', minimum: 1, maximum: 4 }] },
  region: 'europe-west1',
};
world.file('seed.yaml', JSON.stringify(shoot('seed', seedSpec)));
const spec = { seedName: 'seed', purpose: 'production', provider: { type: 'aws' }, kubernetes: { version: '1.33.2' } };
world.file('blue.yaml', JSON.stringify(shoot('blue', spec, { creationTimestamp: '2026-01-01T00:00:00Z' })));
world.file('cluster.yaml', clusterYaml('seed'));
stageLive(world.engine, 'seed', shoot('live', {}));
world.engine.commit();

const figures = () => world.engine.reported(care)?.report.figures() ?? [];

test('declared Shoots have figures, those that are only live have none', () => {
  expect(figures()).toMatchObject([
    {
      ...{ namespace: 'garden-web', name: 'blue', purpose: 'production', iaas: 'aws', region: '', seed: 'seed' },
      ...{ seedIaas: 'gcp', seedRegion: 'europe-west1', isSeed: false, kubernetesVersion: '1.33.2' },
      ...{ technicalId: 'shoot--web--blue', isCompliant: 'Unknown', createdAt: 1_767_225_600, pools: [] },
      operation: { type: 'Create', state: 'Pending', progress: 0 },
    },
    {
      ...{ name: 'seed', seed: '', seedIaas: '', isSeed: true },
      pools: [{ name: 'a', minimum: 1, maximum: 4 }],
    },
  ]);
  expect(figures()[0]?.conditions).toContainEqual({ type: 'APIServerAvailable', status: 'Unknown' });
});

test.each([
  ['ERR_INFRA_QUOTA_EXCEEDED', true],
  ['ERR_INFRA_RATE_LIMITS_EXCEEDED', false],
])('a Shoot with the code %s has user errors: %s', (code, has) => {
  const gardener = { name: 'gardenlet-x' };
  world.engine.inputs.observed.set('Shoot', 'garden-web/blue', {
    conditions: [],
    fields: { gardener, lastErrors: [{ description: 'x', codes: [code] }], hibernated: true },
  });
  world.engine.commit();
  expect(figures()[0]).toMatchObject({ hasUserErrors: has, isHibernated: true });
});

test('the UID of a custom resource is known from the status that was written', () => {
  world.engine.inputs.observed.set('Shoot', 'garden-web/blue', { conditions: [], fields: { uid: 'u-1' } });
  world.engine.commit();
  expect(figures().map(({ uid }) => uid)).toEqual(['u-1', '']);
});
