import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';

/** How a process has ended: the exit code that a shell would have for it, and in words. */
export interface EnvoyEnd {
  readonly code: number;
  readonly how: string;
}

/** A running Envoy. */
export interface EnvoyProcess {
  readonly pid: number;
  readonly ended: Promise<EnvoyEnd>;
  signal(signal: 'SIGTERM' | 'SIGKILL'): void;
}

/** What a shell adds to the number of the signal that has ended a process. */
const ENDED_BY_SIGNAL = 128;
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  SIGINT: 2,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGTERM: 15,
};

/**
 * Starts Envoy, which writes to the output of this process. It is in a process group of its own, so that Ctrl-C reaches this
 * process alone; if this process exits first, Envoy is killed. Rejects with a text for a person if it cannot be started.
 */
export async function startEnvoy(program: string, args: readonly string[]): Promise<EnvoyProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  const ended = new Promise<EnvoyEnd>((resolve) => child.once('exit', (code, signal) => resolve(endOf(code, signal))));
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new Error(problemOf(program, error as NodeJS.ErrnoException), { cause: error });
  }
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  void ended.then(() => process.off('exit', kill));
  return { pid: child.pid ?? 0, ended, signal: (signal) => void child.kill(signal) };
}

function endOf(code: number | null, signal: NodeJS.Signals | null): EnvoyEnd {
  if (code !== null) return { code, how: `exit code ${code}` };
  const name = signal ?? 'an unknown signal';
  return { code: ENDED_BY_SIGNAL + (SIGNAL_NUMBERS[name] ?? 0), how: name };
}

function problemOf(program: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') {
    const what = program.includes('/') ? `${program} does not exist` : `there is no program ${program} in the PATH`;
    return `cannot start Envoy: ${what}; install Envoy, or name the program in the variable ENVOY`;
  }
  return `cannot start Envoy: ${code === 'EACCES' ? `${program} may not be executed` : message}`;
}
