import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDeadlineFleet, type Fault, LATER_SECONDS, type Step } from './support/deadline-fleet.ts';

/** Histories of one law. */
const RUNS = 60;
const keys = ['a', 'b', 'c'] as const;

const wait = fc.record({
  type: fc.constant('wait' as const),
  // From 200 milliseconds after a whole second, where the histories begin, to the last one before another, and to it.
  milliseconds: fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.constantFrom(799, 800, 801, 4_799, 4_800, 9_800)),
});
const changes: readonly fc.Arbitrary<Step>[] = [
  wait,
  wait,
  fc.record({
    type: fc.constant('set' as const),
    key: fc.constantFrom(...keys),
    inSeconds: fc.integer({ min: -20, max: 20 }),
  }),
  fc.record({ type: fc.constant('delete' as const), key: fc.constantFrom(...keys) }),
  fc.record({ type: fc.constant('back' as const), seconds: fc.integer({ min: 1, max: 30 }) }),
];
const someProcess = fc.integer({ min: 0, max: 2 });
const crash: fc.Arbitrary<Step> = fc
  .tuple(wait, someProcess)
  .map(([{ type, milliseconds }, process]) => ({ type, milliseconds, crash: process }));
const lead: fc.Arbitrary<Step> = fc.record({ type: fc.constant('lead' as const), process: someProcess });
const histories = (...more: readonly fc.Arbitrary<Step>[]) =>
  fc.array(fc.oneof(...changes, ...more), { minLength: 1, maxLength: 25 });

type Law = (history: readonly Step[], fault?: Fault) => Promise<void>;

/** Which moments must have passed after each step, computed directly from the definition. */
function createOracle() {
  const moments = new Map<string, number>();
  const passed = new Map<string, number>();
  const judge = (key: string, at: number | undefined, now: number): boolean => {
    if (at === undefined) passed.delete(key);
    else if (at <= now) passed.set(key, Math.max(at, passed.get(key) ?? at));
    return at !== undefined && (passed.get(key) ?? Number.NEGATIVE_INFINITY) >= at;
  };
  return {
    moments,
    passed: (): Record<string, number> => Object.fromEntries([...passed].sort(([a], [b]) => (a < b ? -1 : 1))),
    look: (now: number): void => {
      for (const key of keys) {
        const at = moments.get(key);
        const isLate = judge(`first/${key}`, at, now);
        judge(`second/${key}`, isLate && at !== undefined ? at + LATER_SECONDS : undefined, now);
      }
    },
  };
}

const notBefore: Law = async (history, fault) => {
  const fleet = await createDeadlineFleet(1, fault);
  const oracle = createOracle();
  let latest = fleet.now();
  fleet.onSettled = ({ outputs, elapsed }) => {
    latest = Math.max(latest, fleet.now());
    for (const at of [...Object.values(outputs), ...Object.values(elapsed)]) expect(at).toBeLessThanOrEqual(latest);
  };
  for (const step of history) {
    if (step.type === 'set') oracle.moments.set(step.key, fleet.now() + step.inSeconds);
    if (step.type === 'delete') oracle.moments.delete(step.key);
    // A change counts at once, whatever passes in the rest of the step.
    oracle.look(fleet.now());
    await fleet.play(step);
    oracle.look(fleet.now());
    expect(fleet.states()[0]?.elapsed).toEqual(oracle.passed());
  }
};

/** The same history with and without what must change nothing, step by step. */
const asWithout =
  (size: number): Law =>
  async (history, fault) => {
    const disturbed = await createDeadlineFleet(size, fault);
    const undisturbed = await createDeadlineFleet(1);
    for (const step of history) {
      await disturbed.play(step);
      // Time goes on as long without it.
      if (step.type === 'wait') await undisturbed.play({ type: step.type, milliseconds: step.milliseconds });
      else await undisturbed.play(step.type === 'lead' ? { type: 'wait', milliseconds: 0 } : step);
      const [expected] = undisturbed.states();
      for (const state of disturbed.states()) expect(state).toEqual(expected);
      expect(await disturbed.stored()).toEqual(expected?.elapsed);
    }
  };

/** The clock of the leader is a second ahead of the oracle's. */
const hasty: Fault = {
  deps: (deps) => ({ ...deps, clock: { ...deps.clock, now: () => deps.clock.now() + 1_000 } }),
};
const forgetful: Fault = { deps: (deps) => ({ ...deps, records: { elapsed: new Map() } }) };
const deaf: Fault = { deadlines: (deadlines) => ({ ...deadlines, replicate: () => undefined }) };

const laws = [
  { name: 'nothing happens before its moment, and all at it', law: notBefore, steps: histories(), fault: hasty },
  {
    ...{ name: 'a restart at any point changes no moment and no output', law: asWithout(1), fault: forgetful },
    steps: histories(crash),
  },
  {
    ...{ name: 'a change of leader changes none, at no replica', law: asWithout(3), fault: deaf },
    steps: histories(crash, lead),
  },
];

describe.each(laws)('$name', ({ law, steps, fault }) => {
  test('holds', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (history) => law(history)),
      { numRuns: RUNS },
    );
  });

  test('catches a planted fault', async () => {
    const played = await fc.check(
      fc.asyncProperty(steps, (history) => law(history, fault)),
      { numRuns: 500, endOnFailure: true },
    );
    expect(played.failed).toBe(true);
  });
});

test('a replica that leads again does not write a record that another leader has deleted since', async () => {
  const fleet = await createDeadlineFleet(2);
  await fleet.play({ type: 'set', key: 'a', inSeconds: -1 });
  expect(Object.keys(await fleet.stored())).toEqual(['first/a']);
  await fleet.play({ type: 'lead', process: 1 });
  await fleet.play({ type: 'delete', key: 'a' });
  expect(await fleet.stored()).toEqual({});
  await fleet.play({ type: 'lead', process: 0 });
  // Long enough to look several times for what the store has lost.
  await fleet.play({ type: 'wait', milliseconds: 120_000 });
  expect(await fleet.stored()).toEqual({});
});
