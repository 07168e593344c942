import { expect, test } from 'vitest';
import {
  countTests,
  durationLines,
  filesToRunAgain,
  type TestFile,
  type TestOutcome,
  type TestRun,
  unstableFiles,
  withRunAgain,
} from '../../../scripts/test-outcomes.ts';

const file = (path: string, states: readonly TestOutcome['state'][], more: Partial<TestFile> = {}): TestFile => ({
  path,
  project: 'integration',
  failed: states.includes('failed'),
  tests: states.map((state, at) => ({ name: `test ${at}`, state })),
  milliseconds: 1_000,
  processorMilliseconds: 400,
  ...more,
});
const run = (...files: readonly TestFile[]): TestRun => ({ files, broken: false });
const failing = (count: number, more: Partial<TestFile> = {}): readonly TestFile[] =>
  Array.from({ length: count }, (_, at) => file(`failing-${at}.test.ts`, ['passed', 'failed'], more));

test('integration files that failed are run again, what passed and what no slow machine fails is not', () => {
  const seen = run(
    file('good.test.ts', ['passed', 'skipped']),
    file('laws.test.ts', ['failed'], { project: 'unit' }),
    ...failing(4),
  );
  expect(filesToRunAgain(seen)).toEqual([0, 1, 2, 3].map((at) => `failing-${at}.test.ts`));
});

test('nothing is run again if more than five files failed, of whatever project, or the run itself is broken', () => {
  expect(filesToRunAgain(run(...failing(5)))).toHaveLength(5);
  expect(filesToRunAgain(run(...failing(6)))).toEqual([]);
  expect(filesToRunAgain(run(...failing(5), file('unit.test.ts', ['failed'], { project: 'unit' })))).toEqual([]);
  expect(filesToRunAgain({ ...run(...failing(1)), broken: true })).toEqual([]);
});

test('each test counts once, by its last outcome, and the file is named', () => {
  const first = run(file('good.test.ts', ['passed', 'skipped']), file('shaky.test.ts', ['passed', 'failed', 'failed']));
  expect(countTests(first)).toEqual({ passed: 2, failed: 2, skipped: 1 });
  const last = withRunAgain(first, 'shaky.test.ts', run(file('shaky.test.ts', ['passed', 'passed', 'passed'])));
  expect(countTests(last)).toEqual({ passed: 4, failed: 0, skipped: 1 });
  expect(unstableFiles(first, last)).toEqual(['unstable: shaky.test.ts (2 tests failed the first time, passed alone)']);
  expect(unstableFiles(first, first)).toEqual([]);
});

test('what fails alone as well has failed, be it another test of the file', () => {
  const first = run(file('shaky.test.ts', ['failed', 'passed']));
  const last = withRunAgain(first, 'shaky.test.ts', run(file('shaky.test.ts', ['passed', 'failed'])));
  expect(countTests(last)).toEqual({ passed: 1, failed: 1, skipped: 0 });
  expect(unstableFiles(first, last)).toEqual([]);
});

test('a second run that says nothing of the file, skips what failed, or broke, saves nothing', () => {
  const first = run(file('shaky.test.ts', ['passed', 'failed']));
  const broken = { ...run(file('shaky.test.ts', ['passed', 'passed'])), broken: true };
  const skipped = run(file('shaky.test.ts', ['passed', 'skipped']));
  for (const again of [run(), run(file('shaky.test.ts', [])), broken, skipped]) {
    const last = withRunAgain(first, 'shaky.test.ts', again);
    expect(countTests(last).failed).toBe(1);
    expect(unstableFiles(first, last)).toEqual([]);
  }
});

test('a file that failed without a failed test is one failure, and so is what belongs to no file', () => {
  const unloadable = run(file('typo.test.ts', [], { failed: true }));
  expect(countTests(unloadable)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  const last = withRunAgain(unloadable, 'typo.test.ts', run(file('typo.test.ts', ['passed'])));
  expect(countTests(last)).toEqual({ passed: 1, failed: 0, skipped: 0 });
  expect(unstableFiles(unloadable, last)).toEqual([
    'unstable: typo.test.ts (1 test failed the first time, passed alone)',
  ]);
  expect(countTests({ files: [], broken: true })).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(countTests({ ...run(file('shaky.test.ts', ['passed', 'failed'])), broken: true }).failed).toBe(1);
});

test('the dearest files come first, a file that ran again counts both runs, and the last line is the sum', () => {
  const slow = file('slow.test.ts', ['passed'], { milliseconds: 61_250 });
  const busy = file('busy.test.ts', ['passed'], { processorMilliseconds: 62_000 });
  const again = run(file('shaky.test.ts', ['passed'], { milliseconds: 500 }));
  const quick = file('quick.test.ts', ['passed'], { milliseconds: 40, processorMilliseconds: 20 });
  const seen = withRunAgain(run(file('shaky.test.ts', ['failed']), quick, slow, busy), 'shaky.test.ts', again);
  expect(durationLines(seen)).toEqual([
    '     1.0 s     62.0 s of processor busy.test.ts',
    '    61.3 s      0.4 s of processor slow.test.ts',
    '     1.5 s      0.8 s of processor shaky.test.ts',
    '     0.0 s      0.0 s of processor quick.test.ts',
    '    63.8 s     63.2 s of processor in 4 files',
  ]);
});
