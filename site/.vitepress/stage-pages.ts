import { copyFileSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PAGES = ['*.md', '{bench,deploy,docs,examples,src}/**/*.md'];

/**
 * Copies every page of the project into a folder, each at the place that it has in the project: links between pages stay as they are,
 * and Vite finds its own package above the pages.
 */
export function stagePages(project: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const page of globSync(PAGES, { cwd: project })) {
    mkdirSync(dirname(join(folder, page)), { recursive: true });
    copyFileSync(join(project, page), join(folder, page));
  }
}
