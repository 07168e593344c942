import type { RunIo } from '../compose/options.ts';
import { CliError } from './cli-error.ts';
import type { CliContext } from './command.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** Runs a long-running root until it ends by itself or is told to stop, and ends the command with its exit code. */
export async function runRoot<Options>(
  context: CliContext,
  root: (options: Options, signal: AbortSignal, io: RunIo) => Promise<number>,
  options: Options,
): Promise<void> {
  context.exit(exitCode(await root(options, context.untilStopped(), runIo(context))));
}

/** What a root is told of the process. */
export function runIo({ stdout, stderr, env, cwd, version }: CliContext): RunIo {
  return {
    out: (text) => stdout.write(text),
    err: (text) => stderr.write(text),
    colour: stdout.colour,
    env,
    cwd,
    version,
  };
}

function exitCode(code: number): ExitCode {
  const known = Object.values(EXIT).find((value) => value === code);
  if (known === undefined) throw new CliError(EXIT.internal, `ended with the unknown code ${code}`);
  return known;
}
