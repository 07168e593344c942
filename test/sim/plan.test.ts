import { expect, test } from 'vitest';
import { comparedDeltas } from './checkers/plan.ts';
import { playSeed } from './play.ts';

test('deltas are the plans of their revisions, and many of them are compared', async () => {
  for (let seed = 1; seed <= 15; seed += 1) {
    const { violations } = await playSeed(seed, {});
    expect(violations.filter(({ checker }) => checker === 'plan')).toEqual([]);
  }
  expect(comparedDeltas()).toBeGreaterThan(20);
});
