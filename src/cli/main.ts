import { suggestion } from '../model/text/messages.ts';
import type { CliContext } from './cli-context.ts';
import { NO_COLOUR } from './command.ts';
import { CliError, EXIT, EXIT_CODE_MEANINGS, type ExitCode } from './exit-codes.ts';
import { styled, type TextOutput } from './output.ts';
import { allCommands, allRows, commandNamed } from './registry.ts';
import { parseWith, withExitCode } from './run-command.ts';

/** The hidden command that completion scripts call. */
const COMPLETE = '__complete';

/** The context of one run, without the members that {@link main} adds. */
export type MainContext = Omit<CliContext, 'exit'>;

/**
 * Runs one command line (without the program's name) and resolves with its exit code. Only the module of the command
 * that is called is loaded.
 */
export function main(args: readonly string[], context: MainContext): Promise<ExitCode> {
  return withExitCode(context, args, (exit) => route(args, { ...context, exit }));
}

async function route(args: readonly string[], context: CliContext): Promise<void> {
  const [first, ...rest] = args;
  switch (first) {
    case NO_COLOUR:
      context.withoutColours?.();
      return route(rest, context);
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
  const command = await commandNamed(name);
  if (command === undefined) throw await unknownCommand(name);
  await parseWith((await command.load())(context), name, args);
}

/** What people of other tools type, and how it is done here. */
const ELSEWHERE: Readonly<Record<string, readonly [is: string, instead: string]>> = {
  demo: ['the demo is no command', 'run `npm start` in a checkout'],
  describe: ['describe is called explain here', '`fleetrelay explain CLUSTER KIND/NAMESPACE/NAME`'],
  diff: ['diff is called plan here', '`fleetrelay plan` says what a branch or folder would change in every cluster'],
  sync: ['sync is a command of source', '`fleetrelay source sync` looks for a new revision now'],
  logs: [
    'logs of applications stay in their clusters',
    '`kubectl logs` reads them; `fleetrelay history CLUSTER` says what was sent, `fleetrelay debug snapshot` collects the logs of agents',
  ],
  rollback: [
    'a rollback is a commit',
    '`git revert COMMIT && git push`; until it is read, `fleetrelay source suspend NAME` admits nothing new',
  ],
  apply: ['a commit is what applies', '`git push`; `fleetrelay plan` says before what it would change'],
  delete: [
    'a commit is what deletes',
    'remove the file and `git push`; `fleetrelay plan` says before what it would remove',
  ],
  edit: [
    'a commit is what edits',
    'change the file and `git push`; `fleetrelay explain CLUSTER OBJECT` names the file',
  ],
};

async function unknownCommand(name: string): Promise<CliError> {
  const elsewhere = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
  if (elsewhere !== undefined) return new CliError(EXIT.usage, ...elsewhere);
  const names = (await allRows()).map((row) => row.name);
  const meant = suggestion(name, [...names, 'help']);
  const what = name.startsWith('-') ? `option ${name}; a command comes first` : `command ${name}`;
  return new CliError(
    EXIT.usage,
    `unknown ${what}`,
    meant === undefined ? 'see `fleetrelay help`' : `did you mean \`fleetrelay ${meant}\`?`,
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
  out.write('Colours: --no-color, NO_COLOR=1 and FORCE_COLOR=1, with any command\n');
}

/** Writes the exit codes in 80 columns. */
function writeExitCodes(out: TextOutput): void {
  out.write('Exit codes of every command:\n\n');
  for (const [code, meaning] of EXIT_CODE_MEANINGS) {
    const lines = meaning.match(/.{1,72}(?: |$)/g) ?? [];
    out.write(`${String(code).padStart(5)}   ${lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(8)}`)}\n`);
  }
}
