import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPage } from './markdown.ts';

const project = join(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(join(project, path), 'utf8');

test('the site is a package of its own: the project installs nothing of it', () => {
  const site: { readonly devDependencies: Readonly<Record<string, string>> } = JSON.parse(textOf('site/package.json'));
  expect(Object.keys(site.devDependencies)).toEqual(['vitepress']);
  expect(Object.values(site.devDependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  const ofProject = textOf('package-lock.json');
  for (const name of Object.keys(site.devDependencies)) expect(ofProject).not.toContain(`node_modules/${name}"`);
});

test('no lockfile names a registry', () => {
  for (const path of ['package-lock.json', 'site/package-lock.json']) {
    // A package of this repository is resolved to its folder.
    expect(textOf(path).match(/"resolved": "(?!tools\/)/g), path).toBeNull();
  }
});

/** The lines with a tag of HTML outside of code: GitHub leaves it out, and the site cannot be built. */
function tagsIn(page: string): readonly string[] {
  const code = new Set(readPage(page).code.flatMap(({ isBlock, number }) => (isBlock ? [number] : [])));
  return page
    .split('\n')
    .filter((_, index) => !code.has(index + 1))
    .map((line) => line.replaceAll(/(`+)[^`].*?\1/g, '').replaceAll(/<!--.*?-->|<https?:[^>]*>/g, ''))
    .filter((line) => /<\/?[a-z]/i.test(line));
}

test('no page has a tag of HTML in its text', () => {
  const pages = globSync(['*.md', '{bench,deploy,docs,examples,src}/**/*.md'], { cwd: project });
  expect(pages.length).toBeGreaterThan(200);
  expect(pages.flatMap((path) => tagsIn(textOf(path)).map((line) => `${path}: ${line}`))).toEqual([]);
  expect(
    tagsIn('# Title\n\nThe option `--x <name>` takes a <name>, see <https://example.com>.\n\n    <pre>\n'),
  ).toHaveLength(1);
});
