import { errorText, suggestion } from '../model/messages.ts';
import type { CliContext } from './command.ts';
import { CliError, EXIT, EXIT_CODE_MEANINGS, type ExitCode } from './exit-codes.ts';
import { styled, type TextOutput } from './output.ts';
import { allCommands, COMMANDS } from './registry.ts';

/** The hidden command that completion scripts call. */
const COMPLETE = '__complete';

/** The context of one run, without the members that {@link main} adds. */
export type MainContext = Omit<CliContext, 'exit'>;

/**
 * Runs one command line (without the program's name) and resolves with its exit code. Only the module of the command
 * that is called is loaded.
 */
export async function main(args: readonly string[], context: MainContext): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const exit = (wanted: ExitCode): void => {
    code = wanted;
  };
  try {
    await route(args, { ...context, exit });
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
      return writeOverview(context);
    case '-V':
    case '--version':
      return context.stdout.write(`${context.version}\n`);
    case 'help':
      return help(rest, context);
    case COMPLETE: {
      const { candidates } = await import('./completion.ts');
      for (const line of await candidates(rest, context)) context.stdout.write(`${line}\n`);
      return;
    }
    default:
      return runCommand(first, rest, context);
  }
}

async function help(args: readonly string[], context: CliContext): Promise<void> {
  const [topic, ...more] = args;
  if (topic === undefined) return writeOverview(context);
  if (topic === 'exit-codes') return writeExitCodes(context.stdout);
  return runCommand(topic, [...more, '--help'], context);
}

async function runCommand(name: string, args: readonly string[], context: CliContext): Promise<void> {
  const load = COMMANDS.get(name);
  if (load === undefined) throw unknownCommand(name);
  const command = (await load())(context);
  // Messages of commander name the command as it was typed.
  command.name(`fleetrelay ${name}`);
  await command.parseAsync(args, { from: 'user' });
}

function unknownCommand(name: string): CliError {
  if (name === 'demo') return new CliError(EXIT.usage, 'the demo is no command', 'run `npm start` in a checkout');
  const meant = suggestion(name, [...COMMANDS.keys(), 'help']);
  const what = name.startsWith('-') ? `option ${name}; a command comes first` : `command ${name}`;
  return new CliError(
    EXIT.usage,
    `unknown ${what}`,
    meant === undefined ? 'see `fleetrelay help`' : `did you mean \`fleetrelay ${meant}\`?`,
  );
}

/** Writes the message of an error, unless commander has written it, and returns the exit code. */
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

/** Errors that the language itself throws are mistakes in the program; all others are thrown on purpose. */
function isBug(error: unknown): boolean {
  return (
    !(error instanceof Error) ||
    [TypeError, RangeError, ReferenceError, SyntaxError, EvalError].some((mistake) => error instanceof mistake)
  );
}

async function writeOverview(context: CliContext): Promise<void> {
  const { stdout: out } = context;
  const commands = await allCommands(context);
  const width = Math.max(...commands.map((command) => command.name().length));
  out.write('fleetrelay leads a fleet of clusters to what a git repository says, and writes back how far it got.\n\n');
  out.write('Usage: fleetrelay COMMAND [OPTIONS]\n\nCommands:\n');
  for (const command of commands) {
    out.write(`  ${styled(out, 'strong', command.name().padEnd(width))}   ${command.summary()}\n`);
  }
  out.write('\nMore: fleetrelay COMMAND --help, fleetrelay help exit-codes\n');
}

/** Writes the exit codes in 80 columns. */
function writeExitCodes(out: TextOutput): void {
  out.write('Exit codes of every command:\n\n');
  for (const [code, meaning] of EXIT_CODE_MEANINGS) {
    const lines = meaning.match(/.{1,72}(?: |$)/g) ?? [];
    out.write(`${String(code).padStart(5)}   ${lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(8)}`)}\n`);
  }
}
