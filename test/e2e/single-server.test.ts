import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { STORE_FORMAT } from '../../src/runtime/ledger/records.ts';
import { openStoreFormat } from '../../src/runtime/replica/conditioned-store.ts';
import { until } from '../support/fleet-processes.ts';
import { freePort } from '../support/free-port.ts';
import { noProgram } from '../support/programs.ts';
import { type RedisProcess, startRedis } from '../support/redis.ts';
import { openRedisStore } from '../support/redis-store.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/fleetrelay.cjs');

describe.skipIf(noProgram('redis-server'))('servers that share a Redis', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-single-'));
  const closers: (() => Promise<unknown>)[] = [];
  let redis: RedisProcess;

  beforeAll(async () => {
    redis = await startRedis();
    mkdirSync(join(folder, 'watched'));
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
    await redis.command('FLUSHALL');
  });
  afterAll(async () => {
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function serve(name: string, replicas: 'one' | 'several' = 'one') {
    const metrics = await freePort();
    const any = ['--listen', '--http'].flatMap((each) => [each, '127.0.0.1:0']);
    const store = ['--store', `redis://127.0.0.1:${redis.port}`, '--replicas', replicas, '--insecure'];
    const child = spawn(
      process.execPath,
      [
        PROGRAM,
        'serve',
        '--folder',
        'watched',
        '--data-dir',
        name,
        ...any,
        ...store,
        '--metrics',
        `127.0.0.1:${metrics}`,
      ],
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let said = '';
    child.stderr.on('data', (text: Buffer) => {
      said += text.toString();
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    closers.push(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const readiness = (status: number) =>
      until(`/readyz of ${name} answers ${status}`, async () => {
        const answer = await fetch(`http://127.0.0.1:${metrics}/readyz`).catch(() => undefined);
        return answer?.status === status ? answer.text() : undefined;
      });
    const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
      child.kill(signal);
      return ended;
    };
    return { child, ended, kill, readiness, said: () => said };
  }

  test('of two single servers the second one ends, and names the first', async () => {
    const first = await serve('a');
    await first.readiness(200);
    const second = await serve('b');
    expect(await second.readiness(503)).toMatch(/the store cannot be used yet: server \S+ has the store/);
    expect(await second.ended).toBe(1);
    expect(second.said()).toMatch(/server \S+_\w{8} uses the store, and lives.* --replicas several/);
    await first.readiness(200);
    await first.kill('SIGKILL');
    const third = await serve('a');
    await third.readiness(200);
    expect(await third.kill('SIGTERM')).toBe(0);
    const fourth = await serve('b');
    await fourth.readiness(200);
    expect(fourth.said()).not.toMatch(/has the store/);
  });

  test('a server that was stopped until another one got the store lock ends', async () => {
    const first = await serve('a');
    await first.readiness(200);
    first.child.kill('SIGSTOP');
    const second = await serve('b');
    await second.readiness(200);
    first.child.kill('SIGCONT');
    expect(await first.ended).toBe(1);
    expect(first.said()).toMatch(/uses the store, and lives/);
    await second.readiness(200);
  });

  test.each(['one', 'several'] as const)(
    'with --replicas %s it ends when a newer version begins to use the store',
    async (replicas) => {
      const server = await serve('a', replicas);
      await server.readiness(200);
      const store = await openRedisStore(redis);
      closers.push(store.close);
      const newer = await openStoreFormat(store, () => undefined, STORE_FORMAT + 1);
      expect(await store.write([newer.check()])).toBe('written');
      expect(await server.ended).toBe(1);
      expect(server.said()).toContain('the store was written by a newer version');
      const again = await serve('a', replicas);
      expect(await again.ended).toBe(1);
      expect(again.said()).toContain('the store was written by a newer version');
    },
  );
});
