import { expect, test } from 'vitest';
import { dataplaneFailuresOf } from '../play-seeds.ts';

test('servers show the data planes of clusters and repositories through seeded faults: seeds 1 to 60', async () => {
  expect(await dataplaneFailuresOf(1, 60)).toEqual([]);
});
