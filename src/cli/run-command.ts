import { errorText } from '../model/text/messages.ts';
import { given } from '../model/values/given.ts';
import type { CliCommand, ProcessContext } from './command.ts';
import { CliError, EXIT, type ExitCode } from './exit-codes.ts';

/**
 * Runs a command line with what sets its exit code, and resolves with that code. Writes the message of an error: as text, or in
 * the format for programs that the words ask for.
 */
export async function withExitCode(
  context: Pick<ProcessContext, 'stderr' | 'env'>,
  words: readonly string[],
  run: (exit: ProcessContext['exit']) => Promise<void>,
): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  try {
    await run((wanted) => {
      code = wanted;
    });
    return code;
  } catch (error) {
    return explain(error, context, formatIn(words));
  }
}

/** Parses the arguments of a command and runs it. Messages of commander name the command as it was typed. */
export async function parseWith(command: CliCommand, name: string, args: readonly string[]): Promise<void> {
  command.name(`fleetrelay ${name}`);
  await command.parseAsync(args, { from: 'user' });
}

/** The format that `-o` names, if errors can be written in it. It is read here because the error may be one of the command line. */
function formatIn(words: readonly string[]): 'json' | 'yaml' | undefined {
  const end = words.indexOf('--');
  const line = words.slice(0, end < 0 ? words.length : end).join(' ');
  const format = / (?:-o ?|--output[ =])(json|yaml)(?: |$)/.exec(line)?.[1];
  return format === 'json' || format === 'yaml' ? format : undefined;
}

interface Failure {
  readonly exitCode: ExitCode;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Writes the message of an error and returns the exit code. */
async function explain(
  error: unknown,
  { stderr, env }: Pick<ProcessContext, 'stderr' | 'env'>,
  format: 'json' | 'yaml' | undefined,
): Promise<ExitCode> {
  const failure = failureOf(error);
  if (failure === undefined) return (error as { readonly exitCode?: unknown }).exitCode === 0 ? EXIT.ok : EXIT.usage;
  const { exitCode, message, hint } = failure;
  if (format === undefined) {
    stderr.write(`fleetrelay: ${message}${hint === undefined ? '' : ` (${hint})`}\n`);
  } else {
    const reason = Object.entries(EXIT).find(([, code]) => code === exitCode)?.[0];
    const body = { error: { reason, message, ...given({ hint }), exitCode } };
    // One line, so that a warning before it does no harm.
    if (format === 'json') stderr.write(`${JSON.stringify(body)}\n`);
    else stderr.write((await import('js-yaml')).dump(body, { lineWidth: -1 }));
  }
  if (isUnexpected(error) && (env.FLEETRELAY_DEBUG ?? '') !== '' && error instanceof Error)
    stderr.write(`${error.stack}\n`);
  return exitCode;
}

/** What has failed; undefined: commander has written help, and that is all. */
function failureOf(error: unknown): Failure | undefined {
  if (error instanceof CliError) return error;
  if (!isOfCommander(error))
    return { exitCode: isBug(error) ? EXIT.internal : EXIT.notWell, message: errorText(error) };
  if (['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(error.code)) return undefined;
  return { exitCode: EXIT.usage, message: errorText(error).replace(/^error: /, '') };
}

function isOfCommander(error: unknown): error is { readonly code: string } {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && code.startsWith('commander.');
}

function isUnexpected(error: unknown): boolean {
  return !(error instanceof CliError) && !isOfCommander(error);
}

/** Errors that the language itself throws are mistakes in the program; all others are thrown on purpose. */
function isBug(error: unknown): boolean {
  return (
    !(error instanceof Error) ||
    [TypeError, RangeError, ReferenceError, SyntaxError, EvalError].some((mistake) => error instanceof mistake)
  );
}
