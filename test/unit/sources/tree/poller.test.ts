import { expect, test } from 'vitest';
import { createPoller } from '../../../../src/sources/tree/poller.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

function setUp() {
  const clock = createVirtualClock();
  const looks: ((succeeded: boolean) => void)[] = [];
  const look = () => new Promise<boolean>((resolve) => void looks.push(resolve));
  const random = { next: () => 0.5, id: () => '' };
  const poller = createPoller({ clock, random, look }, { intervalMs: 60_000, retryMs: 1_000, maxRetryMs: 60_000 });
  return { clock, looks, poller };
}

test('who asks for a look gets one that began after asking, whatever comes of it', async () => {
  const { clock, looks, poller } = setUp();
  poller.start();
  let looked = false;
  void poller.look().then(() => {
    looked = true;
  });
  looks[0]?.(true);
  await clock.settle();
  expect([looks.length, looked]).toEqual([2, false]);
  looks[1]?.(false);
  await clock.settle();
  expect(looked).toBe(true);
});

test('nobody waits for a poller that was stopped', async () => {
  const { looks, poller } = setUp();
  poller.start();
  const asked = poller.look();
  const stopped = poller.stop();
  looks[0]?.(true);
  await Promise.all([asked, stopped]);
  expect(looks).toHaveLength(1);
});
