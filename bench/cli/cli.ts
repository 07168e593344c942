/** `npm run bench -- cli`: what one short command costs beside a bare Node.js. See README.md. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { fleetView } from '../../test/support/server-api.ts';

/** After the first, which fills the compile cache. */
const RUNS = 20;
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const AT_EXIT = fileURLToPath(new URL('at-exit.cjs', import.meta.url));

interface Figures {
  /** Processor time, user and system. */
  readonly cpuMillis: number;
  readonly wallMillis: number;
  /** Modules of our own and of packages that were loaded. */
  readonly modules: number;
}

export async function run(args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bench-'));
  const server = await statusServer();
  try {
    const { port } = server.address() as AddressInfo;
    await install(folder);
    const env = {
      ...process.env,
      FLEETRELAY_API: `http://127.0.0.1:${port}`,
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      FIGURES: join(folder, 'figures.json'),
    };
    // They take turns, so that what else the machine does costs them all the same.
    const kinds = {
      node: ['-e', '0'],
      status: [join(PROJECT, 'bin/fleetrelay.cjs'), 'status'],
      statusBundled: [join(folder, 'bin/fleetrelay.cjs'), 'status'],
    };
    const all: Record<keyof typeof kinds, Figures[]> = { node: [], status: [], statusBundled: [] };
    const modules: Record<keyof typeof kinds, number> = { node: 0, status: 0, statusBundled: 0 };
    for (let index = 0; index <= RUNS; index += 1) {
      for (const [name, words] of Object.entries(kinds) as [keyof typeof kinds, string[]][]) {
        const figures = await measured(words, { ...env, COUNTS_MODULES: index === 0 ? '1' : '0' });
        if (index === 0) modules[name] = figures.modules;
        else all[name].push(figures);
      }
    }
    const least = (name: keyof typeof kinds): Figures => ({ ...leastOf(all[name]), modules: modules[name] });
    const [node, status, statusBundled] = [least('node'), least('status'), least('statusBundled')];
    const result = {
      ...{ runs: RUNS, node, status, statusBundled },
      statusPerBareNode: ratio(status.cpuMillis, node.cpuMillis),
      bundledPerBareNode: ratio(statusBundled.cpuMillis, node.cpuMillis),
    };
    process.stdout.write(args.includes('--json') ? `${JSON.stringify(result, undefined, 2)}\n` : tableOf(result));
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
}

/** Makes the folder of an installed package: nothing but what ships. */
async function install(folder: string): Promise<void> {
  for (const part of ['bin/fleetrelay.cjs', 'package.json']) await cp(join(PROJECT, part), join(folder, part));
  await ended(process.execPath, [join(PROJECT, 'scripts/build.ts'), join(folder, 'dist')], process.env);
}

/** Answers every question with the status of a small fleet. */
async function statusServer(): Promise<Server> {
  const body = JSON.stringify(fleetView({ heldRemovals: [], diagnostics: [] }));
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function measured(
  words: readonly string[],
  env: NodeJS.ProcessEnv & { readonly FIGURES: string },
): Promise<Figures> {
  const begun = performance.now();
  await ended(process.execPath, ['--require', AT_EXIT, ...words], env);
  const wallMillis = performance.now() - begun;
  return { ...(JSON.parse(await readFile(env.FIGURES, 'utf8')) as Omit<Figures, 'wallMillis'>), wallMillis };
}

/** Exit code 1 of `status` says that the fleet is not well, and is none of the measurement. */
async function ended(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0 && code !== 1) throw new Error(`${args.join(' ')} has ended with ${String(code)}`);
}

/** The least of each figure: what else the machine does only adds to it. */
function leastOf(figures: readonly Figures[]): Omit<Figures, 'modules'> {
  const least = (of: (each: Figures) => number): number => Math.round(Math.min(...figures.map(of)) * 10) / 10;
  return {
    cpuMillis: least(({ cpuMillis }) => cpuMillis),
    wallMillis: least(({ wallMillis }) => wallMillis),
  };
}

function ratio(a: number, b: number): number {
  return Math.round((a / b) * 100) / 100;
}

function tableOf(result: {
  readonly node: Figures;
  readonly status: Figures;
  readonly statusBundled: Figures;
  readonly statusPerBareNode: number;
  readonly bundledPerBareNode: number;
}): string {
  const line = (name: string, { cpuMillis, wallMillis, modules }: Figures): string =>
    `${name.padEnd(24)}${String(cpuMillis).padStart(10)}${String(wallMillis).padStart(10)}${String(modules).padStart(10)}\n`;
  return (
    `${''.padEnd(24)}${'cpu ms'.padStart(10)}${'wall ms'.padStart(10)}${'modules'.padStart(10)}\n` +
    line('node -e 0', result.node) +
    line('status, sources', result.status) +
    line('status, bundle', result.statusBundled) +
    `\n    status costs ${result.statusPerBareNode} bare processes of Node.js, bundled ${result.bundledPerBareNode}\n`
  );
}
