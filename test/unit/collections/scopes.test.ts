import { expect, test } from 'vitest';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import type { Contribution } from '../../../src/engine/collections/types.ts';

/** Hosts name the clusters that they may look at; services are live. */
function fleet() {
  const graph = createGraph();
  const hosts = graph.input<readonly string[]>('hosts');
  const services = graph.input<number>('services', { live: true });
  const byHost = graph.index('byHost', services, ({ key }) => [key]);
  return { graph, hosts, services, byHost };
}

test('reads of live state show what is inside the declared scope, and nothing outside wakes the reader', () => {
  const { graph, hosts, services, byHost } = fleet();
  const seen = graph.derive<readonly string[], unknown>({
    name: 'seen',
    from: hosts,
    reads: [services, byHost],
    scope: ({ value }) => value,
    compute: ({ key }, read, emit) =>
      emit('', key, {
        east: read.get(services, 'east', key),
        west: read.get(services, 'west', key),
        members: read.members(byHost, key).map(({ value }) => value),
        count: read.count(byHost, key),
      }),
  });
  hosts.set('', 'web', ['east', 'north', 'east']);
  services.set('east', 'web', 1);
  services.set('west', 'web', 2);
  graph.commit();
  expect(seen.get('', 'web')).toEqual({ east: 1, west: undefined, members: [1], count: 1 });
  expect(seen.scopeOf('', 'web')).toEqual(['east', 'north']);
  services.drop('east');
  graph.commit();
  expect(seen.scopeOf('', 'web')).toEqual(['east', 'north']);
});

test('the same set of clusters is the same object, also after a recomputation', () => {
  const { graph, hosts, services } = fleet();
  const derived = graph.derive<readonly string[], number>({
    name: 'derived',
    from: hosts,
    reads: [services],
    scope: ({ value }) => value,
    compute: ({ key }, read, emit) => emit('', key, read.get(services, 'east', key) ?? 0),
  });
  hosts.set('', 'a', ['west', 'east']);
  hosts.set('', 'b', ['east', 'west']);
  graph.commit();
  const scope = derived.scopeOf('', 'a');
  expect(derived.scopeOf('', 'b')).toBe(scope);
  services.set('east', 'a', 5);
  graph.commit();
  expect(derived.scopeOf('', 'a')).toBe(scope);
});

