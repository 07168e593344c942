import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { PROGRAMS } from '../../scripts/local/programs.ts';

const project = resolve(import.meta.dirname, '../..');
const home = mkdtempSync(join(tmpdir(), 'fleetrelay-without-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A folder with links to all that is on the PATH, except the programs that suites start. */
function pathWithout(): string {
  const folder = join(home, 'bin');
  mkdirSync(folder);
  const absent = new Set<string>([...Object.keys(PROGRAMS), 'envoy', 'etcd']);
  const taken = new Set<string>();
  for (const from of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of namesIn(from)) {
      if (absent.has(name) || taken.has(name)) continue;
      taken.add(name);
      symlinkSync(join(from, name), join(folder, name));
    }
  }
  return folder;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** One file of each kind: on Redis, OpenSSL, the keys of people, bash, Prometheus, Kubernetes, Envoy, Helm, and shells. */
const FILES: readonly string[] = [
  'test/e2e/relay/01-initial-state.test.ts',
  'test/e2e/relay/17-removals.test.ts',
  'test/e2e/single-server.test.ts',
  'test/contract/store/redis.test.ts',
  'test/contract/trust/requests.test.ts',
  'test/hostile/processes/signed-approvals.test.ts',
  'test/hostile/processes/approval-signatures.test.ts',
  'test/contract/deploy/ci.test.ts',
  'test/contract/prometheus/alerts.test.ts',
  'test/contract/lease/api-server.test.ts',
  'test/contract/envoy/bootstrap.test.ts',
  'test/contract/deploy/charts.test.ts',
  'test/unit/cli/completion.test.ts',
];

test('without any of the programs a suite of each kind is skipped, and none fails', () => {
  // A run that requires the programs, as CI does, requires them of the outer run only.
  const required = ([name]: readonly [string, unknown]): boolean => name.startsWith('FLEETRELAY_REQUIRE_');
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter((entry) => !required(entry))),
    PATH: pathWithout(),
    HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    KUBEBUILDER_ASSETS: '',
    ENVOY: '',
  };
  const args = [join(project, 'scripts/test.ts'), '--no-rerun', ...FILES];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: project,
    env,
    encoding: 'utf8',
    timeout: 280_000,
    killSignal: 'SIGKILL',
  });
  const [, failed, skipped] = /(\d+) failed, (\d+) skipped\n$/.exec(stdout) ?? [];
  expect([status, failed], `${stdout}${stderr}`).toEqual([0, '0']);
  expect(Number(skipped)).toBeGreaterThan(100);
});
