import { beforeEach, expect, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { clusterYaml } from '../../../../support/manifests.ts';
import { removeLive, rowsOf, stageLive } from '../../health/engine/support.ts';

/** The rows of Shoots. */

const shoot = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name, namespace: 'garden-web' },
  ...more,
});

let world: ReturnType<typeof createEngineWorld>;
beforeEach(() => {
  world = createEngineWorld();
  world.file('seed.yaml', clusterYaml('seed'));
  world.file('blue.yaml', JSON.stringify(shoot('blue', { spec: { seedName: 'seed' } })));
  stageLive(world.engine, 'seed', shoot('red', { status: { gardener: { name: 'gardenlet-x' } } }));
  world.engine.commit();
});

const names = (cluster?: string) =>
  rowsOf(world.engine, 'shoots', cluster === undefined ? {} : { cluster: [cluster] }).map(({ name }) => name);

test('a Shoot is of its cluster and of its Seed, a live one of the cluster where it is live', () => {
  expect(names()).toEqual(['blue', 'red']);
  expect(names('blue')).toEqual(['blue']);
  expect(names('seed')).toEqual(['blue', 'red']);
  expect(names('green')).toEqual([]);
});

test('a live Shoot that a source declares is one Shoot, and follows its declaration', () => {
  stageLive(world.engine, 'seed', shoot('blue', { status: { gardener: { name: 'gardenlet-x' } } }));
  world.engine.commit();
  expect(rowsOf(world.engine, 'shoots').map(({ name, live }) => [name, live])).toEqual([
    ['blue', undefined],
    ['red', true],
  ]);
  world.file('blue.yaml', null);
  world.engine.commit();
  expect(rowsOf(world.engine, 'shoots').map(({ name, live }) => [name, live])).toEqual([
    ['blue', true],
    ['red', true],
  ]);
  removeLive(world.engine, 'seed', shoot('blue'));
  world.engine.commit();
  expect(names()).toEqual(['red']);
});

test.each([
  [true, true, 'Hibernated'],
  [true, false, 'Hibernating'],
  [false, true, 'Waking Up'],
  [false, false, 'Awake'],
])('hibernation is wanted: %s, seen: %s: %s', (enabled, hibernated, text) => {
  stageLive(world.engine, 'seed', shoot('red', { spec: { hibernation: { enabled } }, status: { hibernated } }));
  world.engine.commit();
  expect(rowsOf(world.engine, 'shoots')[1]).toMatchObject({ name: 'red', hibernation: text });
});

test('an operation has its type, state and progress; without one it is pending', () => {
  const lastOperation = { type: 'Reconcile', state: 'Processing', progress: 42 };
  stageLive(world.engine, 'seed', shoot('red', { status: { lastOperation } }));
  world.engine.commit();
  expect(rowsOf(world.engine, 'shoots')[1]).toMatchObject({ lastOperation: 'Reconcile Processing (42%)' });
  stageLive(world.engine, 'seed', shoot('red', { status: { lastOperation: { state: 'Pending' } } }));
  world.engine.commit();
  expect(rowsOf(world.engine, 'shoots')[1]).toMatchObject({ lastOperation: 'Pending (0%)' });
});

test('a status of any shape is shown', () => {
  stageLive(world.engine, 'seed', shoot('red', { spec: [], status: { lastOperation: 'x', conditions: [1, {}] } }));
  world.engine.commit();
  expect(rowsOf(world.engine, 'shoots')[1]).toMatchObject({ lastOperation: '<pending>', apiServer: '<unknown>' });
});