test('scopes go along the graph: a live primary brings its cluster, a join both sides', () => {
  const { graph, hosts, services } = fleet();
  const perCluster = graph.derive<number, number>({
    name: 'perCluster',
    from: services,
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  const wide = graph.derive<number, number>({
    name: 'wide',
    from: perCluster,
    scope: () => ['north'],
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  const both = graph.join<number, readonly string[], number>({
    name: 'both',
    left: wide,
    right: hosts,
    compute: ({ key }, _read, emit) => emit('', key, 1),
  });
  services.set('east', 'web', 1);
  hosts.set('', 'web', []);
  hosts.set('', 'plain', []);
  graph.commit();
  expect(perCluster.scopeOf('', 'web')).toEqual(['east']);
  expect(wide.scopeOf('', 'web')).toEqual(['east', 'north']);
  expect(both.scopeOf('', 'web')).toEqual(['east', 'north']);
  expect(both.scopeOf('', 'plain')).toEqual([]);
  expect(both.scopeOf('', 'missing')).toBeUndefined();
});

test('a derived entry is read only inside the scope, a gathered list in part', () => {
  const { graph, hosts, services } = fleet();
  const doubled = graph.derive<number, number>({
    name: 'doubled',
    from: services,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, key, value * 2),
  });
  const lists = graph.gather<number, number>({
    name: 'lists',
    from: services,
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  const byName = graph.index('byName', doubled, ({ key }) => [key]);
  const seen = graph.derive<readonly string[], unknown>({
    name: 'seen',
    from: hosts,
    reads: [doubled, lists, byName],
    scope: ({ value }) => value,
    compute: ({ key }, read, emit) =>
      emit('', key, {
        doubled: read.get(doubled, 'west', key),
        listed: read.get<readonly Contribution<number>[]>(lists, '', key)?.map(({ value }) => value),
        members: read.members(byName, key).map(({ value }) => value),
        scope: read.scopeOf(doubled, 'west', key),
      }),
  });
  hosts.set('', 'web', ['east', 'north']);
  for (const [at, cluster] of ['east', 'north', 'west'].entries()) services.set(cluster, 'web', at + 1);
  graph.commit();
  expect(seen.get('', 'web')).toEqual({ listed: [1, 2], members: [2, 4] });
  expect(lists.scopeOf('', 'web')).toEqual(['east', 'north', 'west']);
  hosts.set('', 'web', ['west']);
  graph.commit();
  expect(seen.get('', 'web')).toEqual({ doubled: 6, listed: [3], members: [6], scope: ['west'] });
});

test('also the scope of an entry is told only as far as the reader can see', () => {
  const { graph, hosts, services } = fleet();
  const lists = graph.gather<number, number>({
    name: 'lists',
    from: services,
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  const seen = graph.derive<readonly string[], unknown>({
    name: 'seen',
    from: hosts,
    reads: [lists],
    scope: ({ value }) => value,
    compute: ({ key }, read, emit) => emit('', key, read.scopeOf(lists, '', key)),
  });
  hosts.set('', 'web', ['west', 'east', 'south']);
  for (const cluster of ['west', 'north', 'east']) services.set(cluster, 'web', 1);
  graph.commit();
  expect(seen.get('', 'web')).toEqual(['east', 'west']);
});

test('of a contested key a reader sees the first giver inside its scope, and is told when that one changes', () => {
  const { graph, hosts, services } = fleet();
  const contested = graph.derive<number, number>({
    name: 'contested',
    from: services,
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  const seen = graph.derive<readonly string[], number>({
    name: 'seen',
    from: hosts,
    reads: [contested],
    scope: ({ value }) => value,
    compute: ({ key }, read, emit) => emit('', key, read.get(contested, '', key) ?? -1),
  });
  hosts.set('', 'web', ['west']);
  services.set('east', 'web', 1);
  services.set('west', 'web', 2);
  graph.commit();
  expect([contested.get('', 'web'), seen.get('', 'web')]).toEqual([1, 2]);
  services.set('west', 'web', 3);
  graph.commit();
  expect([contested.get('', 'web'), seen.get('', 'web')]).toEqual([1, 3]);
  services.delete('west', 'web');
  graph.commit();
  expect([contested.get('', 'web'), seen.get('', 'web')]).toEqual([1, -1]);
});

test('a change of the scope alone reaches readers and watches', () => {
  const { graph, hosts } = fleet();
  const constant = graph.derive<readonly string[], string>({
    name: 'constant',
    from: hosts,
    scope: ({ value }) => value,
    compute: ({ key }, _read, emit) => emit('', key, 'same'),
  });
  const copy = graph.derive<string, string>({
    name: 'copy',
    from: constant,
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
  const watch = graph.watch(copy);
  hosts.set('', 'web', ['east']);
  graph.commit();
  watch.take();
  hosts.set('', 'web', ['west']);
  graph.commit();
  expect(copy.scopeOf('', 'web')).toEqual(['west']);
  expect(watch.take()).toEqual([{ partition: '', key: 'web', before: 'same', after: 'same' }]);
});

test('a key that moves to a giver with the same scope is no change for its readers', () => {
  const { graph, hosts } = fleet();
  const given = graph.derive<readonly string[], string>({
    name: 'given',
    from: hosts,
    scope: ({ value }) => value,
    compute: (_entry, _read, emit) => emit('', 'one key', 'same'),
  });
  graph.derive<string, string>({ name: 'reader', from: given, compute: () => {} });
  hosts.set('', 'a', ['east', 'west']);
  graph.commit();
  const scope = given.scopeOf('', 'one key');
  hosts.delete('', 'a');
  hosts.set('', 'b', ['east', 'west']);
  expect(graph.commit().computed).toBe(1);
  expect(given.scopeOf('', 'one key')).toBe(scope);
});

test('who reads live state must say which, and not from live state', () => {
  const { graph, hosts, services, byHost } = fleet();
  const compute = (): void => {};
  expect(() => graph.derive({ name: 'a', from: hosts, reads: [byHost], compute })).toThrow(
    '"a" reads "byHost", which comes from live state: it must declare a scope',
  );
  const late = graph.derive<readonly string[], number>({
    name: 'late',
    from: hosts,
    reads: [services],
    scope: ({ key }, read) => (read.get(services, 'east', key) === undefined ? [] : ['east']),
    compute,
  });
  hosts.set('', 'web', []);
  graph.commit();
  expect(late.failures.get('', 'web')?.message).toContain('it must come from desired state alone');
});

test('scopes are let go with the entries that had them', () => {
  const { graph, hosts, services, byHost } = fleet();
  graph.derive<readonly string[], number>({
    name: 'derived',
    from: hosts,
    reads: [byHost],
    scope: ({ value }) => value,
    compute: ({ key }, read, emit) => emit('', key, read.count(byHost, key)),
  });
  const size = (): number => graph.dump().find(({ kind }) => kind === 'graph')?.maps.scopes ?? -1;
  const many = Array.from({ length: 30 }, (_none, at) => `cluster-${at}`);
  hosts.set('', 'web', many);
  for (const cluster of many) services.set(cluster, 'web', 1);
  graph.commit();
  expect(size()).toBe(31);
  hosts.set('', 'web', many.slice(1));
  services.drop('cluster-0');
  graph.commit();
  expect(size()).toBe(30);
  hosts.drop('');
  for (const cluster of many) services.drop(cluster);
  graph.commit();
  expect(size()).toBe(0);
});

test('a collection that sees everything ends the scopes: its entries have none, and any cluster wakes it', () => {
  const { graph, hosts, services, byHost } = fleet();
  const perCluster = graph.derive<number, number>({
    name: 'perCluster',
    from: services,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, key, value),
  });
  const byKey = graph.index('perClusterByKey', perCluster, ({ key }) => [key]);
  const judge = graph.join<number, readonly string[], unknown>({
    name: 'leader',
    left: perCluster,
    right: hosts,
    reads: [byKey, byHost, perCluster.failures],
    seesAll: true,
    compute: ({ partition, key }, read, emit) => {
      if (key === 'bad') throw new Error('bad');
      emit(partition, key, [read.count(byKey, key), read.members(byHost, key).map(({ value }) => value)]);
    },
  });
  const after = graph.derive<unknown, unknown>({
    name: 'after',
    from: hosts,
    reads: [judge],
    compute: ({ key }, read, emit) => emit('', key, read.get(judge, 'east', key) ?? 'none'),
  });
  hosts.set('', 'web', []);
  services.set('east', 'web', 1);
  services.set('west', 'bad', 3);
  graph.commit();
  expect(after.get('', 'web')).toEqual([1, [1]]);
  services.set('west', 'web', 2);
  graph.commit();
  expect(after.get('', 'web')).toEqual([2, [1, 2]]);
  expect([judge.scopeOf('west', 'web'), judge.failures.scopeOf('west', 'bad')]).toEqual([[], []]);
  expect(graph.why(after, '', 'web')?.because.length).toBeGreaterThan(0);
  services.drop('east');
  services.drop('west');
  hosts.delete('', 'web');
  graph.commit();
  expect(
    graph
      .dump()
      .flatMap(({ maps }) => Object.values(maps))
      .every((size) => size === 0),
  ).toBe(true);
});

test('a collection that sees everything declares no scope', () => {
  const { graph, hosts } = fleet();
  const both = { name: 'both', from: hosts, seesAll: true as const, scope: () => [], compute: () => undefined };
  expect(() => graph.derive<readonly string[], number>(both)).toThrow('sees everything, and declares a scope');
});

test('no scope is computed from a collection that sees everything', () => {
  const { graph, hosts, services } = fleet();
  const judge = graph.derive<number, readonly string[]>({
    name: 'leader',
    from: services,
    seesAll: true,
    compute: ({ partition }, _read, emit) => emit('', 'web', [partition]),
  });
  const after = graph.derive<readonly string[], number>({
    name: 'after',
    from: hosts,
    reads: [judge, services],
    scope: (_entry, read) => read.get(judge, '', 'web') ?? [],
    compute: ({ key }, _read, emit) => emit('', key, 1),
  });
  hosts.set('', 'web', []);
  services.set('east', 'web', 1);
  graph.commit();
  expect(after.failures.get('', 'web')?.message).toContain('it must come from desired state alone');
});
