import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseIgnoreFile } from '../../../src/sources/tree/ignore-file.ts';
import { createGitSandbox, type GitSandbox, hermeticGit } from '../../support/git-sandbox.ts';
import { follows } from '../../support/ignore-rules.ts';

let box: GitSandbox;
beforeAll(() => {
  box = createGitSandbox();
  box.git(box.path, 'init', '--quiet');
});
afterAll(() => box.remove());

/** The paths that git excludes by these rules. */
function excludedByGit(rules: string, paths: readonly string[]): readonly string[] {
  writeFileSync(join(box.path, '.gitignore'), rules);
  try {
    const args = ['check-ignore', '--no-index', '-z', '--stdin'];
    const options = { cwd: box.path, env: hermeticGit, input: paths.join('\0'), encoding: 'utf8' } as const;
    return execFileSync('git', args, options).split('\0').filter(Boolean);
  } catch (error) {
    // Not one is excluded.
    if ((error as { status?: number }).status === 1) return [];
    throw error;
  }
}

const piece = fc.constantFrom(
  ...['a', 'b', 'ab', 'c', '.', '-', ' ', '*', '*', '*', '?', '\\a', '\\*', '\\ '],
  ...['[ab]', '[!a]', '[^b]', '[a-c]', '[]a]', '[a\\]]', '[[:alpha:]]', '[![:punct:]b]'],
);
const name = fc.oneof(
  { weight: 4, arbitrary: fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.constantFrom('**', '**', '***') },
);
const rule = fc
  .tuple(
    ...[fc.constantFrom('', '', '', '!'), fc.constantFrom('', '', '', '/')],
    fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/')),
    ...[fc.constantFrom('', '', '', '/'), fc.constantFrom('', '', '', ' ', '  ')],
  )
  .map((parts) => parts.join(''))
  // git takes "a**" for complete folders where the text before it is plain, unlike what its manual says.
  .filter((text) => !/[^/*!]\*\*|\*\*[^/*]/.test(text));
const comment = fc.constantFrom('', '# a', '\\#', '  ');
const fileName = fc
  .array(fc.constantFrom('a', 'b', 'c', 'ab', '.', '*', '-', ']', ' ', '#'), { minLength: 1, maxLength: 3 })
  .map((characters) => characters.join(''))
  .filter((text) => text !== '.' && text !== '..');
const path = fc.array(fileName, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));

test('an ignore file excludes what git excludes by the same rules', () => {
  let excluded = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 5, arbitrary: rule }, comment), { minLength: 1, maxLength: 5 }),
      fc.uniqueArray(path, { minLength: 20, maxLength: 20 }),
      (lines, paths) => {
        const text = `${lines.join('\n')}\n`;
        const parsed = parseIgnoreFile(text);
        fc.pre(parsed.ok);
        const expected = excludedByGit(text, paths);
        expect(paths.filter((one) => !follows(parsed.membership, one))).toEqual(expected);
        excluded += expected.length;
      },
    ),
    { numRuns: 300 },
  );
  expect(excluded).toBeGreaterThan(500);
});
