import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PROGRAM, until } from './fleet-processes.ts';

/** `fleetrelay dataplane run` as a process. */
export interface DataplaneRun {
  /** Exit code; null: a signal has ended it. */
  readonly ended: Promise<number | null>;
  /** What it has written to standard error: its own lines, and Envoy's. */
  readonly said: () => string;
  /** A line of its log with this message; undefined: there is none yet. */
  line(message: string): Readonly<Record<string, unknown>> | undefined;
  /** Waits for such a line. */
  until(message: string): Promise<Readonly<Record<string, unknown>>>;
  /** Resolves as `work` does; rejects with what the run has said if it ends before. */
  during<Value>(work: Promise<Value>): Promise<Value>;
  signal(signal: NodeJS.Signals): void;
}

/** Starts `fleetrelay dataplane run` with these arguments, and `env` beside this process's own environment. */
export function startDataplaneRun(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): DataplaneRun {
  const child = spawn(process.execPath, [PROGRAM, 'dataplane', 'run', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const line = (message: string) =>
    text
      .split('\n')
      .filter((one) => one.startsWith('{') && one.endsWith('}'))
      .map((one) => JSON.parse(one) as Readonly<Record<string, unknown>>)
      .findLast((one) => one.message === message);
  return {
    ended,
    said: () => text,
    line,
    until: (message) =>
      until(`it says: ${message}`, () => {
        const found = line(message);
        if (found === undefined && child.exitCode !== null) throw new Error(`it has ended: ${text.slice(-2_000)}`);
        return found;
      }),
    during: async (work) => {
      const early = ended.then((code) => {
        throw new Error(`the run has ended with ${code}: ${text.slice(-2_000)}`);
      });
      return Promise.race([work, early]);
    },
    signal: (signal) => void child.kill(signal),
  };
}
