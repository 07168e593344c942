import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/model/text/json.ts';
import {
  createFakeCustomResources,
  engineKinds,
  type FakeCustomResources,
} from '../../support/fake-custom-resources.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';

/** A Shoot of a Gardener is shown, and never written. */

const BLUE = 'core.gardener.cloud/Shoot/garden-web/blue';
const shoot: JsonObject = {
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name: 'blue', namespace: 'garden-web', creationTimestamp: '2025-01-01T00:00:00Z' },
  spec: { provider: { type: 'aws' } },
};
const theirs: JsonObject = {
  gardener: { id: 'abc', name: 'gardenlet-x', version: 'v1.118.0' },
  lastOperation: { type: 'Reconcile', state: 'Failed', progress: 30, description: '', lastUpdateTime: '' },
  conditions: [],
};

async function start(
  status?: JsonObject,
  spec: JsonObject = {},
): Promise<{ fake: FakeCustomResources; world: FleetWorld }> {
  const fake = createFakeCustomResources([...engineKinds, 'core.gardener.cloud/Shoot']);
  fake.apply({ ...shoot, spec: { provider: { type: 'aws' }, ...spec } });
  if (status !== undefined) fake.putStatus(BLUE, status);
  const world = await createFleetWorld({ custom: fake });
  world.source.push({ 'blue.yaml': clusterYaml('blue') });
  await settle(world);
  return { fake, world };
}

async function settle(world: FleetWorld): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await world.settle();
}

function rows(world: FleetWorld): readonly JsonObject[] {
  const answer = world.server.api.view('shoots', {});
  return answer.ok ? answer.value : expect.fail();
}

it('a custom resource of a Gardener gets no status, no label, no event and no file', async () => {
  const { fake, world } = await start(theirs);
  expect(rows(world)).toMatchObject([
    { name: 'blue', lastOperation: 'Reconcile Failed (30%)', status: 'unhealthy', gardenerVersion: 'v1.118.0' },
  ]);
  expect(rows(world)[0]).toMatchObject({ creationTimestamp: '2025-01-01T00:00:00Z' });
  expect([fake.writes, fake.marks, fake.events]).toEqual([[], [], []]);
  expect([...world.statusFiles.keys()].filter((path) => path.startsWith('shoots/'))).toEqual([]);
});

it('a Shoot of ours is written, until a Gardener takes it; and again when that has left', async () => {
  const { fake, world } = await start();
  world.agent('blue').connect();
  await settle(world);
  expect(fake.get(BLUE)?.status).toMatchObject({ gardener: { name: 'fleetrelay' } });
  fake.putStatus(BLUE, theirs);
  await settle(world);
  const writes = fake.writes.length;
  world.agent('blue').disconnect();
  await settle(world);
  expect(fake.writes.length).toBe(writes);
  expect(fake.get(BLUE)?.status).toEqual(theirs);
  expect(rows(world)).toMatchObject([{ status: 'unhealthy', gardenerVersion: 'v1.118.0' }]);
  fake.putStatus(BLUE, {});
  await settle(world);
  expect(fake.get(BLUE)?.status).toMatchObject({ gardener: { name: 'fleetrelay' } });
});

it('a Shoot that is only live in a cluster is listed, and has no file and no status', async () => {
  const { fake, world } = await start();
  world.agent('blue').connect();
  const name = { name: 'red', namespace: 'garden-web', labels: { 'shoot.gardener.cloud/status': 'healthy' } };
  world.agent('blue').discovers({
    upserts: [{ ...shoot, metadata: name, status: theirs }],
    kinds: [{ kind: 'core.gardener.cloud/Shoot', state: 'complete', message: '' }],
  });
  await settle(world);
  expect(rows(world).map((row) => [row.name, row.status, row.live])).toEqual([
    ['blue', expect.any(String), undefined],
    ['red', 'unhealthy', true],
  ]);
  expect([...world.statusFiles.keys()].filter((path) => path.startsWith('shoots/'))).toEqual([]);
  expect(fake.writes.map(({ key }) => key)).not.toContain('core.gardener.cloud/Shoot/garden-web/red');
  world.agent('blue').disconnect();
  await settle(world);
  expect(rows(world)[1]).toMatchObject({ name: 'red', stale: true });
});

it('the status says who cares for the Shoot, and identifies its cluster and the custom resource', async () => {
  const { fake, world } = await start();
  expect(fake.get(BLUE)?.status).not.toHaveProperty('clusterIdentity');
  world.agent('blue').connect();
  await settle(world);
  const { uid, generation } = fake.get(BLUE) ?? expect.fail();
  expect(fake.get(BLUE)?.status).toMatchObject({
    gardener: { id: 'test', name: 'fleetrelay', version: '0.0.0' },
    technicalID: 'shoot--web--blue',
    clusterIdentity: world.server.api.clusters()[0]?.id ?? expect.fail(),
    ...{ uid, observedGeneration: generation },
  });
});

it('the view of a cluster says that its Shoot is hibernated', async () => {
  const awake = await start();
  expect(awake.world.server.api.clusters()[0]).not.toHaveProperty('asleep');
  const { world } = await start(undefined, { hibernation: { enabled: true } });
  const asleep = 'Shoot garden-web/blue is hibernated';
  expect(world.server.api.clusters()[0]).toMatchObject({ asleep, message: expect.stringContaining(asleep) });
});
