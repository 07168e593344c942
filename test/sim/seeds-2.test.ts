import { expect, test } from 'vitest';
import { failuresOf } from './play-seeds.ts';

test('the fleet keeps its promises through seeded faults: seeds 21 to 40', async () => {
  expect(await failuresOf(21, 20)).toEqual([]);
});
