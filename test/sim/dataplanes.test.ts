import { expect, test } from 'vitest';
import { playDataplanes } from './dataplanes/play.ts';
import { dataplaneFailuresOf } from './play-seeds.ts';
import type { Tampering } from './world.ts';

test('servers show the data planes of clusters and repositories through seeded faults: seeds 1 to 6', async () => {
  expect(await dataplaneFailuresOf(1, 6)).toEqual([]);
});

test('a planted fault is caught: an agent reports no deletion of a Pod', async () => {
  const client: Tampering['client'] = (_world, _cluster, own) => ({
    ...own,
    publishInput: ({ objects, kinds }, changed) => {
      const kept = new Map([...removed, ...objects]);
      for (const [key, { digest, value }] of objects)
        if (key.startsWith('/Pod/')) removed.set(key, { key, digest, value });
      own.publishInput(
        { objects: kept, kinds },
        changed === undefined ? undefined : new Set([...changed].filter((key) => kept.has(key))),
      );
    },
  });
  const removed = new Map();
  const found: string[] = [];
  for (let seed = 1; seed <= 10 && found.length === 0; seed += 1) {
    removed.clear();
    found.push(...(await playDataplanes(seed, { tampering: { client } })).map(({ checker }) => checker));
  }
  expect(found).toContain('shows the fleet');
});
