import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Happening, NAMES, type PersonDoes, playHistory } from '../../support/agent-history.ts';
import { createDirectoryHome, createMemoryHome } from '../../support/agent-history-homes.ts';
import { isLong } from '../../support/long.ts';

/** Histories of one run; FLEETRELAY_HISTORIES plays more of them. */
const RUNS = Number(process.env.FLEETRELAY_HISTORIES ?? (isLong ? 3_000 : 300));
/** A real folder is ten times as slow. */
const FOLDER_RUNS = isLong ? 200 : 30;

const name = fc.constantFrom(...NAMES);
const what = fc.constantFrom<PersonDoes>('edits', 'takes over', 'creates', 'removes', 'renames', 'copies');
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('wants'), name, value: fc.constantFrom('1', '2', undefined) }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('send'), touch: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('time'), milliseconds: fc.constantFrom(0, 20, 1_500, 60_000) }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('person'), what, name }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('connection'), on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('pause'), on: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('crash'), at: fc.constantFrom('before', 'after'), step: fc.nat(4) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail'), writes: fc.integer({ min: 1, max: 3 }) }) },
) as fc.Arbitrary<Happening>;
const connected: readonly Happening[] = [{ type: 'connection', on: true }];
const histories = fc.array(happening, { minLength: 5, maxLength: 40 }).map((rest) => [...connected, ...rest]);

test('random histories of an agent in memory: it does what it must, and nothing that it must not', async () => {
  await fc.assert(
    fc.asyncProperty(histories, (history) => playHistory(createMemoryHome(), history)),
    { numRuns: RUNS },
  );
});

test('random histories of an agent whose looks say what changed', async () => {
  await fc.assert(
    fc.asyncProperty(histories, (history) => playHistory(createMemoryHome({ view: true }), history)),
    { numRuns: RUNS },
  );
});

test('random histories of an agent on a real folder', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const home = createDirectoryHome();
      try {
        await playHistory(home, history);
        await home.release();
      } finally {
        await home.release();
        home.remove();
      }
    }),
    { numRuns: FOLDER_RUNS },
  );
});

test('a history in which nothing happens ends with what is wanted', async () => {
  await expect(playHistory(createMemoryHome(), connected)).resolves.toBeUndefined();
});
