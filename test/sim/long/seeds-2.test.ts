import { expect, test } from 'vitest';
import { failuresOf } from '../play-seeds.ts';

test('the fleet keeps its promises through seeded faults: seeds 101 to 200', async () => {
  expect(await failuresOf(101, 100)).toEqual([]);
});
