import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

/** Each ARCHITECTURE.md begins with code that uses its part: it compiles as the project does, and prints what the page says. */

const project = join(import.meta.dirname, '../..');
const pages = globSync(['ARCHITECTURE.md', 'src/**/ARCHITECTURE.md'], { cwd: project }).sort();
const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-architecture-'));
writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
afterAll(() => rmSync(folder, { recursive: true }));

interface Example {
  readonly page: string;
  readonly code: string;
  /** What the page says that it prints; undefined: nothing. */
  readonly output: string | undefined;
}

const run = promisify(execFile);

function exampleOf(page: string): Example {
  const text = readFileSync(join(project, page), 'utf8');
  const [, code = '', output] =
    /^# .*\n\n.*\n\n```ts\n([\s\S]*?)^```\n(?:\nIt prints:\n\n```text\n([\s\S]*?)^```\n)?/m.exec(text) ?? [];
  return { page, code, output };
}

/** The code as a file of its own: what it names relative to the page, or to its folder, is named in full. */
function standalone({ page, code }: Example): string {
  const place = join(project, dirname(page));
  return code
    .replaceAll(/from '(\.[^']+)'/g, (_, path: string) => `from ${JSON.stringify(join(place, path))}`)
    .replaceAll('import.meta.dirname', JSON.stringify(place));
}

/** The errors of the compiler for files with these texts, under the settings of the project. */
async function compile(texts: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  const settings = {
    extends: join(project, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(project, 'node_modules/@types')] },
    files: Object.keys(texts),
    include: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  const compiler = join(project, 'node_modules/typescript/bin/tsc');
  return run(process.execPath, [compiler, '--pretty', 'false', '-p', folder]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  );
}

const examples = pages.map(exampleOf);
const fileOf = (page: string): string => page.replaceAll('/', '-').replace('.md', '.ts');

test('each page begins with at most 15 lines of code', () => {
  expect(pages.length).toBeGreaterThanOrEqual(5);
  for (const { page, code } of examples) {
    expect(code, page).toContain("from './");
    expect(code.trimEnd().split('\n').length, page).toBeLessThanOrEqual(15);
  }
});

test('the code compiles, and the compiler would find a mistake in it', async () => {
  const texts = Object.fromEntries(examples.map((example) => [fileOf(example.page), standalone(example)]));
  const [first = ''] = Object.values(texts);
  const errors = (await compile({ ...texts, 'planted.ts': first.replaceAll('objectsOf(', 'objectOf(') }))
    .split('\n')
    .filter((line) => line !== '');
  expect(errors).not.toEqual([]);
  expect(errors.filter((line) => !/planted\.ts\(\d+,\d+\): error TS\d+: /.test(line))).toEqual([]);
});

test.each(examples.filter(({ output }) => output !== undefined))(
  'the code of $page prints what it says',
  async (example) => {
    const file = join(folder, `run-${fileOf(example.page)}`);
    writeFileSync(file, standalone(example));
    const { stdout } = await run(process.execPath, [file], { cwd: folder, env: { ...process.env, NO_COLOR: '1' } });
    expect(stdout).toBe(example.output);
  },
);
