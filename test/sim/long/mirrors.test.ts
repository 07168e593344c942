import { expect, test } from 'vitest';
import { mirrorFailuresOf } from '../play-seeds.ts';

test('services are mirrored through seeded faults: seeds 1 to 40', async () => {
  expect(await mirrorFailuresOf(1, 40)).toEqual([]);
});

test('services of declared data planes are mirrored through seeded faults: seeds 1 to 20', async () => {
  expect(await mirrorFailuresOf(1, 20, { hasMachines: true })).toEqual([]);
});
