import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';

/** `npm run docs`: its builder is installed from the registry, so only `npm run test:long` runs this. */

const project = join(import.meta.dirname, '../..');
const site = join(project, 'site/dist');
const pageOf = (path: string): string => readFileSync(join(site, path), 'utf8');

// It fails if a page links to one that is not there, or has text that is no Markdown of the site.
beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(project, 'scripts/build-site.ts')], {
    cwd: project,
    timeout: 280_000,
    maxBuffer: 16 * 1024 * 1024,
  });
});

test('the site has each page at its place, and the README of a folder as its index', () => {
  for (const path of globSync('docs/**/*.md', { cwd: project })) {
    const built = path.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');
    expect(existsSync(join(site, built)), built).toBe(true);
  }
  expect(pageOf('index.html')).toContain('<title>fleetrelay</title>');
});

test('a link to a file that is no page leads to a copy of it', () => {
  expect(pageOf('docs/reference/kinds/placement.html')).toContain('href="../../../schemas/placement.json"');
  expect(pageOf('schemas/placement.json')).toBe(readFileSync(join(project, 'schemas/placement.json'), 'utf8'));
});

test('the icon that the charts name is there', () => {
  expect(pageOf('icon.svg')).toBe(readFileSync(join(project, 'deploy/helm/icon.svg'), 'utf8'));
});

test('text of a page is text: no expression, no emoji, no address made of a name', () => {
  const page = pageOf('docs/reference/kinds/placement.html');
  expect(page).toContain('{a,b} for either');
  expect(page).not.toContain('href="http://fleetrelay.dev');
});

test('it is searched without a network, and loads nothing from elsewhere', () => {
  expect(globSync('assets/chunks/@localSearchIndex*.js', { cwd: site })).not.toEqual([]);
  const pages = globSync('**/*.html', { cwd: site });
  expect(pages.length).toBeGreaterThan(200);
  for (const path of pages) expect(pageOf(path), path).not.toMatch(/<(script|link|img)[^>]+(src|href)="(https?:)?\/\//);
});
