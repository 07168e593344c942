import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ValidationRequest } from '../../../../src/compose/validate/report.ts';
import { validatePaths } from '../../../../src/compose/validate/validate.ts';
import { displayDiagnostic } from '../../../../src/model/fleet/diagnostic.ts';
import { bytesOf } from '../../../support/decoding.ts';

const WRONG =
  '\ufeffapiVersion: fleetrelay.dev/v1alpha1\r\nkind: Placement\r\nmetadata: {name: a}\r\nspec: {Paths: [x], clusters: {names: [a]}, bad: 1}\r\n';
const MENDED = WRONG.replace('Paths', 'paths');
let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'validate-fix-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function fix(paths: readonly string[], stdin = '') {
  const report = await validatePaths({ paths, cwd, readStdin: async () => bytesOf(stdin), fix: true });
  return { ...report, said: report.diagnostics.map(displayDiagnostic) };
}

const REST = '4:44: error: spec.bad is not a field that is known here';

describe('validate with fix', () => {
  it('replaces files with their mode, and reports what is left', async () => {
    await writeFile(join(cwd, 'a.yaml'), WRONG);
    await writeFile(join(cwd, 'good.yaml'), MENDED.replace(', bad: 1', ''));
    await chmod(join(cwd, 'a.yaml'), 0o640);
    const { inode } = await identity('good.yaml');
    const report = await fix(['.']);
    expect(report.fixed).toEqual([{ path: 'a.yaml', findings: 1 }]);
    expect(report.said).toEqual([expect.stringContaining(`a.yaml:${REST}`)]);
    expect(await readFile(join(cwd, 'a.yaml'), 'utf8')).toBe(MENDED);
    expect((await identity('a.yaml')).mode).toBe(0o640);
    expect((await identity('good.yaml')).inode).toBe(inode);
    expect((await readdir(cwd)).sort()).toEqual(['a.yaml', 'good.yaml']);
    expect((await fix(['.'])).fixed).toEqual([]);
  });

  it('mends in one run what shows only after another fix, so that a second run changes nothing', async () => {
    const policy =
      "apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: p}\nspec: {SafeMode: {Mode: 'STRICT'}}\n";
    await writeFile(join(cwd, 'a.yaml'), policy);
    const report = await fix(['.']);
    expect(report.fixed).toEqual([{ path: 'a.yaml', findings: 3 }]);
    expect(report.said).toEqual([]);
    const mended = policy.replace("SafeMode: {Mode: 'STRICT'}", "safeMode: {mode: 'strict'}");
    expect(await readFile(join(cwd, 'a.yaml'), 'utf8')).toBe(mended);
    expect((await fix(['.'])).fixed).toEqual([]);
  });

  it('mends the kind of an object with other faults, which only then show', async () => {
    const deployment = 'apiVersion: apps/v1\nkind: deployment\nmetadata: {name: a}\nspec: {bad: 1, worse: 2}\n';
    await writeFile(join(cwd, 'a.yaml'), deployment);
    const report = await fix(['.']);
    expect(report.fixed).toEqual([{ path: 'a.yaml', findings: 1 }]);
    expect(report.said.filter((line) => line.includes('is not a field'))).toHaveLength(2);
    expect(await readFile(join(cwd, 'a.yaml'), 'utf8')).toBe(deployment.replace('deployment', 'Deployment'));
  });

  it('replaces a file whose name is as long as a name can be', async () => {
    const name = `${'ä'.repeat(125)}.yaml`;
    await writeFile(join(cwd, name), WRONG);
    expect((await fix([name])).fixed).toEqual([{ path: name, findings: 1 }]);
    expect(await readdir(cwd)).toEqual([name]);
  });

  it('changes nothing through a link', async () => {
    await writeFile(join(cwd, 'target.txt'), WRONG);
    await symlink('target.txt', join(cwd, 'link.yaml'));
    const report = await fix(['link.yaml']);
    expect(report.fixed).toEqual([]);
    expect(report.said).toHaveLength(3);
    expect(await readFile(join(cwd, 'target.txt'), 'utf8')).toBe(WRONG);
  });

  it('changes nothing that a comment suppresses', async () => {
    const ignored = MENDED.replace('ports', 'Ports').replace(
      'bad: 1}',
      'bad: 1} # fleetrelay-ignore: FR2003 on purpose',
    );
    await writeFile(join(cwd, 'a.yaml'), ignored);
    const report = await fix(['.']);
    expect(report.fixed).toEqual([]);
    expect(await readFile(join(cwd, 'a.yaml'), 'utf8')).toBe(ignored);
  });

  it('does not call a suppression unused that is about other files, or about what the request leaves out', async () => {
    const comment = (code: string) =>
      `# fleetrelay-ignore: ${code} known\napiVersion: a.b/v1\nkind: A\nmetadata: {name: a}\n`;
    const unused = async (code: string, more: Partial<ValidationRequest>) => {
      const request = { paths: ['-'], cwd, readStdin: async () => bytesOf(comment(code)), ...more };
      const { diagnostics } = await validatePaths(request);
      return diagnostics.filter(({ reason }) => reason === 'UnusedSuppression').length;
    };
    expect(await unused('FR3003', {})).toBe(0);
    expect(await unused('FR2003', {})).toBe(1);
    expect(await unused('FR2003', { skip: ['B'] })).toBe(0);
    expect(await unused('FR2030', { ignoreMissingSchemas: true })).toBe(0);
    expect(await unused('FR2030', {})).toBe(0);
  });

  it('returns the mended text of standard input', async () => {
    const report = await fix(['-'], WRONG);
    expect(report.fixedStdin).toBe(MENDED);
    expect(report.fixed).toEqual([{ path: '-', findings: 1 }]);
    expect(report.said).toEqual([expect.stringContaining(`-:${REST}`)]);
    expect((await fix(['-'], MENDED)).fixedStdin).toBe(MENDED);
  });
});

async function identity(name: string): Promise<{ readonly mode: number; readonly inode: number }> {
  const { mode, ino } = await stat(join(cwd, name));
  return { mode: mode & 0o7777, inode: ino };
}
