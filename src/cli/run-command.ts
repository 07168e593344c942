import { errorText } from '../model/messages.ts';
import type { CliCommand, ProcessContext } from './command.ts';
import { CliError, EXIT, type ExitCode } from './exit-codes.ts';

/** Runs a command line with what sets its exit code, and resolves with that code. Writes the message of an error. */
export async function withExitCode(
  context: Pick<ProcessContext, 'stderr' | 'env'>,
  run: (exit: ProcessContext['exit']) => Promise<void>,
): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  try {
    await run((wanted) => {
      code = wanted;
    });
    return code;
  } catch (error) {
    return explain(error, context);
  }
}

/** Parses the arguments of a command and runs it. Messages of commander name the command as it was typed. */
export async function parseWith(command: CliCommand, name: string, args: readonly string[]): Promise<void> {
  command.name(`fleetrelay ${name}`);
  await command.parseAsync(args, { from: 'user' });
}

/** Writes the message of an error, unless commander has written it, and returns the exit code. */
function explain(error: unknown, { stderr, env }: Pick<ProcessContext, 'stderr' | 'env'>): ExitCode {
  if (error instanceof CliError) {
    stderr.write(`fleetrelay: ${error.message}${error.hint === undefined ? '' : ` (${error.hint})`}\n`);
    return error.exitCode;
  }
  const { code, exitCode } = error as { readonly code?: unknown; readonly exitCode?: unknown };
  // Commander has already written its message.
  if (typeof code === 'string' && code.startsWith('commander.')) {
    return exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  const message = errorText(error);
  stderr.write(`fleetrelay: ${message}\n`);
  if ((env.FLEETRELAY_DEBUG ?? '') !== '' && error instanceof Error) stderr.write(`${error.stack}\n`);
  return isBug(error) ? EXIT.internal : EXIT.notWell;
}

/** Errors that the language itself throws are mistakes in the program; all others are thrown on purpose. */
function isBug(error: unknown): boolean {
  return (
    !(error instanceof Error) ||
    [TypeError, RangeError, ReferenceError, SyntaxError, EvalError].some((mistake) => error instanceof mistake)
  );
}
