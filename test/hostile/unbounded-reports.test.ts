import { describe, expect, test } from 'vitest';
import type { ObjectResult } from '../../src/model/agent/agent.ts';
import { parseClusterName } from '../../src/model/fleet/ids.ts';
import { type ObjectKey, parseObjectKey } from '../../src/model/objects/object-key.ts';
import { sha256 } from '../../src/model/text/digest.ts';
import { must } from '../../src/model/values/result.ts';
import type { SnapshotStore } from '../../src/ports/snapshot-store.ts';
import { abc, names, startedWorld } from '../support/started-world.ts';

const WEST = must(parseClusterName('west'));
const DIGEST = sha256(new Uint8Array(0));

function resultOf(key: ObjectKey, state: ObjectResult['state']): ObjectResult {
  return { key, digest: DIGEST, state, reason: 'Forged', message: 'x'.repeat(100) };
}

async function bytesOf(store: SnapshotStore): Promise<number> {
  let bytes = 0;
  for await (const { key } of store.list('')) bytes += (await store.get(key))?.value.length ?? 0;
  return bytes;
}

describe('an agent that reports results of keys that it was never sent', () => {
  const forged = (state: ObjectResult['state']) =>
    Array.from({ length: 200_000 }, (_, at) => resultOf(must(parseObjectKey(`/ConfigMap/web/forged-${at}`)), state));

  test.each(['failed', 'applied', 'removing', 'removed'] as const)(
    '%s: all are counted, and none is kept',
    async (state) => {
      const world = await startedWorld();
      const stored = await bytesOf(world.store);
      const results = forged(state);
      for (let at = 0; at < results.length; at += 20_000) {
        expect(
          world
            .agent('west')
            .at()
            ?.results(WEST, results.slice(at, at + 20_000)),
        ).toBe(20_000);
      }
      await world.settle();
      expect(await bytesOf(world.store)).toBe(stored);
      expect(JSON.stringify([...world.statusFiles])).not.toContain('Forged');
      expect(names(world, 'west')).toEqual(abc);
    },
  );

  test('is heard on the keys that it was sent, in the same message', async () => {
    const world = await startedWorld();
    const known = must(parseObjectKey('/ConfigMap/web/a'));
    const { digest } = world
      .agent('west')
      .holding()
      .entries.find(({ key }) => key === known) ?? { digest: DIGEST };
    const results = [...forged('failed').slice(0, 1_000), { ...resultOf(known, 'failed'), digest }];
    expect(world.agent('west').at()?.results(WEST, results)).toBe(1_000);
    await world.settle();
    expect(JSON.stringify([...world.statusFiles])).toContain('Forged');
  });

  test('removed, of keys that are not being removed, changes nothing', async () => {
    const world = await startedWorld();
    const held = world.agent('west').holding().entries;
    const results = held.map(({ key, digest }) => ({ ...resultOf(key, 'removed'), digest }));
    expect(world.agent('west').at()?.results(WEST, results)).toBe(0);
    await world.settle();
    expect(names(world, 'west')).toEqual(abc);
    expect(world.agent('west').deltas).toHaveLength(1);
  });
});
