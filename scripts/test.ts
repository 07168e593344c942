/**
 * `npm test`: runs the tests and ends with one line that says how it went. `npm test -- --help` has its options.
 *
 * Files of integration tests that fail are run once more, alone, after all others. What passes then counts as passed and is
 * named as unstable: a defect, but not of this change.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { preparePrograms, readinessLine, systemPreparation } from './local/prepare-programs.ts';
import { findProgram, howToGet, type ProgramName } from './local/programs.ts';
import {
  countTests,
  durationLines,
  filesToRunAgain,
  type TestRun,
  unstableFiles,
  withRunAgain,
} from './test-outcomes.ts';
import { REPORT_FILE } from './test-reporter.ts';

const NO_RERUN = '--no-rerun';
const DURATIONS = '--durations';
const LONG = '--long';
const NO_PREPARATION = '--no-preparation';
const PREPARE = '--prepare';
const HELP = '--help';
const OWN_OPTIONS: readonly string[] = [NO_RERUN, DURATIONS, LONG, NO_PREPARATION, PREPARE];
const USAGE = `npm test -- [PATH...] [OPTIONS]

Without paths and options of vitest it runs all tests, and first makes the programs ready that they start, with a line for each:
packages of Debian are installed for root, Kubernetes' programs are built from Go modules (some minutes, once), Envoy is
downloaded. With paths or options of vitest nothing is made ready. Tests whose program is not here are skipped in any case.

  test/unit/cli      the tests of a folder or a file; further arguments go to vitest: --project unit -t approve
  --prepare          makes the programs ready, and runs no test
  --no-preparation   nothing is installed, built or downloaded
  --no-rerun         integration tests that fail are not run once more
  --durations        the files that take most, with their seconds and their processor time
  --long             the tests that take too long for every change, and only those (npm run test:long)

Environment: FLEETRELAY_REQUIRE_KUBERNETES=1, FLEETRELAY_REQUIRE_ENVOY=1, FLEETRELAY_REQUIRE_REDIS=1,
FLEETRELAY_REQUIRE_SSH=1 and FLEETRELAY_REQUIRE_PROMTOOL=1 make skipped tests on Kubernetes, Envoy, Redis, SSH and Prometheus
failures.`;
/** More than 1, with which vitest says that tests have failed. */
const KILLED = 128;
const ENDING = ['SIGINT', 'SIGTERM'] as const;
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** Runs vitest with these arguments. */
async function run(args: readonly string[]): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-test-'));
  try {
    const report = join(folder, 'report.json');
    const code = await vitestWith(args, report);
    const seen = await readFile(report, 'utf8').then(
      (text) => JSON.parse(text) as TestRun,
      () => undefined,
    );
    if (seen === undefined) return { files: [], broken: true };
    // It was interrupted, or ended badly and no file explains why.
    const unexplained = code > 1 || (code === 1 && seen.files.every(({ failed }) => !failed));
    return { ...seen, broken: seen.broken || unexplained };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function vitestWith(args: readonly string[], report: string): Promise<number> {
  const reporters = ['--reporter=default', `--reporter=${join(import.meta.dirname, 'test-reporter.ts')}`];
  // Tests never read the person's own git settings.
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', [REPORT_FILE]: report };
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], { stdio: 'inherit', env });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of ENDING) process.on(signal, pass);
  return new Promise<number>((done, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => done(code ?? KILLED));
  }).finally(() => {
    for (const signal of ENDING) process.off(signal, pass);
  });
}

/** The files that failed, each alone; gives the run with their last outcomes. */
async function runFailedAgain(first: TestRun, args: readonly string[]): Promise<TestRun> {
  let last = first;
  const paths = filesToRunAgain(first);
  const options = paths.length === 0 ? [] : await withoutFilters(args);
  for (const path of paths) {
    console.log(`\nrun once more, alone: ${path}`);
    const again = await run([...options, resolve(path)]);
    last = withRunAgain(last, path, again);
    if (again.broken) break;
  }
  return last;
}

