import { expect, test } from 'vitest';
import { failuresOf } from './play-seeds.ts';

test('the fleet keeps its promises through seeded faults: seeds 31 to 60', async () => {
  expect(await failuresOf(31, 30)).toEqual([]);
});
