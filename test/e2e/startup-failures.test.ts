import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROGRAM, until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { noProgram } from '../support/programs.ts';
import { startRedis } from '../support/redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-startup-'));
const taken: Server = createServer();
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});

afterAll(async () => {
  await new Promise<void>((resolve) => taken.close(() => resolve()));
  rmSync(folder, { recursive: true, force: true });
});

/** Runs fleetrelay, which must end by itself: otherwise it is killed, and `code` is null. */
const run = (...args: string[]) => runFile(PROGRAM, ...args);

function runFile(...args: string[]): Promise<{ readonly code: number | null; readonly said: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr.on('data', (text: Buffer) => {
      said += text.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, said }));
  });
}

test('an agent whose health address is in use names it and ends', async () => {
  writeFileSync(join(folder, 'east.token'), 'frt1_none\n');
  const link = ['--server', '127.0.0.1:9', '--insecure', '--token-file', 'east.token'];
  const { code, said } = await run(
    'agent',
    '--cluster',
    'east',
    ...link,
    '--directory',
    'east',
    '--metrics',
    `${port}`,
  );
  expect(said).toContain(`cannot listen for health on 127.0.0.1:${port}: something listens there already`);
  expect(code).toBe(1);
});

test.each([
  ['--listen', 'agents'],
  ['--http', 'HTTP'],
  ['--metrics', 'health and metrics'],
])('a server whose %s address is in use names it and ends', async (flag, whom) => {
  const watched = join(folder, 'watched');
  mkdirSync(watched, { recursive: true });
  const free = ['--listen', '--http', '--metrics'].filter((each) => each !== flag);
  const where = [flag, `127.0.0.1:${port}`, ...free.flatMap((each) => [each, '127.0.0.1:0'])];
  const { code, said } = await run('serve', '--folder', watched, '--data-dir', `data${flag}`, ...where);
  expect(said).toContain(`cannot listen for ${whom} on 127.0.0.1:${port}: something listens there already`);
  expect(said).toContain(`${flag} HOST:PORT`);
  expect(code).toBe(1);
});

describe.skipIf(noProgram('redis-server'))('a server whose Redis is down', () => {
  async function waitingServer(name: string) {
    const redis = await startRedis();
    await redis.kill();
    mkdirSync(join(folder, name), { recursive: true });
    const metrics = await freePort();
    const any = ['--listen', '--http'].flatMap((each) => [each, '127.0.0.1:0']);
    const store = ['--store', `redis://127.0.0.1:${redis.port}`, '--metrics', `127.0.0.1:${metrics}`];
    const child = spawn(
      process.execPath,
      [PROGRAM, 'serve', '--folder', join(folder, name), '--data-dir', `data-${name}`, ...any, ...store],
      { cwd: folder, stdio: 'ignore' },
    );
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const asked = async (path: string): Promise<{ status: number; text: string }> => {
      const answer = await fetch(`http://127.0.0.1:${metrics}${path}`).catch(() => undefined);
      return { status: answer?.status ?? 0, text: (await answer?.text()) ?? '' };
    };
    const readiness = (status: number) =>
      until(`/readyz answers ${status}`, async () => {
        const answer = await asked('/readyz');
        return answer.status === status ? answer : undefined;
      });
    return { redis, child, ended, asked, readiness };
  }

  test('waits for it, reports that at /readyz, and serves once Redis runs', async () => {
    const { redis, child, ended, asked, readiness } = await waitingServer('late');
    try {
      expect((await readiness(503)).text).toMatch(/the store cannot be reached yet, and is waited for: .*ECONNREFUSED/);
      expect((await asked('/healthz')).status).toBe(200);
      await redis.restart();
      await readiness(200);
    } finally {
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
      await redis.stop();
    }
  });

  test('ends at once on SIGTERM', async () => {
    const { redis, child, ended, readiness } = await waitingServer('never');
    await readiness(503);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    await redis.stop();
  });
});

test('the error names a data directory that is a file', async () => {
  writeFileSync(join(folder, 'file'), '');
  const { code, said } = await run('serve', '--folder', '.', '--data-dir', 'file');
  expect(said).toContain(`the data directory ${join(folder, 'file')} cannot be made`);
  expect(code).toBe(1);
});

test('the error names a missing configuration file', async () => {
  const { code, said } = await run('serve', '--config', 'absent.yaml');
  expect(said).toBe(
    `fleetrelay: the configuration ${join(folder, 'absent.yaml')} cannot be read: there is no such file\n`,
  );
  expect(code).toBe(1);
});

test('no token is made for a missing data directory', async () => {
  const { code, said } = await run('cluster', 'token', 'east', '--data-dir', 'mistyped');
  expect(said).toContain(`there is no data directory ${join(folder, 'mistyped')}`);
  expect([code, existsSync(join(folder, 'mistyped'))]).toEqual([1, false]);
});

test('the demo refuses a folder that is not empty, and does not change it', async () => {
  const precious = join(folder, 'precious');
  mkdirSync(precious);
  writeFileSync(join(precious, 'thesis.txt'), 'years of work');
  const { code, said } = await runFile(
    join(import.meta.dirname, '../../scripts/demo.ts'),
    '--once',
    '--folder',
    precious,
  );
  expect(said).toContain(`${precious} is not empty`);
  expect(code).toBe(1);
  expect(readdirSync(precious)).toEqual(['thesis.txt']);
  expect(readFileSync(join(precious, 'thesis.txt'), 'utf8')).toBe('years of work');
});
