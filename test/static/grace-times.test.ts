import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { END_MS } from '../../src/cli/command.ts';
import { SERVER_END_MS } from '../../src/cli/commands/serve.ts';

const project = resolve(import.meta.dirname, '../..');
/** What Kubernetes leaves a Pod that says nothing of it. */
const DEFAULT_SECONDS = 30;

test('a Pod has more time to end than its process takes', () => {
  const files = execFileSync('git', ['grep', '-l', 'terminationGracePeriodSeconds', '--', 'deploy', 'src/compose'], {
    cwd: project,
    encoding: 'utf8',
  });
  const seconds = files
    .trim()
    .split('\n')
    .flatMap((file) => [...readFileSync(join(project, file), 'utf8').matchAll(/PeriodSeconds: (\d+)/g)])
    .map(([, number]) => Number(number));
  expect(seconds.length).toBeGreaterThan(1);
  for (const given of seconds) expect(given * 1_000).toBeGreaterThan(SERVER_END_MS);
  expect(DEFAULT_SECONDS * 1_000).toBeGreaterThan(END_MS);
});
