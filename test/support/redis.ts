import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { until } from './fleet-processes.ts';
import { freePort } from './free-port.ts';
import { programPath } from './programs.ts';

/** A redis-server of its own on a random port of this machine. */
export interface RedisProcess {
  readonly port: number;
  /** As it was told. */
  readonly tlsPort: number | undefined;
  /** Its files; a restart finds them again. */
  readonly folder: string;
  /** For a look at it, or a fault: a client of the test. */
  command(...words: readonly string[]): Promise<unknown>;
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** After `kill`: on the same port, with the same settings and files (empty, unless it was told to persist). */
  restart(): Promise<void>;
  /** Kills it and removes its files. */
  stop(): Promise<void>;
}

export interface RedisProcessOptions {
  /** Settings as on the command line, without dashes: `{ maxmemory: '50mb' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How `command` and the look whether it is up get in. */
  readonly client?: Omit<RedisOptions, 'replyMapping'>;
  /** The port that `settings` has for TLS. */
  readonly tlsPort?: number;
  /** A sentinel with these lines of configuration. */
  readonly sentinel?: (port: number) => readonly string[];
}

export async function startRedis(options: RedisProcessOptions = {}): Promise<RedisProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-redis-'));
  const port = await freePort();
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'no',
    'repl-diskless-sync-delay': '0',
    ...options.settings,
  };
  mkdirSync(folder, { recursive: true });
  let args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  if (options.sentinel !== undefined) {
    const file = join(folder, 'sentinel.conf');
    writeFileSync(file, `${options.sentinel(port).join('\n')}\n`);
    args = [file, '--sentinel'];
  }
  let child: ChildProcess | undefined;
  let client: Redis | undefined;
  const { tlsPort } = options;
  const process = { port, tlsPort, folder, command, signal, kill, restart: start, stop };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return process;

  async function start(): Promise<void> {
    child = spawn(programPath('redis-server'), args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (output += String(data)));
    const isUp = /Ready to accept connections|Sentinel ID is/;
    await until(`redis-server is up`, () => isUp.test(output) || (child?.exitCode !== null && fail(output)));
    client = new Redis({
      host: '127.0.0.1',
      port,
      // A promoted or demoted server ends its clients' connections.
      retryStrategy: () => 50,
      lazyConnect: true,
      protocol: 2,
      disableClientInfo: true,
      ...options.client,
    });
    client.on('error', () => undefined);
  }

  async function command(...[name = 'PING', ...words]: readonly string[]): Promise<unknown> {
    if (client === undefined) throw new Error('redis-server does not run');
    return client.call(name, ...words);
  }

  function signal(name: NodeJS.Signals): void {
    child?.kill(name);
  }

  async function kill(): Promise<void> {
    client?.disconnect();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  async function stop(): Promise<void> {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

function fail(output: string): never {
  throw new Error(`redis-server ended: ${output}`);
}
