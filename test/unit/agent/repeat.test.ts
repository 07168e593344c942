import { expect, test } from 'vitest';
import { repeat } from '../../../src/domains/care/agent/repeat.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

test('two runs do not overlap if one is asked for before the first one has begun', async () => {
  const clock = createVirtualClock();
  let running = 0;
  let most = 0;
  let runs = 0;
  const work = repeat({ clock, log: createKeptLog() }, 0, async () => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    await clock.sleep(1_000);
    running -= 1;
    return 60_000;
  });
  work.within(0);
  await clock.advance(30_000);
  expect([runs, most]).toEqual([1, 1]);
  await clock.advance(60_000);
  expect(runs).toBe(2);
  work.stop();
});
