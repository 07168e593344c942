import { statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

/** The parts of a token of markdown-it that are read and written here. */
type Token = ReturnType<MarkdownRenderer['parse']>[number];

/**
 * Makes links of the project's pages hold on the site: README.md is the index of its folder; a file that is no page is copied to the
 * site; a folder without a README has no page, so its link becomes plain text. `pages`: the folder with the copies of the pages.
 */
export function createProjectLinks({ project, pages }: { readonly project: string; readonly pages: string }) {
  const copied = new Set<string>();

  const convert = (page: string, open: Token, close: Token): void => {
    const href = open.attrGet('href') ?? '';
    if (href === '' || /^(#|\/|[a-z][a-z0-9+.-]*:)/i.test(href)) return;
    const [path = '', anchor] = href.split('#');
    const target = join(dirname(page), decodeURI(path));
    const inProject = relative(project, target).split(sep).join('/');
    const kind = kindOf(target);
    const hash = anchor === undefined ? '' : `#${anchor}`;
    if (kind === 'folder' && kindOf(join(target, 'README.md')) === 'file') {
      open.attrSet('href', `${path.replace(/\/?$/, '/')}${hash}`);
    } else if (kind === 'folder') {
      for (const token of [open, close]) Object.assign(token, { type: 'text', tag: '', nesting: 0, content: '' });
    } else if (/(^|\/)README\.md$/.test(path)) {
      open.attrSet('href', `${path.replace(/README\.md$/, 'index.md')}${hash}`);
    } else if (kind === 'file' && !path.endsWith('.md') && !inProject.startsWith('../')) {
      copied.add(inProject);
      // With a target VitePress takes the link as it is.
      open.attrSet('target', '_blank');
    } else if (kind === undefined && !/\.(md|html)$|\/$/.test(path)) {
      // Of links to pages VitePress says it, and names all of them.
      throw new Error(`${relative(project, page)} links to ${href}, which is not there`);
    }
  };

  return {
    /** Adds the conversion to a renderer. */
    install(md: MarkdownRenderer): void {
      md.core.ruler.push('project-links', ({ tokens, env }) => {
        const page = join(project, relative(pages, env.realPath ?? env.path));
        for (const { children } of tokens) {
          const links = (children ?? []).filter(({ type }) => type === 'link_open' || type === 'link_close');
          for (let at = 0; at + 1 < links.length; at += 2) convert(page, links[at] as Token, links[at + 1] as Token);
        }
      });
    },
    /** The files that pages link to and that are no pages, below the project. */
    files: (): readonly string[] => [...copied].sort(),
  };
}

function kindOf(path: string): 'file' | 'folder' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return stats.isDirectory() ? 'folder' : 'file';
}
