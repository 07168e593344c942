import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultTheme } from 'vitepress';

type Item = DefaultTheme.SidebarItem;

/** The folders of docs/ by reader, as docs/README.md has them; others follow by name. */
const ORDER = ['start', 'concepts', 'guides', 'domains', 'reference', 'operate', 'development'];

/**
 * The tree of docs/ as the sidebar of the site. Pages are in the order in which docs/README.md links them, then as the README of
 * their folder links them, then by title.
 */
export function sidebarOf(project: string): Item[] {
  const rankIn = (index: string, path: string): number => {
    const at = textOf(join(project, 'docs', index)).indexOf(`](${path}`);
    return at < 0 ? Number.MAX_SAFE_INTEGER : at;
  };
  const itemsIn = (folder: string): Item[] => {
    const entries = readdirSync(join(project, 'docs', folder), { withFileTypes: true });
    const pathOf = (name: string): string => (folder === '' ? name : `${folder}/${name}`);
    const pages = entries
      .filter(({ name }) => name.endsWith('.md') && name !== 'README.md')
      .map(({ name }) => ({
        path: pathOf(name),
        text: titleOf(join(project, 'docs', pathOf(name))),
        rank: rankIn('README.md', pathOf(name)),
        rankInFolder: rankIn(pathOf('README.md'), name),
      }))
      .sort((a, b) => a.rank - b.rank || a.rankInFolder - b.rankInFolder || (a.text < b.text ? -1 : 1))
      .map(({ path, text }) => ({ text, link: `/docs/${path}` }));
    const folders = entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort((a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1))
      .map((name) => group(pathOf(name)));
    return folder === '' ? [...folders, ...pages] : [...pages, ...folders];
  };
  const group = (folder: string): Item => {
    const readme = textOf(join(project, 'docs', folder, 'README.md'));
    const name = folder.split('/').at(-1) ?? '';
    return {
      text: headingOf(readme) ?? name.slice(0, 1).toUpperCase() + name.slice(1),
      ...(readme === '' ? {} : { link: `/docs/${folder}/` }),
      collapsed: folder.includes('/'),
      items: itemsIn(folder),
    };
  };
  return itemsIn('');
}

function placeOf(folder: string): number {
  const at = ORDER.indexOf(folder);
  return at < 0 ? ORDER.length : at;
}

function titleOf(file: string): string {
  return headingOf(textOf(file)) ?? file;
}

function headingOf(text: string): string | undefined {
  return /^# (.*)$/m.exec(text)?.[1]?.replaceAll('`', '');
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
