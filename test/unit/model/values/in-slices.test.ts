import { expect, it } from 'vitest';
import { inSlices } from '../../../../src/model/values/in-slices.ts';

it('lets the event loop turn whenever ten milliseconds of work are over, and does every piece in order', async () => {
  let now = 0;
  const done: string[] = [];
  const clock = { monotonic: () => now, sleep: async () => void done.push('turn') };
  function* work(): Generator<undefined> {
    for (const piece of ['a', 'b', 'c', 'd', 'e']) {
      done.push(piece);
      now += 4;
      yield;
    }
  }
  await inSlices(clock, work());
  expect(done).toEqual(['a', 'b', 'c', 'turn', 'd', 'e']);
});
