import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';

/** A program that runs in the background and writes its output to a file. */
export interface LoggedProgram {
  readonly pid: number;
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal and resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** How it ended, with the last lines of its output; undefined while it runs. */
  endedWith(): string | undefined;
  lastLines(): string;
}

const KEPT_LINES = 10;
const RUN_MS = 60_000;
const MAX_OUTPUT = 256 * 1024 * 1024;

/** Starts a program and appends its output to the file `log`. */
export function startProgram(program: string, args: readonly string[], log: string): LoggedProgram {
  const file = openSync(log, 'a', 0o600);
  const child = spawn(program, args, { stdio: ['ignore', file, file] });
  closeSync(file);
  let failure: string | undefined;
  child.once('error', (error) => {
    failure = error.message;
  });
  const lastLines = (): string => readFileSync(log, 'utf8').trim().split('\n').slice(-KEPT_LINES).join('\n');
  return {
    pid: child.pid ?? 0,
    signal: (signal) => void child.kill(signal),
    end: (signal) => endProgram(child, signal),
    endedWith: () => {
      if (failure !== undefined) return `${basename(program)} cannot be started (${failure})`;
      if (isRunning(child)) return undefined;
      return `${basename(program)} ended with ${child.exitCode ?? child.signalCode}\n${lastLines()}\n`;
    },
    lastLines,
  };
}

/** Runs a program to its end and returns its standard output. Rejects with its standard error if it fails. */
export async function runProgram(program: string, args: readonly string[], input?: string): Promise<string> {
  const running = promisify(execFile)(program, [...args], { timeout: RUN_MS, maxBuffer: MAX_OUTPUT });
  running.child.stdin?.on('error', () => undefined);
  running.child.stdin?.end(input);
  return (await running).stdout;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function endProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || !isRunning(child)) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}
