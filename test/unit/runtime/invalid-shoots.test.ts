import { expect, it } from 'vitest';
import { KINDS_AS_WRITTEN } from '../../../src/model/agent/agent.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createFakeCustomResources, engineKinds } from '../../support/fake-custom-resources.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';

/** Shoots whose declaration does not count say so in `lastErrors`: they have no condition `Accepted`. */

const BLUE = 'core.gardener.cloud/Shoot/garden-web/blue';
const shoot = (spec: JsonObject): JsonObject => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name: 'blue', namespace: 'garden-web' },
  spec,
});

async function start(spec: JsonObject, files: Readonly<Record<string, string>> = {}) {
  const fake = createFakeCustomResources([...engineKinds, 'core.gardener.cloud/Shoot']);
  fake.apply(shoot(spec));
  const world = await createFleetWorld({ custom: fake });
  world.source.push({ 'blue.yaml': clusterYaml('blue'), ...files });
  await settle(world);
  world.agent('blue').capabilities = [KINDS_AS_WRITTEN];
  world.agent('blue').connect();
  world.agent('blue').discovers({ kinds: [] });
  await settle(world);
  const problems = () => fake.events.filter(({ reason }) => reason === 'ConfigurationProblem');
  return { fake, world, problems, errors: () => fake.get(BLUE)?.status?.lastErrors };
}

async function settle(world: FleetWorld): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await world.settle();
}

const CODES = { taskID: 'initializeOperation', codes: ['ERR_CONFIGURATION_PROBLEM'] };

it('an invalid one, with one Event; when it is mended, the error is gone', async () => {
  const { fake, world, problems, errors } = await start({ purpose: 'gaming' });
  expect(errors()).toMatchObject([{ ...CODES, description: expect.stringContaining('spec.purpose must be one of') }]);
  expect(problems()).toMatchObject([
    { key: BLUE, type: 'Warning', message: expect.stringContaining('spec.purpose must be one of') },
  ]);
  expect(fake.get(BLUE)?.status).not.toHaveProperty('lastOperation');
  const writes = fake.writes.length;
  await settle(world);
  expect([fake.writes.length, problems().length]).toEqual([writes, 1]);
  fake.apply(shoot({ purpose: 'testing' }));
  await settle(world);
  expect(fake.get(BLUE)?.status).toMatchObject({ gardener: { name: 'fleetrelay' }, lastOperation: { type: 'Create' } });
  expect(errors()).toBeUndefined();
  expect(problems().length).toBe(1);
});

it('one that another source declares first', async () => {
  const { errors, problems } = await start({}, { 'shoot.yaml': JSON.stringify(shoot({})) });
  expect(errors()).toMatchObject([{ ...CODES, description: expect.stringContaining('main:shoot.yaml') }]);
  expect(problems().length).toBe(1);
});

it('one that holds as last known good says what is wrong with its change, and goes on', async () => {
  const { fake, world, errors, problems } = await start({ purpose: 'testing' });
  expect(errors()).toBeUndefined();
  fake.apply(shoot({ purpose: 'gaming' }));
  await settle(world);
  expect(errors()).toMatchObject([{ ...CODES, lastUpdateTime: expect.any(String) }]);
  expect(problems().length).toBe(1);
  expect(fake.get(BLUE)?.status).toMatchObject({ lastOperation: { type: 'Create', state: 'Succeeded' } });
  const writes = fake.writes.length;
  await settle(world);
  expect([fake.writes.length, problems().length]).toEqual([writes, 1]);
  fake.apply(shoot({ purpose: 'production' }));
  await settle(world);
  expect(errors()).toBeUndefined();
});
