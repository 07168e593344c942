/**
 * `npm test`: runs every test and ends with one line that says how it went. Arguments are passed on to vitest:
 * `npm test -- test/unit/cli`, `npm test -- --project unit -t approve`.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The part of vitest's JSON report that is counted here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly name: string;
    readonly assertionResults: readonly unknown[];
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

async function main(args: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-test-'));
  try {
    const file = join(folder, 'report.json');
    const code = await run(file, args);
    const totals = await readFile(file, 'utf8').then(
      (text) => count(JSON.parse(text) as Report),
      () => ({ passed: 0, failed: 0, skipped: 0 }),
    );
    // An error outside any test (an unhandled rejection, a crashed worker, no test found) fails the run as well.
    const failed = code !== 0 && totals.failed === 0 ? 1 : totals.failed;
    const skipped = totals.skipped === 0 ? '' : `, ${totals.skipped} skipped`;
    console.log(`${totals.passed} passed, ${failed} failed${skipped}`);
    return failed === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
