import { errorText, suggestion } from '../model/messages.ts';
import { CliError } from './cli-error.ts';
import type { CliContext } from './command.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { writeExitCodes, writeOverview } from './overview.ts';
import { COMMANDS } from './registry.ts';

/** The context of one run: what {@link main} does not add by itself. */
export type MainContext = Omit<CliContext, 'exit' | 'allCommands'>;

/**
 * Runs one command line (without the program's name) and resolves with its exit code. Only the module of the command
 * that is called is loaded.
 */
export async function main(args: readonly string[], context: MainContext): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const whole: CliContext = {
    ...context,
    allCommands: () => Promise.all(COMMANDS.map(async ({ load }) => (await load())(whole))),
    exit: (wanted) => {
      code = wanted;
    },
  };
  try {
    await route(args, whole);
    return code;
  } catch (error) {
    return explain(error, context);
  }
}

async function route(args: readonly string[], context: CliContext): Promise<void> {
  const [first, ...rest] = args;
  switch (first) {
    case undefined:
    case '-h':
    case '--help':
      return writeOverview(context.stdout);
    case '-V':
    case '--version':
      return context.stdout.write(`${context.version}\n`);
    case 'help':
      return help(rest, context);
    default:
      return runCommand(first, rest, context);
  }
}

function help(args: readonly string[], context: CliContext): Promise<void> | void {
  const [topic, ...more] = args;
  if (topic === undefined) return writeOverview(context.stdout);
  if (topic === 'exit-codes') return writeExitCodes(context.stdout);
  return runCommand(topic, [...more, '--help'], context);
}

async function runCommand(name: string, args: readonly string[], context: CliContext): Promise<void> {
  const entry = COMMANDS.find((command) => command.name === name);
  if (entry === undefined) throw unknownCommand(name);
  const command = (await entry.load())(context);
  // Messages of commander name the command as it was typed.
  command.name(`fleetrelay ${name}`);
  await command.parseAsync(args, { from: 'user' });
}

function unknownCommand(name: string): CliError {
  if (name === 'demo') return new CliError(EXIT.usage, 'the demo is no command', 'run `npm start` in a checkout');
  const known = [...COMMANDS.map((command) => command.name), 'help'];
  const meant = suggestion(name, known);
  const what = name.startsWith('-') ? `option ${name}; a command comes first` : `command ${name}`;
  return new CliError(
    EXIT.usage,
    `unknown ${what}`,
    meant === undefined ? 'see `fleetrelay help`' : `did you mean \`fleetrelay ${meant}\`?`,
  );
}

/** Says what went wrong, as far as nobody has said it yet, and finds the exit code. */
function explain(error: unknown, { stderr, env }: MainContext): ExitCode {
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

/** What the language itself throws is a mistake in the program; everything else was said on purpose. */
function isBug(error: unknown): boolean {
  return (
    !(error instanceof Error) ||
    [TypeError, RangeError, ReferenceError, SyntaxError, EvalError].some((mistake) => error instanceof mistake)
  );
}
