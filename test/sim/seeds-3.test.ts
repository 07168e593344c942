import { expect, test } from 'vitest';
import { failuresOf } from './play-seeds.ts';

test('the fleet keeps its promises to its stewards as well, who approve by files and suspend: seeds 1 to 12', async () => {
  expect(await failuresOf(1, 12)).toEqual([]);
}, 300_000);
