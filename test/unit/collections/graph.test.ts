import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';

test('smoke', () => {
  const g = createGraph();
  const hosts = g.input<{ clusters: string[]; to: string[] }>('hosts');
  const services = g.input<{ ep: string }>('services', { live: true });
  const byHost = g.index('byHost', services, ({ key }) => [key]);
  const merged = g.derive<{ clusters: string[]; to: string[] }, { eps: string[] }>({
    name: 'merged',
    from: hosts,
    reads: [byHost],
    scope: ({ value }) => value.clusters,
    compute: ({ key }, read, emit) => emit('', key, { eps: read.members(byHost, key).map((m) => m.value.ep) }),
  });
  const out = g.derive<{ eps: string[] }, { eps: string[] }>({
    name: 'out',
    from: merged,
    reads: [hosts],
    compute: ({ key, value }, read, emit) => {
      for (const c of read.get(hosts, '', key)?.to ?? []) emit(c, key, value);
    },
  });
  const w = g.watch(out);
  hosts.set('', 'a', { clusters: ['c1', 'c2'], to: ['x', 'y'] });
  services.set('c1', 'a', { ep: '1' }, { line: 1 });
  services.set('c2', 'a', { ep: '2' });
  services.set('c3', 'a', { ep: '3' });
  expect(g.commit()).toEqual({ revision: 1, computed: 2 });
  expect(w.take()).toEqual([
    { partition: 'x', key: 'a', before: undefined, after: { eps: ['1', '2'] } },
    { partition: 'y', key: 'a', before: undefined, after: { eps: ['1', '2'] } },
  ]);
  expect(out.scopeOf('x', 'a')).toEqual(['c1', 'c2']);
  services.set('c3', 'a', { ep: '4' });
  g.commit();
  expect(w.take()).toEqual([]);
  services.set('c2', 'a', { ep: '4' });
  g.commit();
  expect(w.take()).toHaveLength(2);
  hosts.drop('');
  for (const c of ['c1', 'c2', 'c3']) services.drop(c);
  g.commit();
  for (const n of g.dump()) for (const [k, v] of Object.entries(n.maps)) expect([n.name, k, v]).toEqual([n.name, k, 0]);
});
