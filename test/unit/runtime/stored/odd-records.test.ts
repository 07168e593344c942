import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../../src/adapters/stores/memory.ts';
import type { SnapshotStore } from '../../../../src/ports/snapshot-store.ts';
import { discoverOne, forget, mirrorYaml } from '../../../support/mirrors.ts';
import { base, guards, names, restart, startedWorld } from '../../../support/started-world.ts';
import { keysOf } from '../../../support/stored-maps.ts';

async function copyOf(store: SnapshotStore): Promise<SnapshotStore> {
  const copy = createMemoryStore();
  for await (const { key, value } of store.list('')) await copy.write([{ key, value }]);
  return copy;
}

const put = (store: SnapshotStore, key: string, text: string) =>
  store.write([{ key, value: new TextEncoder().encode(text) }]);

describe('a record of a single key', () => {
  it('with another shape than expected counts as missing, and the server starts', async () => {
    const few = guards({ maxRemovalsPerCluster: 1, maxRemovalPercentPerCluster: 100, maxRemovalPercentPerFleet: 100 });
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': few });
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    first.source.push({ 'apps/b.yaml': null });
    await first.settle();
    const [set] = first.server.api.removals();
    first.agent('east').pause();
    await first.server.api.approve(set?.digest ?? '', 'me');
    await first.settle();
    await first.server.stop();
    first.agent('east').release('lost');
    await put(first.store, 'held/west//ConfigMap/web/c', '{"reason":"TooManyRemovals","message":"held"}');
    const kinds = ['approvals', 'declared', 'held', 'registrations', 'sources', 'windows'];
    const keys = await keysOf(first.store);
    for (const kind of kinds) expect(keys.some((key) => key.startsWith(kind))).toBe(true);
    expect(keys).toContain('declared/FleetPolicy/');
    for (const key of keys.filter((each) => !each.startsWith('clusters/'))) {
      for (const text of ['null', '"x"', '5', '[]', '{}', '[1]', '{"value":5,"origin":3}', '{"at":{}}']) {
        const store = await copyOf(first.store);
        await put(store, key, text);
        const world = await restart({ ...first, store });
        world.source.push({ ...base, 'fleet/policy.yaml': few });
        for (const cluster of ['east', 'west']) world.agent(cluster).connect();
        await world.settle();
        expect([key, text, names(world, 'west')]).toEqual([key, text, names(first, 'west')]);
        for (const cluster of ['east', 'west']) world.agent(cluster).disconnect();
        await world.server.stop();
      }
    }
  }, 60_000);

  it.each(['gone', 'damaged'])(
    'that was the registration of a cluster and is %s makes nothing go that came from there',
    async (how) => {
      const first = await startedWorld({
        ...base,
        'fleet/mirror.yaml': mirrorYaml('all', 'names: [east]', 'names: [west]'),
      });
      for (const cluster of ['east', 'west']) discoverOne(first, cluster);
      await first.settle();
      const before = names(first, 'west');
      expect(before.filter((key) => key.includes('EndpointSlice'))).not.toEqual([]);
      if (how === 'gone') await forget(first.store, 'registrations/east');
      else await put(first.store, 'registrations/east', '{"cluster":');
      const restarted = await restart(first);
      // Also if it ends before any agent has connected.
      await restarted.settle();
      await restarted.server.stop();
      const world = await restart(restarted);
      world.source.push({
        ...base,
        'fleet/mirror.yaml': mirrorYaml('all', 'names: [east]', 'names: [west]'),
      });
      world.agent('west').connect();
      discoverOne(world, 'west');
      await world.settle();
      expect(names(world, 'west')).toEqual(before);
      world.agent('east').connect();
      discoverOne(world, 'east', 'other');
      await world.settle();
      expect(names(world, 'west').some((key) => key.includes('other'))).toBe(true);
      expect(await keysOf(world.store, 'assumed-warm/')).toEqual([]);
    },
  );
});
