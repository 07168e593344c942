import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';

interface Wish {
  readonly keys: readonly string[];
  readonly value: string;
}

function wishes() {
  const graph = createGraph();
  const input = graph.input<Wish>('input');
  const granted = graph.derive<Wish, string>({
    name: 'granted',
    from: input,
    compute: ({ value: { keys, value } }, _read, emit) => {
      for (const key of keys) emit('out', key, value);
    },
  });
  const failuresOf = (): Record<string, string> =>
    Object.fromEntries([...granted.failures.entries('')].map(({ key, value }) => [key, value.message]));
  return { graph, input, granted, failuresOf };
}

test('of two primaries that emit one key the first by address has it, whichever came first', () => {
  const { graph, input, granted, failuresOf } = wishes();
  input.set('', 'b', { keys: ['x', 'only b'], value: 'of b' });
  graph.commit();
  expect(granted.get('out', 'x')).toBe('of b');
  input.set('', 'a', { keys: ['x'], value: 'of a' });
  graph.commit();
  expect([granted.get('out', 'x'), granted.get('out', 'only b')]).toEqual(['of a', 'of b']);
  expect(failuresOf()).toEqual({ b: '"out/x" is already given by "a"' });
});

test('a conflict heals when the winner goes, changes its mind, or fails', () => {
  const { graph, input, granted, failuresOf } = wishes();
  for (const key of ['a', 'b', 'c']) input.set('', key, { keys: ['x', 'y'], value: `of ${key}` });
  graph.commit();
  expect(failuresOf()).toEqual({
    b: '"out/x" is already given by "a", and 1 more',
    c: '"out/x" is already given by "a", and 1 more',
  });
  input.set('', 'a', { keys: ['y'], value: 'of a' });
  graph.commit();
  expect(granted.get('out', 'x')).toBe('of b');
  expect(failuresOf()).toEqual({
    b: '"out/y" is already given by "a"',
    c: '"out/x" is already given by "b", and 1 more',
  });
  input.delete('', 'a');
  input.delete('', 'b');
  graph.commit();
  expect([granted.get('out', 'x'), granted.get('out', 'y')]).toEqual(['of c', 'of c']);
  expect(failuresOf()).toEqual({});
});

test('a key that moves from one primary to another with its value is no change', () => {
  const { graph, input, granted } = wishes();
  const watch = graph.watch(granted);
  input.set('', 'a', { keys: ['x'], value: 'same' });
  graph.commit();
  watch.take();
  input.delete('', 'a');
  input.set('', 'b', { keys: ['x'], value: 'same' });
  graph.commit();
  expect(watch.take()).toEqual([]);
});

test('one primary that emits a key twice fails', () => {
  const { graph, input, granted, failuresOf } = wishes();
  input.set('', 'a', { keys: ['x', 'x'], value: 'a' });
  input.set('', 'b', { keys: [...Array(40).keys(), 7].map(String), value: 'b' });
  graph.commit();
  expect(granted.size()).toBe(0);
  expect(failuresOf()).toEqual({ a: '"out/x" was emitted twice', b: '"out/7" was emitted twice' });
});

test('gathered contributions are in order of their primaries, and those that stay are the same objects', () => {
  const graph = createGraph();
  const input = graph.input<readonly string[]>('input');
  const lists = graph.gather<readonly string[], string>({
    name: 'lists',
    from: input,
    compute: ({ value }, _read, emit) => {
      for (const one of value) emit('', 'list', one);
    },
  });
  input.set('p', 'b', ['3', '4']);
  input.set('p', 'a', ['2']);
  input.set('o', 'z', ['1']);
  graph.commit();
  const before = lists.get('', 'list');
  expect(before?.map(({ value }) => value)).toEqual(['1', '2', '3', '4']);
  expect(before?.[0]?.from).toEqual({ partition: 'o', key: 'z' });
  input.set('p', 'a', ['5']);
  graph.commit();
  const after = lists.get('', 'list');
  expect(after?.map(({ value }) => value)).toEqual(['1', '5', '3', '4']);
  expect(after?.[3]).toBe(before?.[3]);
  input.drop('p');
  input.drop('o');
  graph.commit();
  expect(lists.get('', 'list')).toBeUndefined();
});
