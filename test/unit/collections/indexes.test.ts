import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';

/** More of everything than the compact forms hold. */
const many = 100;

function crowd() {
  const graph = createGraph();
  const people = graph.input<{ readonly team: string; readonly age: number }>('people');
  const asked = graph.input<string>('asked');
  const byTeam = graph.index('byTeam', people, ({ value }) => [value.team, 'all']);
  const counts = graph.derive<string, number>({
    name: 'counts',
    from: asked,
    reads: [byTeam],
    compute: ({ key, value }, read, emit) => emit('', key, read.count(byTeam, value)),
  });
  const ages = graph.derive<string, readonly number[]>({
    name: 'ages',
    from: asked,
    reads: [byTeam],
    compute: ({ key, value }, read, emit) =>
      emit(
        '',
        key,
        read.members(byTeam, value).map((one) => one.value.age),
      ),
  });
  return { graph, people, asked, byTeam, counts, ages };
}

test('who counts is woken by the number alone, who reads members by their values too', () => {
  const { graph, people, asked, counts, ages } = crowd();
  asked.set('', 'q', 'red');
  for (const [at, key] of ['a', 'b'].entries()) people.set('', key, { team: 'red', age: at });
  graph.commit();
  people.set('', 'a', { team: 'red', age: 50 });
  expect(graph.commit().computed).toBe(1);
  expect([counts.get('', 'q'), ages.get('', 'q')]).toEqual([2, [50, 1]]);
  people.delete('', 'a');
  people.set('', 'c', { team: 'red', age: 3 });
  expect(graph.commit().computed).toBe(1);
  people.set('', 'c', { team: 'blue', age: 3 });
  expect(graph.commit().computed).toBe(2);
  expect(counts.get('', 'q')).toBe(1);
  people.set('', 'd', { team: 'green', age: 3 });
  expect(graph.commit().computed).toBe(0);
});

test('members are in canonical order however many there are, and follow every change', () => {
  const { graph, people, asked, byTeam, ages } = crowd();
  const keyOf = (at: number): string => `k${String((at * 37) % many).padStart(3, '0')}`;
  asked.set('', 'q', 'all');
  for (let at = 0; at < many; at += 1) people.set('', keyOf(at), { team: 'red', age: (at * 37) % many });
  graph.commit();
  const ordered = Array.from({ length: many }, (_none, at) => at);
  expect(ages.get('', 'q')).toEqual(ordered);
  expect(byTeam.members('all').map(({ value }) => value.age)).toEqual(ordered);
  people.set('', 'k020', { team: 'red', age: 2000 });
  graph.commit();
  expect(ages.get('', 'q')?.[20]).toBe(2000);
  expect(byTeam.members('red')[20]?.value.age).toBe(2000);
  people.set('', 'k020', { team: 'red', age: 20 });
  people.delete('', 'k050');
  people.set('', 'k010', { team: 'blue', age: 1000 });
  graph.commit();
  const changed = ordered.filter((age) => age !== 50).map((age) => (age === 10 ? 1000 : age));
  expect(ages.get('', 'q')).toEqual(changed);
  expect([byTeam.count('red'), byTeam.count('blue'), [...byTeam.groups()].sort()]).toEqual([
    many - 2,
    1,
    ['all', 'blue', 'red'],
  ]);
});

test('many readers of one entry, many reads of one computation, and nothing left behind', () => {
  const graph = createGraph();
  const items = graph.input<number>('items');
  const shared = graph.input<number>('shared');
  const product = graph.derive<number, number>({
    name: 'product',
    from: items,
    reads: [shared],
    compute: ({ key, value }, read, emit) => emit('', key, value * (read.get(shared, '', 'factor') ?? 1)),
  });
  const totals = graph.derive<number, number>({
    name: 'totals',
    from: shared,
    reads: [product],
    compute: ({ key }, read, emit) => {
      let total = 0;
      for (let at = 0; at < many; at += 1) {
        total += read.get(product, '', `k${at}`) ?? 0;
        total += read.get(product, '', `k${at % 3}`) === undefined ? 0 : 0;
      }
      emit('', key, total);
    },
  });
  for (let at = 0; at < many; at += 1) items.set('', `k${at}`, at);
  shared.set('', 'factor', 2);
  graph.commit();
  expect(totals.get('', 'factor')).toBe(many * (many - 1));
  shared.set('', 'factor', 3);
  expect(graph.commit().computed).toBe(many + 1);
  items.set('', 'k99', 0);
  expect(graph.commit().computed).toBe(2);
  items.drop('');
  shared.drop('');
  graph.commit();
  const sizes = graph.dump().flatMap(({ maps }) => Object.values(maps));
  expect(sizes.every((size) => size === 0)).toBe(true);
});

test('the sizes of groups are a collection: each group is one entry, and costs nothing while its size stays', () => {
  const { graph, people, byTeam } = crowd();
  const sizes = graph.counts('sizes', byTeam);
  const doubled = graph.derive<number, number>({
    name: 'doubled',
    from: sizes,
    keys: (key) => key !== 'all',
    compute: ({ key, value }, _read, emit) => emit('', key, 2 * value),
  });
  const found = () => [...doubled.entries('')].map(({ key, value }) => `${key} ${value}`).sort();
  for (const [at, key] of ['a', 'b', 'c'].entries()) people.set('', key, { team: at < 2 ? 'red' : 'blue', age: at });
  graph.commit();
  expect([found(), sizes.get('', 'all'), sizes.scopeOf('', 'all')]).toEqual([['blue 2', 'red 4'], 3, []]);
  people.set('', 'a', { team: 'red', age: 50 });
  expect(graph.commit().computed).toBe(0);
  people.set('', 'c', { team: 'red', age: 2 });
  graph.commit();
  expect(found()).toEqual(['red 6']);
  for (const key of ['a', 'b', 'c']) people.delete('', key);
  graph.commit();
  expect([found(), sizes.size()]).toEqual([[], 0]);
});

test('the size of a group comes from its members, and its members act on it', () => {
  const { graph, people, byTeam } = crowd();
  const sizes = graph.counts('sizes', byTeam);
  for (const key of ['a', 'b']) people.set('', key, { team: 'red', age: 1 }, { by: key });
  graph.commit();
  expect(graph.why(sizes, '', 'red')?.because.map(({ key }) => key)).toEqual(['a', 'b']);
  expect(graph.impact(people, '', 'a').filter(({ collection }) => collection === 'sizes')).toEqual([
    { collection: 'sizes', partition: '', key: 'all' },
    { collection: 'sizes', partition: '', key: 'red' },
  ]);
});

test('sizes can be declared over an index that has members already', () => {
  const { graph, people, byTeam } = crowd();
  people.set('', 'a', { team: 'red', age: 1 });
  graph.commit();
  const sizes = graph.counts('sizes', byTeam);
  expect(sizes.get('', 'red')).toBe(1);
  expect(() => graph.counts('sizes', byTeam)).toThrow('there already is a collection or index "sizes"');
});
