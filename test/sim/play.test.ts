import { expect, test } from 'vitest';
import { playInOrder } from './jobs.ts';
import { type Played, playSeed } from './play.ts';

/** Everything that happens in a seed's world, line by line. */
async function historyOf(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  await playSeed(seed, { note: (line) => lines.push(line) });
  return lines;
}

// A failing seed is worth something only if it fails again: one server, and three beside a hostile agent.
test.each([2, 4])('seed %i gives the same history again', async (seed) => {
  const first = await historyOf(seed);
  expect(first.length).toBeGreaterThan(50);
  expect(await historyOf(seed)).toEqual(first);
});

test('several threads play the same, in the order of the seeds', async () => {
  const [one, two]: [Played[], Played[]] = [[], []];
  const seeds = { from: 1, seeds: 3, how: { steps: 100 } };
  await playInOrder({ ...seeds, jobs: 1 }, (played) => one.push(played));
  await playInOrder({ ...seeds, jobs: 2 }, (played) => two.push(played));
  expect(one.map(({ seed }) => seed)).toEqual([1, 2, 3]);
  expect(two).toEqual(one);
});

test('seeds differ in their histories', async () => {
  expect(await historyOf(1)).not.toEqual(await historyOf(2));
});
