import { expect, it } from 'vitest';
import { createWorkQueue, type WorkQueue } from '../../../src/agent/reconciler/work-queue.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const key = '/ConfigMap/web/a' as ObjectKey;

/** How often a key that fails again and again is tried in the 4 s after `act`, an hour of failing before it. */
async function triesAfter(act: (queue: WorkQueue) => void): Promise<number> {
  const clock = createVirtualClock();
  let tries = 0;
  const queue = createWorkQueue(
    { clock, random: { next: () => 0.999, id: () => '' } },
    {
      rank: () => 0,
      bytes: () => 0,
      run: async () => {
        tries += 1;
        return 'retry';
      },
      idle: () => undefined,
    },
  );
  queue.add(key);
  await clock.advance(3_600_000);
  const before = tries;
  act(queue);
  await clock.advance(4_000);
  await queue.stop();
  return tries - before;
}

it('a back-off continues when a key is added again, and is reset when the key is renewed', async () => {
  expect(await triesAfter((queue) => queue.add(key))).toBe(1);
  // At once, after one second, and after two more.
  expect(await triesAfter((queue) => queue.renew(key))).toBe(3);
});

it('large contents are worked on one after the other, small ones at once', async () => {
  const clock = createVirtualClock();
  const sizes = new Map(
    ([5, 5, 1, 1, 100] as const).map((mebibytes, place) => [`/ConfigMap/web/${place}` as ObjectKey, mebibytes << 20]),
  );
  const running = new Set<ObjectKey>();
  const together: number[] = [];
  const queue = createWorkQueue(
    { clock, random: { next: () => 0.999, id: () => '' } },
    {
      rank: () => 0,
      bytes: (each) => sizes.get(each) ?? 0,
      run: async (each) => {
        running.add(each);
        together.push([...running].reduce((sum, one) => sum + ((sizes.get(one) ?? 0) >> 20), 0));
        await clock.sleep(10);
        running.delete(each);
        return 'done';
      },
      idle: () => undefined,
    },
  );
  for (const each of sizes.keys()) queue.add(each);
  await clock.advance(1_000);
  expect(together).toEqual([5, 5, 6, 7, 100]);
  await queue.stop();
});
