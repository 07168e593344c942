/** The pages below docs/reference that are made from commands, schemas, metrics and alerts. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cliPages } from './docs/cli-pages.ts';
import { exitCodesPage } from './docs/exit-codes-page.ts';
import { kindPages } from './docs/kind-pages.ts';
import { metricsPage } from './docs/metrics-page.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Every file in these folders is generated. */
const FOLDERS = ['docs/reference/cli', 'docs/reference/kinds'];

/** Path below the project → text, of every generated page. */
async function generatedPages(): Promise<ReadonlyMap<string, string>> {
  const rules = await readFile(join(ROOT, 'deploy/prometheus/fleetrelay.rules.yaml'), 'utf8');
  return new Map([
    ...(await cliPages()),
    ...(await kindPages(ROOT)),
    ['docs/reference/exit-codes.md', exitCodesPage()],
    ['docs/reference/metrics.md', metricsPage(rules)],
  ]);
}

/**
 * Writes the pages; with `check` it only names those that differ. Pages that nothing generates any more are named, and are
 * left for people to delete.
 */
export async function generateDocs(options: {
  readonly check: boolean;
  /** Folder to write below; the project's by default. */
  readonly root?: string;
}): Promise<readonly string[]> {
  const root = options.root ?? ROOT;
  const pages = await generatedPages();
  const drifted: string[] = [];
  for (const [path, text] of pages) {
    if (text === (await readFile(join(root, path), 'utf8').catch(() => undefined))) continue;
    drifted.push(path);
    if (options.check) continue;
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  for (const folder of FOLDERS) {
    const names = await readdir(join(root, folder)).catch(() => []);
    drifted.push(...names.map((name) => `${folder}/${name}`).filter((path) => !pages.has(path)));
  }
  return drifted;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const drifted = await generateDocs({ check });
  for (const path of drifted) console.log(`${check ? 'differs from what it is made of' : 'written'}: ${path}`);
  process.exitCode = check && drifted.length > 0 ? 1 : 0;
}
