import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installOnPath } from '../../support/program-on-path.ts';
import { noProgram, programPath } from '../../support/programs.ts';

const ci = join(import.meta.dirname, '../../../deploy/ci');
let folder = '';
let environment: Readonly<Record<string, string>> = {};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-ci-'));
  environment = installOnPath(folder);
  mkdirSync(join(folder, 'repository'));
  script('git init --quiet && git commit --quiet --allow-empty -m one && touch a.txt');
  writeFileSync(join(folder, 'repository/old.yaml'), manifest('old'));
  script('git add --all && git commit --quiet -m two');
  writeFileSync(join(folder, 'repository/new.yaml'), manifest('new'));
  script('git add --all && git commit --quiet -m three');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function manifest(name: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndta: {}\n`;
}

/** Runs a script of a CI system in the repository: its exit code and its output. */
function script(text: string, variables: Readonly<Record<string, string>> = {}) {
  const env = { ...environment, ...variables };
  const options = { cwd: join(folder, 'repository'), env, encoding: 'utf8', timeout: 120_000, stdio: 'pipe' } as const;
  try {
    return { code: 0, out: execFileSync(programPath('bash'), ['-e', '-o', 'pipefail', '-c', text], options) };
  } catch (error) {
    const { status, stdout } = error as { readonly status: number; readonly stdout: string };
    return { code: status, out: stdout };
  }
}

test.skipIf(noProgram('bash'))('the action for GitHub annotates what a pull request changes, or everything', () => {
  interface Action {
    readonly runs: { readonly steps: readonly { readonly name?: string; readonly run?: string }[] };
  }
  const action = load(readFileSync(join(ci, 'github/action.yml'), 'utf8')) as Action;
  const run = action.runs.steps.find(({ name }) => name === 'Validate')?.run ?? '';
  const variables = {
    GITHUB_ACTION_PATH: join(ci, 'github'),
    PATHS: '.',
    SINCE: '',
    VERSIONS: '1.33 1.36',
    ARGS: '--strict',
  };
  const all = script(run, variables);
  expect(all.code).toBe(1);
  expect(all.out.match(/^::error file=\w+\.yaml,line=5/gm)).toHaveLength(2);
  const changed = script(run, { ...variables, SINCE: 'HEAD~1' });
  expect(changed.out.match(/^::error file=new\.yaml,line=5/gm)).toHaveLength(1);
  expect(changed.out).not.toContain('old.yaml');
});

test.skipIf(noProgram('bash'))(
  'the template for GitLab writes a report of what a merge request changes, or of everything',
  () => {
    interface Template {
      readonly 'fleetrelay-validate': {
        readonly variables: Readonly<Record<string, string>>;
        readonly script: readonly string[];
      };
    }
    const template = load(readFileSync(join(ci, 'gitlab/validate.gitlab-ci.yml'), 'utf8')) as Template;
    const { variables, script: lines } = template['fleetrelay-validate'];
    const reported = (): readonly string[] =>
      (
        JSON.parse(readFileSync(join(folder, 'repository/gl-code-quality-report.json'), 'utf8')) as {
          location: { path: string };
        }[]
      ).map(({ location }) => location.path);
    expect(script(lines.join('\n'), variables).code).toBe(1);
    expect(reported()).toEqual(['new.yaml', 'old.yaml']);
    rmSync(join(folder, 'repository/gl-code-quality-report.json'));
    expect(script(lines.join('\n'), { ...variables, CI_MERGE_REQUEST_DIFF_BASE_SHA: 'HEAD~1' }).code).toBe(1);
    expect(reported()).toEqual(['new.yaml']);
  },
);
