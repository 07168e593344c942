import { expect, test } from 'vitest';
import type { Doc, FileModel } from '../../sim/desired.ts';
import { isAnyAgentAway, isAnyObjectRefused } from '../../sim/play.ts';
import { createWorld } from '../../sim/world.ts';

/** One server, one repository. */
const SEED = 9;

const file = (doc: Doc): FileModel => ({ docs: [doc], broken: undefined });
const EAST = ['clusters/east/cluster.yaml', file({ type: 'cluster', name: 'east', env: 'test' })] as const;

test('an agent whose process has ended is away, also while its server has not noticed that', async () => {
  const world = createWorld(SEED);
  const [repository] = world.repositories;
  const [east] = world.agents;
  repository?.commit(new Map([EAST]));
  for (const { start } of [...world.servers, ...world.agents]) start();
  await world.time.advance(30_000);
  expect(isAnyAgentAway(world)).toBe(false);
  east?.life()?.process.kill();
  const views = world.servers.flatMap(({ life }) => life()?.server?.api.clusters() ?? []);
  expect(views.map(({ name, connected }) => ({ name, connected }))).toEqual([{ name: 'east', connected: true }]);
  expect(isAnyAgentAway(world)).toBe(true);
});

test('an agent whose process has ended is away, also if its cluster is not declared', async () => {
  const world = createWorld(SEED);
  const [repository] = world.repositories;
  const undeclared = world.agents.find(({ cluster }) => cluster.name !== 'east');
  repository?.commit(new Map([EAST]));
  for (const { start } of [...world.servers, ...world.agents]) start();
  await world.time.advance(30_000);
  expect(isAnyAgentAway(world)).toBe(false);
  undeclared?.life()?.process.kill();
  expect(isAnyAgentAway(world)).toBe(true);
  undeclared?.start();
  expect(isAnyAgentAway(world)).toBe(false);
});

test('an object that a cluster has refused waits for its next try, also if its cluster is not declared any more', async () => {
  const world = createWorld(SEED);
  const [repository] = world.repositories;
  const [east] = world.agents;
  const object = file({ type: 'object', object: { kind: 'ConfigMap', namespace: 'web', name: 'a', data: '' } });
  repository?.commit(new Map([EAST, ['clusters/east/a.yaml', object]]));
  if (east !== undefined) east.cluster.weather.failingWrites = 1;
  for (const { start } of [...world.servers, ...world.agents]) start();
  await world.time.advance(30_000);
  repository?.commit(new Map([[EAST[0], null]]));
  await world.time.advance(30_000);
  expect(world.servers.flatMap(({ life }) => life()?.server?.api.clusters() ?? [])).toEqual([]);
  expect(isAnyObjectRefused(world)).toBe(true);
  if (east !== undefined) east.cluster.weather.failingWrites = 0;
  expect(east?.cluster.writes).toBe(0);
  await world.time.advance(300_000);
  expect(isAnyObjectRefused(world)).toBe(false);
  expect(east?.cluster.writes).toBe(1);
});
