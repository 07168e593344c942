import { expect, test } from 'vitest';
import { lastingHolds } from '../../sim/checkers/lasting-holds.ts';
import type { Doc, FileModel } from '../../sim/desired.ts';
import type { SimEvent } from '../../sim/world.ts';
import { worldWithChecker } from './one-repository.ts';

const NAMES = ['a', 'b', 'c', 'd'];

const file = (doc: Doc): FileModel => ({ docs: [doc], broken: undefined });
const objectFile = (name: string): FileModel =>
  file({ type: 'object', object: { kind: 'ConfigMap', namespace: 'web', name, data: '' } });
const pathOf = (name: string): string => `apps/${name}.yaml`;

const BASE: ReadonlyMap<string, FileModel> = new Map([
  ['clusters/east.yaml', file({ type: 'cluster', name: 'east', env: 'test' })],
  ['apps.yaml', file({ type: 'placement', name: 'apps', folder: 'apps', names: ['east'], env: undefined })],
  [
    'policy.yaml',
    file({
      type: 'policy',
      maxRemovalsPerCluster: 2,
      maxRemovalsPerFleet: 50,
      windowSeconds: 600,
      percent: undefined,
    }),
  ],
  ...NAMES.map((name) => [pathOf(name), objectFile(name)] as const),
]);

test('a removal that waits for its count to be on record is not held by what a later commit removes', async () => {
  const { world, found, pass, begin, commit } = worldWithChecker(lastingHolds);
  const events: SimEvent[] = [];
  world.listen((event) => events.push(event));
  const remove = async (...names: readonly string[]): Promise<void> => {
    commit(new Map(names.map((name) => [pathOf(name), null])));
    await pass(300);
  };

  await begin(BASE);
  events.length = 0;
  world.memory.down();
  await remove('a');
  await remove('b', 'c');
  await pass(5_000);

  const order = events.map(({ type }) => type).filter((type) => type === 'observed' || type === 'departed');
  expect(order.slice(0, 3)).toEqual(['observed', 'observed', 'departed']);
  const removed = events.flatMap((event) => (event.type === 'taken' ? event.delta.removals : []));
  expect(removed).toEqual(['/ConfigMap/web/a']);
  const held = world.servers.flatMap(({ life }) => life()?.server?.api.removals() ?? []);
  expect(held.flatMap(({ removals }) => removals.map(({ object }) => object))).toEqual([
    'ConfigMap/web/b',
    'ConfigMap/web/c',
  ]);
  expect(found).toEqual([]);
});
