import type { Argument, Option } from 'commander';
import type { CliContext } from '../../src/cli/cli-context.ts';
import type { CliCommand } from '../../src/cli/command.ts';
import { EXIT, EXIT_CODE_MEANINGS, type ExitCode } from '../../src/cli/exit-codes.ts';
import { allCommands } from '../../src/cli/registry.ts';
import { compositionRoots } from '../../src/cli/roots.ts';
import { block, capitalised, code, generatedFrom, page, prose, section, table } from './markdown.ts';

const FOLDER = 'docs/reference/cli';
const WIDTH = 80;
/** What only a command that asks a server exits with. */
const OF_SERVER: readonly ExitCode[] = [EXIT.unreachable, EXIT.refused, EXIT.notFound];

/** A command as its page shows it. */
interface Shown {
  /** As one types it, without the name of the program. */
  readonly words: readonly string[];
  readonly command: CliCommand;
  /** What `--help` prints. */
  readonly help: string;
}

/** Path below the project → text: a page for each command and each of its subcommands, and the list of all. */
export async function cliPages(): Promise<ReadonlyMap<string, string>> {
  const printed: string[] = [];
  const commands = await allCommands(contextThatPrintsTo(printed));
  const shown = commands.flatMap((command) => {
    const words = [command.name()];
    command.name(`fleetrelay ${command.name()}`);
    return withSubcommands(words, command, printed);
  });
  const pages = shown.map((each) => [pathOf(each.words), commandPage(each)] as const);
  const names = new Set(pages.map(([path]) => path));
  if (names.size < pages.length) throw new Error('two commands have one page: rename one of them');
  return new Map([...pages, [`${FOLDER}/README.md`, overview(shown)]]);
}

function withSubcommands(words: readonly string[], command: CliCommand, printed: string[]): readonly Shown[] {
  printed.length = 0;
  command.outputHelp();
  const children = command.commands as readonly CliCommand[];
  return [
    { words, command, help: printed.join('') },
    ...children.flatMap((child) => withSubcommands([...words, child.name()], child, printed)),
  ];
}

/** A process without a terminal, for commands that only show their help. */
function contextThatPrintsTo(printed: string[]): CliContext {
  const unused = (): never => {
    throw new Error('no command is run here');
  };
  const out = {
    write: (text: string) => void printed.push(text),
    ...{ isTerminal: false, colour: false, columns: WIDTH },
  };
  return {
    ...{ stdout: out, stderr: out, env: {}, cwd: '/', version: '', roots: compositionRoots },
    ...{ readStdin: unused, untilStopped: unused, stopSignals: unused, exit: unused },
  };
}

function fileOf(words: readonly string[]): string {
  return `${words.join('-')}.md`;
}

function pathOf(words: readonly string[]): string {
  return `${FOLDER}/${fileOf(words)}`;
}

function commandPage({ words, command, help }: Shown): string {
  const name = `fleetrelay ${words.join(' ')}`;
  return page([
    generatedFrom("the command's own help"),
    '',
    `# ${name}`,
    '',
    `${prose(capitalised(command.summary()))}.`,
    '',
    ...block('text', command.createHelp().commandUsage(command)),
    '',
    prose(command.description()),
    '',
    ...section('Examples', examplesIn(help)),
    ...section('Commands', subcommands(words, command)),
    ...section('Arguments', argumentTable(command.registeredArguments)),
    ...section('Options', optionTable(command.options)),
    ...section('Exit codes', exitCodes(command)),
    ...section('Help', [`\`${name} --help\` prints:`, '', ...block('text', help)]),
    '[All commands](README.md)',
  ]);
}

/** The examples that end the help, as lines for a shell. */
function examplesIn(help: string): readonly string[] {
  const [, text = ''] = /^Examples:\n((?: {2}[#$] .*\n?)+)/m.exec(help) ?? [];
  const lines = text.trimEnd().split('\n');
  return text === '' ? [] : block('sh', lines.map((line) => line.replace(/^ {2}(\$ )?/, '')).join('\n'));
}

function subcommands(words: readonly string[], command: CliCommand): readonly string[] {
  if (command.commands.length === 0) return [];
  const rows = command.commands.map((child) => {
    const all = [...words, child.name()];
    return [`[fleetrelay ${all.join(' ')}](${fileOf(all)})`, prose(child.summary())];
  });
  return table(['command', 'what it does'], rows);
}

function argumentTable(list: readonly Argument[]): readonly string[] {
  if (list.length === 0) return [];
  const rows = list.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    const choices = withChoices(argument.argChoices);
    return [code(argument.required ? `<${name}>` : `[${name}]`), `${prose(argument.description)}${choices}`];
  });
  return table(['argument', 'meaning'], rows);
}

function optionTable(list: readonly Option[]): readonly string[] {
  const rows = list
    .filter(({ hidden }) => !hidden)
    .map((option) => {
      const notes = [withChoices(option.argChoices), ...notesOn(option)];
      return [code(option.flags), `${prose(option.description)}${notes.join('')}`];
    });
  return rows.length === 0 ? [] : table(['option', 'meaning'], rows);
}

function withChoices(choices: readonly string[] | undefined): string {
  return choices === undefined ? '' : `: ${choices.map(code).join(', ')}`;
}

/** What commander adds to the description of an option in the help: whether it is required, and its default. */
function notesOn({ mandatory, defaultValue, defaultValueDescription }: Option): readonly string[] {
  if (defaultValueDescription !== undefined) return [` (default: ${prose(defaultValueDescription)})`];
  if (defaultValue === undefined) return mandatory ? [' (required)'] : [];
  return typeof defaultValue === 'boolean' ? [] : [` (default: ${code(String(defaultValue))})`];
}

function exitCodes(command: CliCommand): readonly string[] {
  if (command.commands.length > 0) return [];
  const asksServer = command.options.some(({ long }) => long === '--api');
  const rows = EXIT_CODE_MEANINGS.filter(([exit]) => asksServer || !OF_SERVER.includes(exit)).map(([exit, meaning]) => [
    String(exit),
    prose(meaning),
  ]);
  return [...table(['code', 'meaning'], rows), '', 'See [exit codes](../exit-codes.md).'];
}

function overview(shown: readonly Shown[]): string {
  const rows = shown.map(({ words, command }) => [
    `[fleetrelay ${words.join(' ')}](${fileOf(words)})`,
    prose(command.summary()),
  ]);
  return page([
    generatedFrom("the commands' own help"),
    '',
    '# Commands',
    '',
    'Find a command by what it does. Each page has its options, its exit codes, examples, and the text of `--help`.',
    '',
    ...table(['command', 'what it does'], rows),
    '',
    '`fleetrelay help COMMAND` shows the help of a command, `fleetrelay help exit-codes` the [exit codes](../exit-codes.md),',
    '`fleetrelay --version` the version.',
  ]);
}
