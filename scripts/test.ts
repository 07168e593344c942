/**
 * `npm test`: runs every test and ends with one line that says how it went. Arguments are passed on to vitest:
 * `npm test -- test/unit/cli`, `npm test -- --project unit -t approve`.
 *
 * Suites on Kubernetes, Redis and Prometheus are skipped where their programs are not here; FLEETRELAY_REQUIRE_KUBERNETES=1,
 * FLEETRELAY_REQUIRE_REDIS=1 and FLEETRELAY_REQUIRE_PROMTOOL=1 make that a failure.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { findKubernetesPrograms } from '../src/compose/demo/kubernetes-programs.ts';

/** The part of vitest's JSON report that is counted here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

function run(report: string, args: readonly string[]): Promise<number> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  // Tests never read the person's own git settings.
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], { stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** A file that cannot even be loaded has no failed tests in the report, but has failed. */
function count(report: Report): Totals {
  const broken = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** Why not all suites on Kubernetes could run; undefined: they could. */
function kubernetesTrouble(): string | undefined {
  const programs = findKubernetesPrograms(process.env);
  if (programs === undefined) return 'kube-apiserver, etcd and kubectl are not here';
  return programs.controllerManager === undefined ? 'kube-controller-manager is not here' : undefined;
}

/** Why the suites on Redis could not run; undefined: they could. */
function redisTrouble(): string | undefined {
  const { error } = spawnSync('redis-server', ['--version'], { stdio: 'ignore' });
  return error === undefined ? undefined : 'redis-server is not here';
}

/** Why the suites on Prometheus could not run; undefined: they could. */
function prometheusTrouble(): string | undefined {
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
  readonly trouble: () => string | undefined;
  readonly remedy: string;
  /** Environment variable that makes skipped suites failures. */
  readonly requiredBy: string;
}

const NEEDS: readonly Need[] = [
  {
    name: 'Kubernetes',
    pattern: /kubernetes/i,
    trouble: kubernetesTrouble,
    remedy: '`npm run kubernetes-binaries` gets what is missing',
    requiredBy: 'FLEETRELAY_REQUIRE_KUBERNETES',
  },
  {
    name: 'Redis',
    pattern: /redis/i,
    trouble: redisTrouble,
    remedy: '`apt-get install redis-server` gets it',
    requiredBy: 'FLEETRELAY_REQUIRE_REDIS',
  },
  {
    name: 'Prometheus',
    pattern: /prometheus|promtool/i,
    trouble: prometheusTrouble,
    remedy: '`apt-get install prometheus` gets it',
    requiredBy: 'FLEETRELAY_REQUIRE_PROMTOOL',
  },
];

/** Names of skipped tests that match. */
function skippedOn(pattern: RegExp, report: Report): readonly string[] {
  return report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'skipped' || status === 'pending')
      .map(({ fullName }) => `${relative(process.cwd(), name)}: ${fullName}`)
      .filter((test) => pattern.test(test)),
  );
}

/** How many failures it is that suites were skipped: none, unless they are required. Says so in any case. */
function judgeSkipped(need: Need, report: Report | undefined): number {
  const skipped = report === undefined ? [] : skippedOn(need.pattern, report);
  if (skipped.length === 0) return 0;
  const trouble = need.trouble();
  const why = trouble ?? `they are skipped for a reason of their own, first ${skipped[0]}`;
  const how = trouble === undefined ? '' : `; ${need.remedy}`;
  console.log(`${skipped.length} tests on ${need.name} were skipped: ${why}${how}`);
  return process.env[need.requiredBy] === '1' ? skipped.length : 0;
}

async function main(args: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-test-'));
  try {
    const file = join(folder, 'report.json');
    const code = await run(file, args);
    const report = await readFile(file, 'utf8').then(
      (text) => JSON.parse(text) as Report,
      () => undefined,
    );
    const totals = report === undefined ? { passed: 0, failed: 0, skipped: 0 } : count(report);
    // An error outside any test (an unhandled rejection, a crashed worker, no test found) fails the run as well.
    const broken = code !== 0 && totals.failed === 0 ? 1 : totals.failed;
    const failed = broken + NEEDS.reduce((sum, need) => sum + judgeSkipped(need, report), 0);
    const skipped = totals.skipped === 0 ? '' : `, ${totals.skipped} skipped`;
    console.log(`${totals.passed} passed, ${failed} failed${skipped}`);
    return failed === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
