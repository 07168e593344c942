import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliPages } from '../../../scripts/docs/cli-pages.ts';
import { prose, table } from '../../../scripts/docs/markdown.ts';
import { generateDocs } from '../../../scripts/generate-docs.ts';
import { runCli } from '../../support/cli.ts';

test('the generated pages are what they are made of', async () => {
  expect(await generateDocs({ check: true })).toEqual([]);
});

test('a page that differs is named and written again; one that nothing generates any more is only named', async () => {
  const root = await mkdtemp(join(tmpdir(), 'docs-'));
  try {
    await cp('docs/reference', join(root, 'docs/reference'), { recursive: true });
    await writeFile(join(root, 'docs/reference/cli/status.md'), '');
    await writeFile(join(root, 'docs/reference/cli/gone.md'), '');
    const drifted = ['docs/reference/cli/status.md', 'docs/reference/cli/gone.md'];
    expect(await generateDocs({ check: true, root })).toEqual(drifted);
    expect(await generateDocs({ check: false, root })).toEqual(drifted);
    expect(await generateDocs({ check: true, root })).toEqual(['docs/reference/cli/gone.md']);
  } finally {
    await rm(root, { recursive: true });
  }
});

test('the page of a command has the text that its help prints', async () => {
  const pages = await cliPages();
  for (const [path, words] of [
    ['status', ['status']],
    ['cluster-register', ['cluster', 'register']],
    ['probe-proxy', ['probe-proxy']],
  ] as const) {
    const { out } = await runCli([...words, '--help']);
    // The pages are 80 columns wide, the output of tests is wider.
    const [, help = ''] =
      /## Help\n\n.*\n\n```text\n([\s\S]*?)```/.exec(pages.get(`docs/reference/cli/${path}.md`) ?? '') ?? [];
    expect(wordsOf(help)).toEqual(wordsOf(out));
  }
});

function wordsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

test('only the page of a command that asks a server has the codes of its answers', async () => {
  const pages = await cliPages();
  expect(pages.get('docs/reference/cli/status.md')).toContain('| 3 | no server answers');
  expect(pages.get('docs/reference/cli/render.md')).not.toContain('| 3 |');
});

test('text that Markdown or the site would read as something else is shown as it is', () => {
  expect(prose('**, *, <file>, {{x}} and `<a>*`')).toBe('\\*\\*, \\*, &lt;file>, &#123;&#123;x}} and `<a>*`');
  expect(prose('[abc] and [a](b)')).toBe('[abc] and \\[a](b)');
  expect(table(['a'], [['x|y\nz']])).toEqual(['| a |', '|---|', '| x\\|y z |']);
});
