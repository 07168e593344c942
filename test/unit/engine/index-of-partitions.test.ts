import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';

function world() {
  const graph = createGraph();
  const objects = graph.input<string>('objects');
  const chosen = graph.input<boolean>('chosen');
  const byValue = graph.index('byValue', objects, ({ value }) => [value], { partitions: chosen });
  const counts = graph.counts('counts', byValue);
  const sizes = graph.derive<boolean, number>({
    name: 'sizes',
    from: chosen,
    reads: [byValue],
    compute: ({ key }, read, emit) => emit('', key, read.count(byValue, 'red')),
  });
  return { graph, objects, chosen, byValue, counts, sizes };
}

const namesOf = ({ byValue }: ReturnType<typeof world>, group: string): readonly string[] =>
  byValue.members(group).map(({ partition, key }) => `${partition}/${key}`);

test('an index has only the members of the partitions that its collection names', () => {
  const at = world();
  at.objects.set('east', 'a', 'red');
  at.objects.set('west', 'b', 'red');
  at.graph.commit();
  expect(namesOf(at, 'red')).toEqual([]);
  at.chosen.set('', 'west', true);
  at.graph.commit();
  expect(namesOf(at, 'red')).toEqual(['west/b']);
  expect(at.sizes.get('', 'west')).toBe(1);
  at.objects.set('west', 'c', 'red');
  at.objects.set('east', 'a', 'blue');
  at.graph.commit();
  expect(namesOf(at, 'red')).toEqual(['west/b', 'west/c']);
  expect(namesOf(at, 'blue')).toEqual([]);
  expect(at.sizes.get('', 'west')).toBe(2);
});

test('members leave an index when their partition is not named any more', () => {
  const at = world();
  at.chosen.set('', 'west', true);
  at.objects.set('west', 'b', 'red');
  at.graph.commit();
  expect(at.counts.get('', 'red')).toBe(1);
  at.chosen.delete('', 'west');
  at.graph.commit();
  expect(namesOf(at, 'red')).toEqual([]);
  expect(at.counts.get('', 'red')).toBeUndefined();
  expect(at.graph.dump().find(({ name }) => name === 'byValue')?.maps).toMatchObject({ groups: 0, memberships: 0 });
});

test('while a commit waits, readers see the members of the state before a partition was named', () => {
  const at = world();
  for (const key of ['a', 'b', 'c']) at.objects.set('west', key, 'red');
  at.graph.commit();
  at.chosen.set('', 'west', true);
  const seen: number[] = [];
  while (at.graph.advance(() => true) === undefined) seen.push(at.byValue.count('red'));
  expect(seen.length).toBeGreaterThan(3);
  expect(new Set(seen)).toEqual(new Set([0]));
  at.graph.barrier();
  expect(at.byValue.count('red')).toBe(3);
});

test('an index cannot be limited by a collection whose entries have scopes', () => {
  const graph = createGraph();
  const live = graph.input<string>('live', { live: true });
  const objects = graph.input<string>('objects');
  const make = () => graph.index('byValue', objects, ({ value }) => [value], { partitions: live });
  expect(make).toThrow('"byValue" is limited by "live", whose entries have scopes');
});
