import { expect, test } from 'vitest';
import { createPoller } from '../../../../src/sources/tree/poller.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

function setUp() {
  const clock = createVirtualClock();
  const looks: ((succeeded: boolean) => void)[] = [];
  const look = () => new Promise<boolean>((resolve) => void looks.push(resolve));
  const random = { next: () => 0.5, id: () => '' };
  const poller = createPoller(
    { clock, random, look, failed: () => undefined },
    { intervalMs: 60_000, retryMs: 1_000, maxRetryMs: 60_000 },
  );
  return { clock, looks, poller };
}

test('look resolves after a look that began after the call, successful or not', async () => {
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

test('stop resolves the pending looks', async () => {
  const { looks, poller } = setUp();
  poller.start();
  const asked = poller.look();
  const stopped = poller.stop();
  looks[0]?.(true);
  await Promise.all([asked, stopped]);
  expect(looks).toHaveLength(1);
});
