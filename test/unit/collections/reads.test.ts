import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import type { Emit, Reader } from '../../../src/engine/collections/types.ts';

test('reading what is absent is a dependency', () => {
  const graph = createGraph();
  const from = graph.input<number>('from');
  const other = graph.input<number>('other');
  const sum = graph.derive<number, number>({
    name: 'sum',
    from,
    reads: [other],
    compute: ({ key, value }, read, emit) => emit('', key, value + (read.get(other, 'somewhere', 'else') ?? 0)),
  });
  from.set('', 'k', 1);
  graph.commit();
  expect(sum.get('', 'k')).toBe(1);
  expect([...other.partitions()]).toEqual([]);
  other.set('somewhere', 'else', 10);
  expect(graph.commit().computed).toBe(1);
  expect(sum.get('', 'k')).toBe(11);
  other.delete('somewhere', 'else');
  graph.commit();
  expect(sum.get('', 'k')).toBe(1);
});

test('only what was read in the last computation wakes it', () => {
  const graph = createGraph();
  const from = graph.input<string>('from');
  const other = graph.input<number>('other');
  graph.derive<string, number>({
    name: 'follow',
    from,
    reads: [other],
    compute: ({ key, value }, read, emit) => emit('', key, read.get(other, '', value) ?? 0),
  });
  from.set('', 'k', 'a');
  graph.commit();
  from.set('', 'k', 'b');
  graph.commit();
  other.set('', 'a', 1);
  expect(graph.commit().computed).toBe(0);
  other.set('', 'b', 1);
  expect(graph.commit().computed).toBe(1);
});

test('a diamond is computed once', () => {
  const graph = createGraph();
  const top = graph.input<number>('top');
  const [left, right] = ['left', 'right'].map((name) =>
    graph.derive<number, number>({ name, from: top, compute: ({ key, value }, _read, emit) => emit('', key, value) }),
  );
  const seen: string[] = [];
  graph.derive<number, number>({
    name: 'bottom',
    from: left as NonNullable<typeof left>,
    reads: [right as NonNullable<typeof right>],
    compute: ({ key, value }, read, emit) => {
      seen.push(`${value} ${read.get(right as NonNullable<typeof right>, '', key)}`);
      emit('', key, value);
    },
  });
  top.set('', 'k', 1);
  graph.commit();
  top.set('', 'k', 2);
  expect(graph.commit().computed).toBe(3);
  expect(seen).toEqual(['1 1', '2 2']);
});

test('an equal result stops propagation', () => {
  const graph = createGraph();
  const top = graph.input<number>('top');
  const parity = graph.derive<number, { odd: boolean }>({
    name: 'parity',
    from: top,
    compute: ({ key, value }, _read, emit) => emit('', key, { odd: value % 2 === 1 }),
  });
  graph.derive<{ odd: boolean }, string>({ name: 'text', from: parity, compute: () => {} });
  top.set('', 'k', 1);
  expect(graph.commit().computed).toBe(2);
  top.set('', 'k', 3);
  expect(graph.commit().computed).toBe(1);
});

test('undeclared reads, the graph itself, and readers out of place are clear errors of that key', () => {
  const graph = createGraph();
  const from = graph.input<number>('from');
  const other = graph.input<number>('other');
  const groups = graph.index('groups', other, () => ['all']);
  let kept: { read: Reader; emit: Emit<number> } | undefined;
  const bad = graph.derive<number, number>({
    name: 'bad',
    from,
    compute: ({ key }, read, emit) => {
      if (key === 'collection') read.get(other, '', 'k');
      if (key === 'index') read.members(groups, 'all');
      if (key === 'outside') other.get('', 'k');
      if (key === 'write') other.set('', 'k', 1);
      if (key === 'empty') emit('', key, undefined as never);
      kept = { read, emit };
    },
  });
  for (const key of ['collection', 'index', 'outside', 'write', 'empty', 'fine']) from.set('', key, 1);
  graph.commit();
  const failures = [...bad.failures.entries('')].map(({ key, value }) => `${key}: ${value.message}`).sort();
  expect(failures).toEqual([
    'collection: "bad" reads the collection "other", which is not among its declared reads',
    'empty: "empty" was emitted without a value',
    'index: "bad" reads the index "groups", which is not among its declared reads',
    'outside: the graph was used inside a computation: read through the reader',
    'write: the graph was used inside a computation: read through the reader',
  ]);
  expect(() => kept?.read.get(from, '', 'fine')).toThrow('outside its computation');
  expect(() => kept?.emit('', 'late', 1)).toThrow('outside its computation');
});

test('declarations that cannot be are refused', () => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  const stranger = createGraph().input<number>('stranger');
  const compute = (): void => {};
  expect(() => graph.input('input')).toThrow('there already is a collection or index "input"');
  expect(() => graph.derive({ name: 'a', from: stranger, compute })).toThrow('not a collection of this graph');
  expect(() => graph.derive({ name: 'b', from: input, reads: [stranger], compute })).toThrow('not of this graph');
  expect(() => graph.join({ name: 'c', left: input, right: input, compute })).toThrow('with itself');
});

test('what is declared after commits starts with what is there', () => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  input.set('', 'k', 1);
  graph.commit();
  const byKey = graph.index('byKey', input, ({ key }) => [key]);
  const copy = graph.derive<number, number>({
    name: 'copy',
    from: input,
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  graph.commit();
  expect([byKey.count('k'), copy.get('', 'k')]).toEqual([1, 1]);
});

test('a join visits every address that one side has, once', () => {
  const graph = createGraph();
  const left = graph.input<number>('left');
  const right = graph.input<number>('right');
  const both = graph.join<number, number, string>({
    name: 'both',
    left,
    right,
    compute: ({ partition, key, left: one, right: other }, _read, emit) => emit(partition, key, `${one} ${other}`),
  });
  left.set('', 'a', 1);
  left.set('', 'b', 1);
  right.set('', 'b', 2);
  right.set('', 'c', 2);
  expect(graph.commit().computed).toBe(3);
  expect(['a', 'b', 'c'].map((key) => both.get('', key))).toEqual(['1 undefined', '1 2', 'undefined 2']);
  left.drop('');
  expect(graph.commit().computed).toBe(1);
  expect(['a', 'b', 'c'].map((key) => both.get('', key))).toEqual([undefined, 'undefined 2', 'undefined 2']);
});
