/**
 * `npm test`: runs the tests and ends with one line that says how it went. Arguments are passed on to vitest:
 * `npm test -- test/unit/cli`, `npm test -- --project unit -t approve`. `npm run test:long` (`--long`) runs those that take
 * too long for every change, and only those (`test/support/long.ts`).
 *
 * Files of integration tests that fail are run once more, alone, after all others. What passes then counts as passed and is
 * named as unstable: a defect, but not of this change. `--no-rerun` turns that off.
 *
 * `--durations` prints the slowest files, with their seconds.
 *
 * Suites on Kubernetes, Envoy, Redis and Prometheus are skipped where their programs are not here;
 * FLEETRELAY_REQUIRE_KUBERNETES=1, FLEETRELAY_REQUIRE_ENVOY=1, FLEETRELAY_REQUIRE_REDIS=1 and FLEETRELAY_REQUIRE_PROMTOOL=1 make
 * that a failure.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { findEnvoy } from './local/envoy-program.ts';
import { findKubernetesPrograms } from './local/kubernetes-programs.ts';
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
const OWN_OPTIONS: readonly string[] = [NO_RERUN, DURATIONS, LONG];
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

/** Why not all suites on Kubernetes could run; undefined: they could. */
function kubernetesProblem(): string | undefined {
  const programs = findKubernetesPrograms(process.env);
  if (programs === undefined) return 'kube-apiserver, etcd and kubectl are not here';
  return programs.controllerManager === undefined ? 'kube-controller-manager is not here' : undefined;
}

/** Why the suites on Redis could not run; undefined: they could. */
function redisProblem(): string | undefined {
  const { error } = spawnSync('redis-server', ['--version'], { stdio: 'ignore' });
  return error === undefined ? undefined : 'redis-server is not here';
}

/** Why the suites on Envoy could not run; undefined: they could. */
function envoyProblem(): string | undefined {
  return findEnvoy(process.env) === undefined ? 'envoy is not here' : undefined;
}

/** Why the suites on Prometheus could not run; undefined: they could. */
function prometheusProblem(): string | undefined {
  const missing = ['promtool', 'prometheus'].filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
  );
  return missing.length === 0 ? undefined : `${missing.join(' and ')} is not here`;
}

/** What suites need that is not on every machine. */
interface Need {
  readonly name: string;
  /** Of the names of tests that are about it. */
  readonly pattern: RegExp;
  readonly problem: () => string | undefined;
  readonly remedy: string;
  /** Environment variable that makes skipped suites failures. */
  readonly requiredBy: string;
}

const NEEDS: readonly Need[] = [
  {
    name: 'Kubernetes',
    pattern: /kubernetes/i,
    problem: kubernetesProblem,
    remedy: '`npm run kubernetes-binaries` gets what is missing',
    requiredBy: 'FLEETRELAY_REQUIRE_KUBERNETES',
  },
  {
    name: 'Envoy',
    pattern: /envoy/i,
    problem: envoyProblem,
    remedy: '`npm run envoy-binary` gets it',
    requiredBy: 'FLEETRELAY_REQUIRE_ENVOY',
  },
  {
    name: 'Redis',
    pattern: /redis/i,
    problem: redisProblem,
    remedy: '`apt-get install redis-server` gets it',
    requiredBy: 'FLEETRELAY_REQUIRE_REDIS',
  },
  {
    name: 'Prometheus',
    pattern: /prometheus|promtool/i,
    problem: prometheusProblem,
    remedy: '`apt-get install prometheus` gets it',
    requiredBy: 'FLEETRELAY_REQUIRE_PROMTOOL',
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
  const problem = need.problem();
  const why = problem ?? `they are skipped for a reason of their own, first ${skipped[0]}`;
  const how = problem === undefined ? '' : `; ${need.remedy}`;
  console.log(`${skipped.length} tests on ${need.name} were skipped: ${why}${how}`);
  return process.env[need.requiredBy] === '1' ? skipped.length : 0;
}

async function main(all: readonly string[]): Promise<number> {
  const args = all.filter((arg) => !OWN_OPTIONS.includes(arg));
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
