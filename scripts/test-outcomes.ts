/** How one file of tests went. */
export interface TestFile {
  /** Path from the root of the project. */
  readonly path: string;
  /** The project of vitest.config.ts that it belongs to. */
  readonly project: string;
  /** Also if it could not be loaded, or what its tests share could not be set up or taken down. */
  readonly failed: boolean;
  readonly tests: readonly TestOutcome[];
  /** Wall time of its imports, hooks and tests, of all its runs. */
  readonly milliseconds: number;
  /** Processor time of its process, and of the processes that it started and that have ended; 0 where it is not known. */
  readonly processorMilliseconds: number;
}

export interface TestOutcome {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
}

/** How a run of vitest went. */
export interface TestRun {
  readonly files: readonly TestFile[];
  /** Something went wrong that belongs to no file: an unhandled rejection, a crashed worker, no test found. */
  readonly broken: boolean;
}

interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The project whose tests share the machine with processes that they start, so that a slow machine may fail them. */
const RUN_AGAIN = 'integration';
/** With more files than this, something is really broken, and running it again would only take time. */
const AT_MOST = 5;

/** Paths of the files that are run once more, alone; none if more went wrong than a slow machine explains. */
export function filesToRunAgain({ files, broken }: TestRun): readonly string[] {
  const failed = files.filter((file) => file.failed);
  if (broken || failed.length > AT_MOST) return [];
  return failed.filter(({ project }) => project === RUN_AGAIN).map(({ path }) => path);
}

/** The run with the outcome that a file had when it ran alone in place of its first one. */
export function withRunAgain(first: TestRun, path: string, again: TestRun): TestRun {
  const before = first.files.find((file) => file.path === path);
  const last = again.files.find((file) => file.path === path);
  // It says nothing about the file: what was seen first stays.
  if (before === undefined || last === undefined || last.tests.length === 0) return first;
  const settled = {
    ...last,
    failed: last.failed || again.broken || !hasPassed(before, last),
    milliseconds: before.milliseconds + last.milliseconds,
    processorMilliseconds: before.processorMilliseconds + last.processorMilliseconds,
  };
  return { ...first, files: first.files.map((file) => (file.path === path ? settled : file)) };
}

/** A test that failed and is skipped, or not there at all, has not passed. */
function hasPassed(before: TestFile, last: TestFile): boolean {
  const passed = new Set(last.tests.filter(({ state }) => state === 'passed').map(({ name }) => name));
  return before.tests.every(({ name, state }) => state !== 'failed' || passed.has(name));
}

/** A line for each file that failed at first and passed alone. */
export function unstableFiles(first: TestRun, last: TestRun): readonly string[] {
  const passed = new Set(last.files.filter(({ failed }) => !failed).map(({ path }) => path));
  return first.files
    .filter(({ failed, path }) => failed && passed.has(path))
    .map((file) => `unstable: ${file.path} (${tests(failures(file))} failed the first time, passed alone)`);
}

/** Each test once; a file that failed without a failed test is one failure, and so is what belongs to no file. */
export function countTests({ files, broken }: TestRun): Totals {
  const of = (state: TestOutcome['state']): number =>
    files.flatMap((file) => file.tests).filter((test) => test.state === state).length;
  const failed = files.reduce((sum, file) => sum + failures(file), 0);
  return { passed: of('passed'), failed: broken && failed === 0 ? 1 : failed, skipped: of('skipped') };
}

type Cost = Pick<TestFile, 'path' | 'milliseconds' | 'processorMilliseconds'>;

const DEAREST = 30;

/**
 * The files that cost most, by the larger of their seconds and their processor time, then the sum of all files; files of one run
 * overlap in time, and it is the processors that a run waits for.
 */
export function durationLines({ files }: TestRun): readonly string[] {
  const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1).padStart(8);
  const line = ({ milliseconds, processorMilliseconds }: Omit<Cost, 'path'>, text: string): string =>
    `${seconds(milliseconds)} s ${seconds(processorMilliseconds)} s of processor ${text}`;
  const sum = (of: (file: Cost) => number): number => files.reduce((total, file) => total + of(file), 0);
  const most = (file: Cost): number => Math.max(file.milliseconds, file.processorMilliseconds);
  const all = {
    milliseconds: sum((file) => file.milliseconds),
    processorMilliseconds: sum((file) => file.processorMilliseconds),
  };
  const dearest = [...files].sort((a, b) => most(b) - most(a)).slice(0, DEAREST);
  return [...dearest.map((file) => line(file, file.path)), line(all, `in ${files.length} files`)];
}

function failures(file: TestFile): number {
  const failed = file.tests.filter(({ state }) => state === 'failed').length;
  return file.failed ? Math.max(1, failed) : 0;
}

function tests(count: number): string {
  return `${count} test${count === 1 ? '' : 's'}`;
}
