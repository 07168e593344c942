import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

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
    expect(textOf(path).match(/"resolved": /g), path).toBeNull();
  }
});
