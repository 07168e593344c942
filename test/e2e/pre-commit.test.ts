import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPreCommit, type PreCommit } from '../../scripts/local/pre-commit.ts';
import { isLong } from '../support/long.ts';
import { installOnPath } from '../support/program-on-path.ts';
import { noProgram, programPath } from '../support/programs.ts';

/** An installation by npm that has not ended by then has failed. */
const TIME_LIMIT_MS = 1_500_000;
const project = join(import.meta.dirname, '../..');
const found: PreCommit = noProgram('python3') ? { ok: false, problem: 'python3 is not here' } : await findPreCommit();
let home = '';
let environment: NodeJS.ProcessEnv = {};

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-pre-commit-'));
  environment = {
    ...process.env,
    ...installOnPath(home),
    // The hook that pre-commit installs starts with the Node of the machine, of any version, and not with this checkout's.
    PATH: [join(home, 'bin'), ...machinePath()].join(delimiter),
    HOME: process.env.HOME,
    PRE_COMMIT_HOME: join(home, 'cache'),
  };
  run(programPath('bash'), ['-c', 'git init --quiet fleet && cd fleet && fleetrelay init . && git add --all'], home);
});

afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

/** The PATH without what npm puts before it. */
function machinePath(): readonly string[] {
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
}

function run(command: string, args: readonly string[], cwd = join(home, 'fleet')) {
  const options = { cwd, env: environment, encoding: 'utf8', timeout: TIME_LIMIT_MS, stdio: 'pipe' } as const;
  try {
    return { code: 0, out: execFileSync(command, args, options) };
  } catch (error) {
    const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
    return { code: status, out: `${stdout}${stderr}` };
  }
}

/** Runs a hook of this project as a person tries it: on what is committed here. */
function tryHook(hook: string) {
  return run(found.ok ? found.program : '', ['try-repo', project, hook, '--all-files', '--color', 'never']);
}

const BAD = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: hello\ndta: {}\n';
const FINDING = 'apps/hello/bad.yaml:6:1: error FR2003: dta is not a field that is known here (did you mean data?)\n';

test.skipIf(!found.ok || noProgram('bash'))(
  `the hook with the fleetrelay on the PATH${found.ok ? '' : ` (skipped: ${found.problem})`}`,
  () => {
    expect(tryHook('fleetrelay-validate-system')).toMatchObject({ code: 0, out: expect.stringMatching(/Passed\n$/) });
    writeFileSync(join(home, 'fleet/apps/hello/bad.yaml'), BAD);
    run('git', ['add', '--all']);
    expect(tryHook('fleetrelay-validate-system')).toMatchObject({ code: 1, out: expect.stringContaining(FINDING) });
  },
);

test.skipIf(!found.ok || noProgram('bash'))('a name of a file is never an option, with own args too', () => {
  const bad = '--kubeconfig=bad.yaml';
  const repository = join(home, 'names');
  const hooks = (args: string) =>
    `repos: [{ repo: ${project}, rev: HEAD, hooks: [{ id: fleetrelay-validate-system${args} }] }]`;
  run('git', ['init', '--quiet', repository], home);
  writeFileSync(join(repository, bad), BAD);
  const withArgs = (args: string) => {
    writeFileSync(join(repository, '.pre-commit-config.yaml'), hooks(args));
    run('git', ['add', '--all'], repository);
    return run(found.ok ? found.program : '', ['run', '--all-files', '--color', 'never'], repository);
  };
  const finding = FINDING.replace('apps/hello/bad.yaml', bad);
  expect(withArgs('')).toMatchObject({ code: 1, out: expect.stringContaining(finding) });
  expect(withArgs(', args: [--strict, --]')).toMatchObject({ code: 1, out: expect.stringContaining(finding) });
  expect(withArgs(', args: [--strict]')).toMatchObject({
    code: 1,
    out: expect.stringContaining(`"${bad}" is the name of a file and of an option`),
  });
});

// npm installs fleetrelay with all that builds it, and its Node: two minutes, and it needs the registry.
test.skipIf(!found.ok || noProgram('bash') || !isLong)(
  'the hook that pre-commit installs with npm',
  () => {
    writeFileSync(join(home, 'fleet/apps/hello/bad.yaml'), BAD);
    run('git', ['add', '--all']);
    expect(tryHook('fleetrelay-validate')).toMatchObject({ code: 1, out: expect.stringContaining(FINDING) });
  },
  TIME_LIMIT_MS,
);

test.skipIf(noProgram('bash'))('the hook with the image runs the same command', () => {
  interface Hook {
    readonly id: string;
    readonly entry: string;
    readonly language: string;
  }
  const hooks = load(readFileSync(join(project, '.pre-commit-hooks.yaml'), 'utf8')) as readonly Hook[];
  const [node, , docker] = hooks;
  expect(hooks.map(({ language }) => language)).toEqual(['node', 'system', 'docker_image']);
  // The entry point of the image is fleetrelay itself.
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { readonly version: string };
  expect(docker?.entry).toBe(node?.entry.replace(/^fleetrelay/, `fleetrelay:${version}`));
});
