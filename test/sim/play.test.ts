import { expect, test } from 'vitest';
import { playSeed } from './play.ts';

/** Everything that happens in a seed's world, line by line. */
async function historyOf(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  await playSeed(seed, { note: (line) => lines.push(line) });
  return lines;
}

// A failing seed is worth something only if it fails again: one, and several servers.
test.each([1, 2, 4, 7])('seed %i gives the same history again', async (seed) => {
  const first = await historyOf(seed);
  expect(first.length).toBeGreaterThan(50);
  expect(await historyOf(seed)).toEqual(first);
});

test('seeds differ in their histories', async () => {
  expect(await historyOf(1)).not.toEqual(await historyOf(2));
});
