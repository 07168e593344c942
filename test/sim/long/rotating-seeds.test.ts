import { expect, test } from 'vitest';
import { failuresOf } from '../play-seeds.ts';

const DAY_MS = 86_400_000;
const SEEDS = 100;
/** Others each day, far from those that every run plays. */
const FROM = 1_000_000 + Math.floor(Date.now() / DAY_MS) * SEEDS;

test(`the fleet keeps its promises through the seeds of this day: ${FROM} to ${FROM + SEEDS - 1}`, async () => {
  expect(await failuresOf(FROM, SEEDS)).toEqual([]);
});
