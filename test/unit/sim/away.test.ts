import { expect, test } from 'vitest';
import { isAnyAgentAway } from '../../sim/play.ts';
import { createWorld } from '../../sim/world.ts';

/** One server, one repository. */
const SEED = 9;

test('an agent whose process has ended is away, also while its server has not noticed that', async () => {
  const world = createWorld(SEED);
  const [repository] = world.repositories;
  const [east] = world.agents;
  repository?.commit(
    new Map([['clusters/east.yaml', { docs: [{ type: 'cluster', name: 'east', env: 'test' }], broken: undefined }]]),
  );
  for (const { start } of [...world.servers, ...world.agents]) start();
  await world.time.advance(30_000);
  expect(isAnyAgentAway(world)).toBe(false);
  east?.life()?.process.kill();
  const views = world.servers.flatMap(({ life }) => life()?.server?.api.clusters() ?? []);
  expect(views.map(({ name, connected }) => ({ name, connected }))).toEqual([{ name: 'east', connected: true }]);
  expect(isAnyAgentAway(world)).toBe(true);
});
