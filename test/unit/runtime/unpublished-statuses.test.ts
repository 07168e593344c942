import { expect, it } from 'vitest';
import { KINDS_AS_WRITTEN } from '../../../src/model/agent/agent.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';

/** Time goes on for Shoots whose status is published nowhere. */

const shoot = {
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name: 'blue', namespace: 'garden-web' },
  spec: {},
};
const policy = (enabled: boolean) =>
  JSON.stringify({
    ...{ apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'FleetPolicy', metadata: { name: 'fleet' } },
    spec: { status: { enabled } },
  });

function probe(world: FleetWorld, status: JsonObject): void {
  world.agent('blue').discovers({
    upserts: [
      { apiVersion: 'internal.fleetrelay.dev/v1', kind: 'ApiServerProbe', metadata: { name: 'healthz' }, status },
    ],
  });
}

async function settle(world: FleetWorld): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await world.settle();
}

async function start(before?: FleetWorld): Promise<FleetWorld> {
  const world = await createFleetWorld(
    before === undefined ? {} : { store: before.store, clock: before.clock, agents: before.agents },
  );
  world.source.push({
    ...{ 'blue.yaml': clusterYaml('blue'), 'shoot.yaml': JSON.stringify(shoot), 'policy.yaml': policy(false) },
  });
  world.agent('blue').capabilities = [KINDS_AS_WRITTEN];
  world.agent('blue').connect();
  world.agent('blue').discovers({ kinds: [] });
  await settle(world);
  return world;
}

const row = (world: FleetWorld): JsonObject => {
  const answer = world.server.api.view('shoots', {});
  return (answer.ok ? answer.value[0] : undefined) ?? expect.fail();
};

it('without a status branch a failure turns False after its threshold, also after a restart', async () => {
  const world = await start();
  expect(row(world)).toMatchObject({ apiServer: 'True', lastOperation: 'Create Succeeded (100%)' });
  await world.clock.advance(3_600_000);
  probe(world, { error: 'refused' });
  await settle(world);
  expect(row(world).apiServer).toBe('Progressing');
  await world.clock.advance(30_000);
  await world.server.stop();
  const again = await start(world);
  probe(again, { error: 'refused' });
  await settle(again);
  expect(row(again).apiServer).toBe('Progressing');
  await again.clock.advance(62_000);
  await settle(again);
  expect(row(again).apiServer).toBe('False');
  expect([...again.statusFiles.keys()]).toEqual([]);
});
