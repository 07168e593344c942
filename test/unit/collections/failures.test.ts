import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';

test('a throw takes back all that its key gave, and heals with its input', () => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  const limit = graph.input<number>('limit');
  const checked = graph.derive<number, number>({
    name: 'checked',
    from: input,
    reads: [limit],
    compute: ({ key, value }, read, emit) => {
      emit('', key, value);
      const most = read.get(limit, '', 'most') ?? 10;
      if (value > most) throw new Error(`${value} is more than ${most}`);
      emit('more', key, value);
    },
  });
  for (const [at, key] of ['a', 'b', 'c'].entries()) input.set('', key, at * 6);
  graph.commit();
  expect([checked.get('', 'b'), checked.get('', 'c'), checked.get('more', 'c')]).toEqual([6, undefined, undefined]);
  expect(checked.failures.get('', 'c')).toEqual({ message: '12 is more than 10' });
  limit.set('', 'most', 5);
  graph.commit();
  expect([checked.size(), checked.failures.size()]).toEqual([2, 2]);
  limit.set('', 'most', 100);
  graph.commit();
  expect([checked.size(), checked.failures.size()]).toEqual([6, 0]);
});

test('failures are a collection like any other', () => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  const strict = graph.derive<number, number>({
    name: 'strict',
    from: input,
    compute: ({ value }) => {
      if (value < 0) throw new Error(`below zero: ${value}`);
    },
  });
  const reports = graph.derive<{ message: string }, string>({
    name: 'reports',
    from: strict.failures,
    compute: ({ key, value }, _read, emit) => emit('', key, value.message),
  });
  const watch = graph.watch(strict.failures);
  input.set('', 'k', -1);
  graph.commit();
  input.set('', 'k', -2);
  graph.commit();
  expect(reports.get('', 'k')).toBe('below zero: -2');
  expect(watch.take()).toEqual([{ partition: '', key: 'k', before: undefined, after: { message: 'below zero: -2' } }]);
  expect(graph.impact(input, '', 'k').map(({ collection }) => collection)).toEqual(['reports', 'strict/failures']);
  input.set('', 'k', 1);
  graph.commit();
  expect([reports.size(), strict.failures.size()]).toEqual([0, 0]);
});

test('a throw in scope or groups stays with its key', () => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  const scoped = graph.derive<number, number>({
    name: 'scoped',
    from: input,
    scope: ({ value }) => {
      if (value === 0) throw new Error('no scope');
      return ['c1'];
    },
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  const index = graph.index('index', input, ({ key, value }) => {
    if (value === 0) throw new Error(`no groups for ${key}`);
    return ['all'];
  });
  input.set('', 'good', 1);
  input.set('', 'bad', 0);
  graph.commit();
  expect([scoped.get('', 'good'), scoped.get('', 'bad'), index.count('all')]).toEqual([1, undefined, 1]);
  expect(scoped.failures.get('', 'bad')).toEqual({ message: 'no scope' });
  expect(index.failures.get('', 'bad')).toEqual({ message: 'no groups for bad' });
  input.set('', 'bad', 2);
  graph.commit();
  expect([scoped.failures.size(), index.failures.size(), index.count('all')]).toEqual([0, 0, 2]);
});

test.each([
  ['a string', 'plain', 'plain'],
  ['nothing', undefined, 'undefined'],
  ['an empty message', new Error(''), 'failed without a message'],
  ['something without text', Object.create(null), 'failed with something that cannot be shown'],
])('whatever is thrown becomes a message: %s', (_name, thrown, message) => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  const derived = graph.derive<number, number>({
    name: 'derived',
    from: input,
    compute: () => {
      throw thrown;
    },
  });
  input.set('', 'k', 1);
  graph.commit();
  expect(derived.failures.get('', 'k')).toEqual({ message });
});
