import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { PROGRAMS } from '../../scripts/local/programs.ts';

/** A suite starts a program by `programPath`, after it has asked `noProgram`: then it is skipped where the program is not here. */

const project = resolve(import.meta.dirname, '../..');
const names = Object.keys(PROGRAMS).join('|');
/** A call that starts a process, with the name of a program as a text. */
const BY_NAME = new RegExp(
  `\\b(?:spawn|spawnSync|execFile|execFileSync|exec|execSync|promisify\\(execFile\\))\\(\\s*['"\`](?:${names})\\b`,
);
/** The functions with which suites found programs in their own ways. */
const OWN_LOOK = /\b(?:findEnvoy|findKubernetesPrograms)\(process\.env\)/;
/** A control plane is started by one module. */
const STARTS_PLANES = 'test/support/kubernetes/control-plane.ts';

function sources(): readonly string[] {
  const files = readdirSync(join(project, 'test'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((path) => path.endsWith('.ts') && path !== 'static/programs.test.ts')
    .map((path) => `test/${path}`);
}

test('no suite starts a program by its name, or looks for one in a way of its own', () => {
  const found = sources().filter((path) => {
    const text = readFileSync(join(project, path), 'utf8');
    return BY_NAME.test(text) || (OWN_LOOK.test(text) && path !== STARTS_PLANES);
  });
  expect(found).toEqual([]);
});

test('a suite that starts a program asks whether it is here', () => {
  const asking = sources().filter((path) => path.endsWith('.test.ts'));
  const silent = asking.filter((path) => {
    const text = readFileSync(join(project, path), 'utf8');
    return (
      /\bprogramPath\('|\bstart(?:Redis|RedisTrio|Sshd|Envoy|RelayFleet)\(/.test(text) &&
      !/\bnoProgram\(|needs: \[/.test(text)
    );
  });
  expect(silent).toEqual([]);
});

test.each([
  "spawn('redis-server', args)",
  "await promisify(execFile)('promtool', [])",
  "execFileSync(\n  'openssl', [])",
])('the test itself would find %j', (code) => {
  expect(code).toMatch(BY_NAME);
});
