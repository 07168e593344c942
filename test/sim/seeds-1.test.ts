import { expect, test } from 'vitest';
import { comparedDeltas } from './checkers/plan.ts';
import { failuresOf } from './play-seeds.ts';

test('the fleet keeps its promises through seeded faults: seeds 1 to 20', async () => {
  const before = comparedDeltas();
  expect(await failuresOf(1, 20)).toEqual([]);
  expect(comparedDeltas() - before, 'deltas that were compared with plans').toBeGreaterThan(13);
});
