import { cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { anchorOf } from './anchors.ts';
import { createProjectLinks } from './project-links.ts';
import { sidebarOf } from './sidebar.ts';
import { stagePages } from './stage-pages.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const pages = join(project, 'site/.cache/pages');
const links = createProjectLinks({ project, pages });
stagePages(project, pages);

export default defineConfig({
  title: 'fleetrelay',
  description: 'Leads a fleet of Kubernetes clusters to what a git repository says, and writes back how far it got.',
  srcDir: pages,
  outDir: join(project, 'site/dist'),
  cacheDir: join(project, 'site/.cache/vitepress'),
  rewrites: { 'README.md': 'index.md', ':folder(.*)/README.md': ':folder/index.md' },
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: '/icon.svg' }]],
  // The index of the search is one file.
  vite: { build: { chunkSizeWarningLimit: 8_000 } },
  markdown: {
    anchor: { slugify: anchorOf },
    // Pages are written for GitHub: what only VitePress reads as more than text stays text.
    attrs: { disable: true },
    config: (md) => {
      md.disable(['emoji', 'snippet'], true);
      md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
      links.install(md);
      // A block of code by indentation looks as one between fences.
      md.renderer.rules.code_block = (tokens, at, ...rest) => {
        Object.assign(tokens[at] ?? {}, { type: 'fence', info: 'text' });
        return md.renderer.rules.fence?.(tokens, at, ...rest) ?? '';
      };
      // Braces of templates are text, not expressions of Vue.
      for (const rule of ['text', 'code_inline'] as const) {
        const before = md.renderer.rules[rule];
        md.renderer.rules[rule] = (...args) => (before?.(...args) ?? '').replaceAll('{{', '&#123;&#123;');
      }
    },
  },
  themeConfig: {
    nav: [
      { text: 'Documents', link: '/docs/' },
      { text: 'Commands', link: '/docs/reference/cli/' },
      { text: 'Kinds', link: '/docs/reference/kinds/' },
      { text: 'Findings', link: '/docs/reference/rules/' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: sidebarOf(project),
    outline: [2, 3],
    // A code such as FR2003 is not a misspelling of another one.
    search: {
      provider: 'local',
      options: { miniSearch: { searchOptions: { fuzzy: (term: string) => (/\d/.test(term) ? false : 0.2) } } },
    },
  },
  buildEnd: async ({ outDir }) => {
    // The charts name it, too.
    await cp(join(project, 'deploy/helm/icon.svg'), join(outDir, 'icon.svg'));
    for (const path of links.files()) {
      await mkdir(dirname(join(outDir, path)), { recursive: true });
      await cp(join(project, path), join(outDir, path));
    }
  },
});
