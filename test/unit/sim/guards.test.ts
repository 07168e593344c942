import { expect, test } from 'vitest';
import { guards } from '../../sim/checkers/guards.ts';
import type { Doc, FileModel } from '../../sim/desired.ts';
import type { SimEvent } from '../../sim/world.ts';
import { worldWithChecker } from './one-repository.ts';

const file = (doc: Doc): FileModel => ({ docs: [doc], broken: undefined });
const objectFile = (name: string): FileModel =>
  file({ type: 'object', object: { kind: 'ConfigMap', namespace: 'web', name, data: '' } });
const placed = (name: string, cluster: string): FileModel =>
  file({ type: 'placement', name, folder: name, names: [cluster], env: undefined });
const named = (folder: string, names: readonly string[]): readonly (readonly [string, FileModel])[] =>
  names.map((name) => [`${folder}/${name}.yaml`, objectFile(`${folder}-${name}`)]);

const policy = (limits: { readonly maxRemovalsPerCluster: number; readonly windowSeconds: number }): FileModel =>
  file({
    type: 'policy',
    ...limits,
    maxRemovalsPerFleet: 50,
    percent: { perCluster: 100, perFleet: 30, fromOwned: 10 },
  });

const BASE: ReadonlyMap<string, FileModel> = new Map([
  ['clusters/east.yaml', file({ type: 'cluster', name: 'east', env: 'test' })],
  ['clusters/north.yaml', file({ type: 'cluster', name: 'north', env: 'test' })],
  ['e.yaml', placed('e', 'east')],
  ['n.yaml', placed('n', 'north')],
  ['policy.yaml', policy({ maxRemovalsPerCluster: 10, windowSeconds: 600 })],
  ...named('e', ['a', 'b', 'c', 'd', 'e']),
]);

test('removals are judged by what was owned when they were decided, not when their count was on record', async () => {
  const { world, found, pass, begin, commit } = worldWithChecker(guards);
  const taken: SimEvent[] = [];
  world.listen((event) => event.type === 'taken' && taken.push(event));

  await begin(BASE);
  taken.length = 0;
  world.memory.down();
  // Five objects are owned: the percentage counts from ten. Six more are owned before the removals leave.
  commit(
    new Map<string, FileModel | null>([
      ...['a', 'b', 'c', 'd'].map((name) => [`e/${name}.yaml`, null] as const),
      ...named('n', ['a', 'b', 'c', 'd', 'e', 'f']),
    ]),
  );
  await pass(8_000);

  expect(taken.map((event) => event.type === 'taken' && event.cluster.name)).toEqual(['north', 'east']);
  expect(taken.flatMap((event) => (event.type === 'taken' ? event.delta.removals : []))).toHaveLength(4);
  expect(found).toEqual([]);
});

test('a removal whose window ended while the source was suspended does not count in the longer window of the next policy', async () => {
  const { world, found, pass, begin, commit } = worldWithChecker(guards);
  const api = () => world.servers[0]?.life()?.server?.api;
  const removals: string[] = [];
  world.listen((event) => event.type === 'taken' && removals.push(...event.delta.removals));
  await begin(new Map([...BASE, ['policy.yaml', policy({ maxRemovalsPerCluster: 3, windowSeconds: 30 })]]));
  commit(new Map(['a', 'b'].map((name) => [`e/${name}.yaml`, null])));
  await pass(2_000);
  await api()?.suspendSource('main', 'a person', '');
  commit(
    new Map([
      ['policy.yaml', policy({ maxRemovalsPerCluster: 2, windowSeconds: 600 })],
      ['e/c.yaml', null],
    ]),
  );
  await pass(31_000);
  expect(removals).toHaveLength(2);
  await api()?.resumeSource('main', 'a person');
  await pass(2_000);
  expect(removals).toHaveLength(3);
  expect(found).toEqual([]);
});

test('the window of removals begins when they are counted, not when they leave after that', async () => {
  const { world, found, pass, begin, commit } = worldWithChecker(guards);
  const departed: { readonly at: number; readonly removals: number }[] = [];
  const counted: number[] = [];
  world.listen((event) => {
    if (event.type === 'log' && event.line.message === 'a delta is sent') counted.push(world.time.elapsed());
    if (event.type === 'departed') departed.push({ at: world.time.elapsed(), removals: event.delta.removals.length });
  });
  await begin(new Map([...BASE, ['policy.yaml', policy({ maxRemovalsPerCluster: 3, windowSeconds: 30 })]]));
  world.memory.down();
  const begun = world.time.elapsed();
  commit(new Map(['a', 'b'].map((name) => [`e/${name}.yaml`, null])));
  await pass(10_000);
  world.memory.up();
  // The store does not answer, so they leave more than half a second after their count.
  expect(departed.at(-1)?.removals).toBe(2);
  expect((departed.at(-1)?.at ?? 0) - (counted.at(-1) ?? 0)).toBeGreaterThan(500);
  await pass(begun + 30_200 - world.time.elapsed());
  commit(
    new Map([
      ['policy.yaml', policy({ maxRemovalsPerCluster: 2, windowSeconds: 600 })],
      ['e/c.yaml', null],
    ]),
  );
  await pass(5_000);
  expect(departed.at(-1)?.removals).toBe(1);
  expect(found).toEqual([]);
});
