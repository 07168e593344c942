import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';

function fleet() {
  const graph = createGraph();
  const hosts = graph.input<readonly string[]>('hosts');
  const services = graph.input<number>('services', { live: true });
  const rules = graph.input<number>('rules');
  const byHost = graph.index('byHost', services, ({ key }) => [key]);
  const merged = graph.derive<readonly string[], number>({
    name: 'merged',
    from: hosts,
    reads: [byHost, rules],
    scope: ({ value }) => value,
    compute: ({ key }, read, emit) => {
      const factor = read.get(rules, '', key) ?? 1;
      emit('', key, factor * read.members(byHost, key).reduce((sum, { value }) => sum + value, 0));
    },
  });
  const outputs = graph.derive<number, number>({
    name: 'outputs',
    from: merged,
    compute: ({ key, value }, _read, emit) => {
      for (const cluster of ['x', 'y']) emit(cluster, key, value);
    },
  });
  hosts.set('', 'web', ['west', 'east'], { path: 'hosts.yaml' });
  for (const cluster of ['west', 'north', 'east']) services.set(cluster, 'web', 1, { agent: cluster });
  graph.commit();
  return { graph, hosts, services, rules, merged, outputs };
}

test('why walks from an output to its inputs, in canonical order, with what is absent and without what is outside', () => {
  const { graph, outputs } = fleet();
  expect(graph.why(outputs, 'x', 'web')).toEqual({
    collection: 'outputs',
    partition: 'x',
    key: 'web',
    because: [
      {
        collection: 'merged',
        partition: '',
        key: 'web',
        because: [
          { collection: 'hosts', partition: '', key: 'web', provenance: { path: 'hosts.yaml' }, because: [] },
          { collection: 'rules', partition: '', key: 'web', absent: true, because: [] },
          { collection: 'services', partition: 'east', key: 'web', provenance: { agent: 'east' }, because: [] },
          { collection: 'services', partition: 'west', key: 'web', provenance: { agent: 'west' }, because: [] },
        ],
      },
    ],
  });
  expect(graph.why(outputs, 'x', 'missing')).toBeUndefined();
});

test('impact walks forward, from what is not there too', () => {
  const { graph, services, rules } = fleet();
  const all = [
    { collection: 'merged', partition: '', key: 'web' },
    { collection: 'outputs', partition: 'x', key: 'web' },
    { collection: 'outputs', partition: 'y', key: 'web' },
  ];
  expect(graph.impact(services, 'east', 'web')).toEqual(all);
  expect(graph.impact(rules, '', 'web')).toEqual(all);
  expect(graph.impact(rules, '', 'missing')).toEqual([]);
});

test('a gathered entry is there because of all its contributors, a failure because of what was read', () => {
  const graph = createGraph();
  const input = graph.input<number>('input');
  const gathered = graph.gather<number, number>({
    name: 'gathered',
    from: input,
    compute: ({ value }, _read, emit) => {
      if (value < 0) throw new Error('negative');
      emit('', 'all', value);
    },
  });
  for (const [at, key] of ['b', 'a', 'c'].entries()) input.set('', key, at === 2 ? -1 : at);
  graph.commit();
  expect(graph.why(gathered, '', 'all')?.because.map(({ key }) => key)).toEqual(['a', 'b']);
  expect(graph.why(gathered.failures, '', 'c')?.because.map(({ key }) => key)).toEqual(['c']);
});
