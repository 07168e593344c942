import { expect, test } from 'vitest';
import { failuresOf } from '../play-seeds.ts';

test('the fleet keeps its promises through seeded faults: seeds 1 to 100', async () => {
  expect(await failuresOf(1, 100)).toEqual([]);
});
