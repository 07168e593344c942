/**
 * `npm run docs`: builds the pages of the project as a site with offline search, in site/dist. The builder is a package of its own in
 * site/, which is installed first if it is not there as its lockfile says. `npm run docs -- preview` serves what was built.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SITE = join(import.meta.dirname, '../site');
/** npm that runs this script; else the one on the PATH. */
const NPM = process.env.npm_execpath;

/** Runs a program in site/; resolves with its exit code. */
function run(program: string, args: readonly string[]): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', cwd: SITE });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** The versions of the packages of a lockfile of npm, by their folders. */
function versionsIn(path: string): ReadonlyMap<string, string | undefined> {
  const { packages } = JSON.parse(readFileSync(join(SITE, path), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  return new Map(Object.entries(packages).map(([folder, { version }]) => [folder, version]));
}

/** Whether what is installed, of which npm leaves a list, is what the lockfile says. Packages for other machines are not installed. */
function isInstalled(): boolean {
  const wanted = versionsIn('package-lock.json');
  try {
    return [...versionsIn('node_modules/.package-lock.json')].every(
      ([folder, version]) => wanted.get(folder) === version,
    );
  } catch {
    return false;
  }
}

async function install(): Promise<number> {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return NPM === undefined ? run('npm', args) : run(process.execPath, [NPM, ...args]);
}

const [command = 'build', ...rest] = process.argv.slice(2);
let code = isInstalled() ? 0 : await install();
if (code === 0) {
  code = await run(process.execPath, [join(SITE, 'node_modules/vitepress/bin/vitepress.js'), command, '.', ...rest]);
}
if (code === 0 && command === 'build') console.log('built in site/dist; `npm run docs -- preview` serves it');
process.exitCode = code;
