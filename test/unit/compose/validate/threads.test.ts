import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ValidationReport } from '../../../../src/compose/validate/report.ts';
import { validatePaths } from '../../../../src/compose/validate/validate.ts';

const FILES = 200;
let cwd: string;

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'validate-threads-'));
  for (let index = 0; index < FILES; index += 1) {
    const folder = join(cwd, `team-${index % 7}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${index}.yaml`), manifest(index));
  }
});
afterAll(() => rm(cwd, { recursive: true }));

/** Good ones, ones with findings of the schema, of the reading and of a kind without schema, and broken ones. */
function manifest(index: number): string {
  const service = `apiVersion: v1\nkind: Service\nmetadata: {name: s${index}}\nspec: {ports: [{port: 80}]}\n`;
  switch (index % 5) {
    case 0:
      return service.replace('port: 80', 'prot: 80');
    case 1:
      return `${service}---\n${service.replace('{name', '{nam')}`;
    case 2:
      return `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t${index}}\n`;
    case 3:
      return `${service}  bad: [\n`;
    default:
      return service;
  }
}

function validate(threads: number): Promise<ValidationReport> {
  const readStdin = () => Promise.reject(new Error('no standard input'));
  return validatePaths({ paths: ['.'], cwd, readStdin, threads, excerpts: true });
}

describe('threads', () => {
  it('give the same report, whatever their number', async () => {
    const [one, two, four] = await Promise.all([1, 2, 4].map((threads) => validate(threads)));
    expect(one?.files).toBe(FILES);
    expect(one?.resources.map(({ state }) => state)).toEqual(expect.arrayContaining(['valid', 'invalid', 'noSchema']));
    expect(one?.diagnostics.length).toBeGreaterThan(FILES / 2);
    const bytes = (report: ValidationReport | undefined) =>
      JSON.stringify({ ...report, excerpts: [...(report?.excerpts ?? [])] });
    expect(bytes(two)).toBe(bytes(one));
    expect(bytes(four)).toBe(bytes(one));
  });
});
