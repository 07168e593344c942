import { expect, test } from 'vitest';
import { playSeed } from '../play.ts';

/** Seeds that once found something late in a long history. */
const REGRESSIONS = [
  { seed: 5003, found: 'an agent that came with more than the leader had admitted was sent nothing' },
  { seed: 5008, found: 'the same, at a replica that does not lead' },
] as const;

test.each(REGRESSIONS)('seed $seed: $found', async ({ seed }) => {
  expect((await playSeed(seed, { plain: true, steps: 60_000 })).violations).toEqual([]);
});
