import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';

function counted() {
  const graph = createGraph();
  const input = graph.input<{ readonly n: number }>('input');
  const doubled = graph.derive<{ readonly n: number }, number>({
    name: 'doubled',
    from: input,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, key, value.n * 2),
  });
  return { graph, input, doubled, watch: graph.watch(doubled) };
}

test('nothing shows before the commit', () => {
  const { graph, input, doubled } = counted();
  input.set('p', 'k', { n: 1 });
  expect([input.get('p', 'k'), doubled.size()]).toEqual([undefined, 0]);
  expect(graph.commit()).toEqual({ revision: 1, computed: 1 });
  expect([input.get('p', 'k'), doubled.get('p', 'k'), doubled.size('p')]).toEqual([{ n: 1 }, 2, 1]);
});

test('the last write of a key wins', () => {
  const { graph, input, doubled } = counted();
  input.set('p', 'k', { n: 1 });
  input.delete('p', 'k');
  input.set('p', 'k', { n: 3 });
  input.set('p', 'gone', { n: 1 });
  input.delete('p', 'gone');
  expect(graph.commit().computed).toBe(1);
  expect([...doubled.entries('p')]).toEqual([{ partition: 'p', key: 'k', value: 6 }]);
});

test('there and back inside one commit is no change and no computation', () => {
  const { graph, input, watch } = counted();
  input.set('p', 'k', { n: 1 });
  graph.commit();
  watch.take();
  input.set('p', 'k', { n: 2 });
  input.set('p', 'k', { n: 1 });
  expect(graph.commit().computed).toBe(0);
  expect(watch.take()).toEqual([]);
});

test('an equal value leaves the old object in place, and other provenance only shows in why', () => {
  const { graph, input, doubled, watch } = counted();
  const first = { n: 1 };
  input.set('p', 'k', first, { line: 3 });
  graph.commit();
  watch.take();
  input.set('p', 'k', { n: 1 }, { line: 4 });
  expect(graph.commit().computed).toBe(0);
  expect(input.get('p', 'k')).toBe(first);
  expect(watch.take()).toEqual([]);
  expect(graph.why(doubled, 'p', 'k')?.because[0]?.provenance).toEqual({ line: 4 });
});

test('a drop removes a partition, what was staged for it before, and nothing that is set after it', () => {
  const { graph, input, doubled } = counted();
  input.set('p', 'old', { n: 1 });
  input.set('p', 'kept', { n: 2 });
  input.set('q', 'other', { n: 3 });
  graph.commit();
  input.set('p', 'staged', { n: 4 });
  input.drop('p');
  input.set('p', 'kept', { n: 2 });
  input.set('p', 'new', { n: 5 });
  expect(graph.commit().computed).toBe(1);
  expect([...doubled.entries('p')].map(({ key }) => key).sort()).toEqual(['kept', 'new']);
  expect([...doubled.partitions()].sort()).toEqual(['p', 'q']);
});

test('a value that is undefined is refused', () => {
  const input = createGraph().input<undefined>('input');
  expect(() => input.set('', 'k', undefined)).toThrow('set without a value');
});

test('an own equality decides, and one that throws says no', () => {
  const graph = createGraph();
  const input = graph.input<{ id: number; note: string }>('input', {
    equals: (a, b) => {
      if (b.note === 'throw') throw new Error('no');
      return a.id === b.id;
    },
  });
  const watch = graph.watch(input);
  for (const note of ['first', 'ignored', 'throw']) {
    input.set('', 'k', { id: 1, note });
    graph.commit();
  }
  expect(input.get('', 'k')).toEqual({ id: 1, note: 'throw' });
  expect(watch.take()).toHaveLength(1);
});

test('between two commits of one barrier, a write also replaces the older write that waits for the next one', () => {
  const { graph, input } = counted();
  graph.pause();
  input.set('p', 'k', { n: 1 });
  input.set('q', 'k', { n: 1 });
  input.drop('r');
  graph.resume();
  input.set('p', 'k', { n: 2 });
  input.drop('q');
  input.set('r', 'k', { n: 3 });
  const latest = ['p', 'q', 'r'].map((partition) => input.latest(partition, 'k')?.n);
  expect(latest).toEqual([2, undefined, 3]);
  graph.commit();
  graph.commit();
  expect(['p', 'q', 'r'].map((partition) => input.get(partition, 'k')?.n)).toEqual(latest);
});

test('changes can be drained one by one, in the order in which they happened; what changes meanwhile is drained later', () => {
  const { graph, input } = counted();
  const watch = graph.watch(input);
  for (const key of ['b', 'a', 'c']) input.set('p', key, { n: 1 });
  graph.commit();
  const drained: string[] = [];
  for (const { key, before, after } of watch.drain()) {
    drained.push(`${key} ${before?.n} ${after?.n}`);
    if (key !== 'b') continue;
    input.set('p', 'd', { n: 1 });
    graph.commit();
  }
  expect(drained).toEqual(['b undefined 1', 'a undefined 1', 'c undefined 1']);
  expect([...watch.drain()].map(({ key }) => key)).toEqual(['d']);
  expect(watch.take()).toEqual([]);
});

test('an entry that appears, vanishes and appears again between two looks is one change', () => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  const watch = graph.watch(input);
  for (const value of [1, undefined, 2]) {
    if (value === undefined) input.delete('p', 'a');
    else input.set('p', 'a', value);
    graph.commit();
  }
  expect([...watch.drain()]).toEqual([{ partition: 'p', key: 'a', before: undefined, after: 2 }]);
});