/** What remains of vitest's arguments when those are left out that say which files. */
async function withoutFilters(args: readonly string[]): Promise<readonly string[]> {
  const { parseCLI } = await import('vitest/node');
  const { filter } = parseCLI(['vitest', 'run', ...args]);
  const filters = new Set<string>(filter);
  return args.filter((arg) => !filters.has(arg));
}

/** What suites need that is not on every machine. */
interface Need {
  readonly name: string;
  /** Of the names of tests that are about it. */
  readonly pattern: RegExp;
  readonly programs: readonly ProgramName[];
  /** Environment variable that makes skipped suites failures. */
  readonly requiredBy: string;
}

const NEEDS: readonly Need[] = [
  {
    name: 'Kubernetes',
    pattern: /kubernetes/i,
    programs: ['kube-apiserver', 'kubectl', 'kube-controller-manager'],
    requiredBy: 'FLEETRELAY_REQUIRE_KUBERNETES',
  },
  { name: 'Envoy', pattern: /envoy/i, programs: ['envoy'], requiredBy: 'FLEETRELAY_REQUIRE_ENVOY' },
  { name: 'Redis', pattern: /redis/i, programs: ['redis-server'], requiredBy: 'FLEETRELAY_REQUIRE_REDIS' },
  { name: 'SSH', pattern: /over SSH/, programs: ['sshd'], requiredBy: 'FLEETRELAY_REQUIRE_SSH' },
  {
    name: 'Prometheus',
    pattern: /prometheus|promtool/i,
    programs: ['promtool', 'prometheus'],
    requiredBy: 'FLEETRELAY_REQUIRE_PROMTOOL',
  },
  {
    name: 'the built image',
    pattern: /built-image/,
    programs: ['buildah', 'mmdebstrap'],
    requiredBy: 'FLEETRELAY_REQUIRE_BUILDAH',
  },
];

/** Names of skipped tests that match. */
function skippedOn(pattern: RegExp, { files }: TestRun): readonly string[] {
  return files.flatMap(({ path, tests }) =>
    tests
      .filter(({ state }) => state === 'skipped')
      .map(({ name }) => `${path}: ${name}`)
      .filter((test) => pattern.test(test)),
  );
}

/** How many failures it is that suites were skipped: none, unless they are required. Says so in any case. */
function judgeSkipped(need: Need, seen: TestRun): number {
  const skipped = skippedOn(need.pattern, seen);
  if (skipped.length === 0) return 0;
  const absent = need.programs.filter((program) => findProgram(program, process.env) === undefined);
  const how = [...new Set(absent.map(howToGet))].map((command) => `\`${command}\``).join(' and ');
  const why =
    absent.length > 0
      ? `${absent.join(' and ')} is not here; ${how} gets it`
      : `they are skipped for a reason of their own, first ${skipped[0]}`;
  console.log(`${skipped.length} tests on ${need.name} were skipped: ${why}`);
  return process.env[need.requiredBy] === '1' ? skipped.length : 0;
}

async function main(all: readonly string[]): Promise<number> {
  if (all.includes(HELP)) {
    console.log(USAGE);
    return 0;
  }
  const args = all.filter((arg) => !OWN_OPTIONS.includes(arg));
  if (args.length === 0 && !all.includes(NO_PREPARATION)) {
    console.log('making the programs ready that tests start ...');
    for (const program of await preparePrograms(systemPreparation(process.env, all.includes(LONG))))
      console.log(readinessLine(program));
  }
  if (all.includes(PREPARE)) return 0;
  if (all.includes(LONG)) process.env.FLEETRELAY_TESTS = 'long';
  const first = await run(args);
  const last = all.includes(NO_RERUN) ? first : await runFailedAgain(first, args);
  const totals = countTests(last);
  const failed = totals.failed + NEEDS.reduce((sum, need) => sum + judgeSkipped(need, last), 0);
  if (all.includes(DURATIONS)) for (const line of durationLines(last)) console.log(line);
  for (const line of unstableFiles(first, last)) console.log(line);
  const skipped = totals.skipped === 0 ? '' : `, ${totals.skipped} skipped`;
  console.log(`${totals.passed} passed, ${failed} failed${skipped}`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
