import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A fleetrelay process that was started here. */
export interface Child {
  readonly pid: number;
  /** Returns the data of the first log line with this message. Rejects with the last lines if the process ends before it. */
  logged(message: string): Promise<Readonly<Record<string, unknown>>>;
  /** Sends SIGTERM, after ten seconds SIGKILL, and resolves when the process has ended. */
  stop(): Promise<void>;
  /** Resolves with the exit code when the process has ended; null: a signal ended it. */
  readonly ended: Promise<number | null>;
}

const STOP_MS = 10_000;
const KEPT_LINES = 20;

/** The program of fleetrelay and its environment. */
export interface Program {
  /** File that Node runs. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Those that have not ended. A process that ends before it has stopped them, as at a second Ctrl-C, leaves none behind. */
const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Starts `fleetrelay ARGS`. It is killed when this process ends before it. */
export function startChild({ file, env }: Program, args: readonly string[]): Child {
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  if (running.size === 0) process.once('exit', killAll);
  running.add(child);
  const lines: string[] = [];
  const waiting = new Set<(line: string) => void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    for (const look of waiting) look(line);
  });
  const ended = new Promise<number | null>((resolve) => {
    const end = (code: number | null): void => {
      running.delete(child);
      if (running.size === 0) process.off('exit', killAll);
      resolve(code);
    };
    child.once('exit', end);
    child.once('error', () => end(null));
  });
  return {
    pid: child.pid ?? 0,
    ended,
    logged: (message) =>
      new Promise((resolve, reject) => {
        const look = (line: string): void => {
          const data = parseLine(line);
          if (data?.message !== message) return;
          waiting.delete(look);
          resolve(data);
        };
        waiting.add(look);
        for (const line of lines) look(line);
        void ended.then(() => {
          if (waiting.delete(look)) reject(new Error(`fleetrelay ${args[0] ?? ''} ended early:\n${lines.join('\n')}`));
        });
      }),
    stop: () => stop(child, ended),
  };
}

/** Runs `fleetrelay ARGS` to its end and returns its standard output. Rejects with its standard error if it fails. */
export function runChild({ file, env }: Program, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (data: Buffer) => {
      out += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => {
      err += data.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(out);
      else reject(new Error(`fleetrelay ${args.join(' ')} ended with ${code}: ${err.trim()}`));
    });
  });
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
}

function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
