import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { TestFile, TestOutcome, TestRun } from './test-outcomes.ts';

/** Names the file that the outcomes of a run go to, as JSON. */
export const REPORT_FILE = 'FLEETRELAY_TEST_REPORT';

/** What vitest's own JSON does not tell apart: a file's project, and errors that belong to no test. vitest calls it with `new`. */
// biome-ignore lint/style/noDefaultExport: that is where vitest looks for a reporter.
export default function createReporter(): Reporter {
  return {
    onTestRunEnd: (modules, errors) => {
      const run: TestRun = { files: modules.map(fileOf), broken: errors.length > 0 || modules.length === 0 };
      const file = process.env[REPORT_FILE];
      if (file !== undefined) writeFileSync(file, JSON.stringify(run));
    },
  };
}

function fileOf(module: TestModule): TestFile {
  return {
    path: relative(process.cwd(), module.moduleId),
    project: module.project.name,
    failed: module.state() === 'failed',
    tests: [...module.children.allTests()].map(outcomeOf),
    milliseconds: millisecondsOf(module),
    processorMilliseconds: module.meta().processorMilliseconds ?? 0,
  };
}

function millisecondsOf(module: TestModule): number {
  const { environmentSetupDuration, prepareDuration, setupDuration, collectDuration, duration } = module.diagnostic();
  return environmentSetupDuration + prepareDuration + setupDuration + collectDuration + duration;
}

function outcomeOf(test: TestCase): TestOutcome {
  const { state } = test.result();
  return { name: test.fullName, state: state === 'pending' ? 'skipped' : state };
}
