import fc from 'fast-check';
import { expect, test } from 'vitest';
import { API, type CareHistory, type CareStep, NODES, playCare } from './support/care-history.ts';

/** Histories that are played. */
const RUNS = 25;

const TYPES = [API, NODES];

/** Seconds, as the FleetPolicy has them by default. */
const THRESHOLDS: Readonly<Record<string, number>> = { [API]: 60, [NODES]: 300 };
const SILENCE = 200;
/** What the server, the sink and whole seconds may take. */
const SLACK = 6;

const step: fc.Arbitrary<CareStep> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('wait' as const), seconds: fc.constantFrom(5, 50, 62, 150, 205, 310) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('api' as const), isUp: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('node' as const),
      name: fc.constantFrom('one', 'two'),
      isReady: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('agent' as const), isThere: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const), isStoreLost: fc.boolean() }) },
);

/** Each pair of statuses that were written one after the other, for each condition. */
function* changes({ written }: CareHistory) {
  for (const [index, after] of written.entries()) {
    const before = written[index - 1];
    for (const type of TYPES) {
      const [was, is] = [before?.conditions[type], after.conditions[type]];
      if (was !== undefined && is !== undefined) yield { type, was, is, at: after.at, operation: before?.operation };
    }
  }
}

const laws: readonly { readonly name: string; readonly law: (history: CareHistory) => void }[] = [
  {
    name: 'a condition is never False before its threshold',
    law: (history) => {
      for (const { type, was, is, at, operation } of changes(history)) {
        if (is.status !== 'False' || was.status === 'False' || was.status === 'Unknown') continue;
        expect(was.status, type).toBe('Progressing');
        expect(at - was.transition).toBeGreaterThan((THRESHOLDS[type] ?? 0) * 1_000);
        if (operation?.state === 'Succeeded') {
          expect(at - operation.at).toBeGreaterThan((THRESHOLDS[type] ?? 0) * 1_000);
        }
      }
    },
  },
  {
    name: 'the time of the last transition changes with the status, and only with it',
    law: (history) => {
      for (const { was, is, at } of changes(history)) {
        expect(is.transition === was.transition).toBe(is.status === was.status);
        if (is.status !== was.status) expect(at - is.transition).toBeLessThan(SLACK * 1_000);
      }
    },
  },
  {
    name: 'no status is written again with other times alone',
    law: ({ written }) => {
      for (const [index, { timeless }] of written.entries()) expect(timeless).not.toBe(written[index - 1]?.timeless);
    },
  },
  {
    name: 'what has been found for long enough is what the status says',
    law: ({ moments }) => {
      for (const { at, status, found, awaySince, step: last } of moments) {
        for (const type of TYPES) {
          const { isGood, since } = found[type] ?? expect.fail();
          const is = status?.conditions[type];
          const message = `${type} after ${JSON.stringify(last)}`;
          if (awaySince !== undefined) {
            const away = (at - awaySince) / 1_000;
            if (away > SILENCE + SLACK) expect(is?.reason, message).toBe('StatusUnknown');
            continue;
          }
          const operation = status?.operation;
          if (isGood) expect(is?.status, message).toBe('True');
          else {
            const long = (THRESHOLDS[type] ?? 0) + SLACK;
            const isLate = (at - since) / 1_000 > long && (at - (is?.transition ?? at)) / 1_000 > long;
            expect(is?.status, message).toMatch(
              isLate && operation?.state === 'Succeeded' ? /False/ : /Progressing|False/,
            );
          }
        }
      }
    },
  },
  {
    name: 'a restart changes no status that the agent did not change, also without its store',
    law: ({ moments }) => {
      for (const [index, { step: last, status, awaySince }] of moments.entries()) {
        const before = moments[index - 1];
        if (last.type !== 'restart' || before === undefined || awaySince !== undefined) continue;
        for (const type of TYPES) {
          const [was, is] = [before.status?.conditions[type], status?.conditions[type]];
          if (was?.status === is?.status) expect(is?.transition).toBe(was?.transition);
          // A threshold can pass meanwhile, and nothing else.
          else expect([was?.status, is?.status]).toEqual(['Progressing', 'False']);
        }
      }
    },
  },
];

test('the laws of care hold in histories of failures, silence, restarts and lost stores', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const history = await playCare(steps);
      for (const { name, law } of laws) {
        try {
          law(history);
        } catch (cause) {
          throw new Error(`this law does not hold: ${name}`, { cause });
        }
      }
    }),
    { numRuns: RUNS },
  );
});
