import { expect, test } from 'vitest';
import { createMemoryStore } from '../../../../src/adapters/stores/memory.ts';
import { createJournal } from '../../../../src/runtime/stored/journal.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

test('a journal that is stopped during an outage of the store makes no further attempt, so that its process can end', async () => {
  const clock = createVirtualClock();
  let attempts = 0;
  const away = {
    ...createMemoryStore(),
    write: async () => {
      attempts += 1;
      throw new Error('the store does not answer');
    },
  };
  const journal = createJournal({ store: away, clock, log: silentLog });
  journal.put('a', new Uint8Array([1]));
  await clock.advance(5_000);
  expect(attempts).toBeGreaterThan(1);
  journal.stop();
  await clock.advance(0);
  const before = attempts;
  await clock.advance(600_000);
  expect(attempts).toBe(before);
  expect(clock.waiting()).toBe(0);
});
