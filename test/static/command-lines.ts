import type { Command } from 'commander';
import type { CliContext } from '../../src/cli/cli-context.ts';
import { allCommands } from '../../src/cli/registry.ts';
import { compositionRoots } from '../../src/cli/roots.ts';
import type { Code } from './markdown.ts';

/** The commands of the program, as they declare themselves. */
export function declaredCommands(): Promise<readonly Command[]> {
  const unused = (): never => {
    throw new Error('no command is run here');
  };
  const out = { write: unused, isTerminal: false, colour: false, columns: 80 };
  const context: CliContext = {
    ...{ stdout: out, stderr: out, env: {}, cwd: '/', version: '', roots: compositionRoots },
    ...{ readStdin: unused, untilStopped: unused, stopSignals: unused, exit: unused },
  };
  return allCommands(context);
}

/** What ends a command in a line of shell. */
const END = /^(\||\|\||&&|&|;|>|>>|<|2>|\)|#.*|`)$/;
const OPTION = /^(--[a-z][a-z-]*|-[a-zA-Z])(?=$|[=|\]),;:])/;

/** A call of the program, where a command can begin: what follows its name. */
const CALL = /(?:^\s*|[$|;(] ?|&& |=|npm run (?:--silent )?)fleetrelay +(?:-- +)?((?:--)?[a-z][^\n]*)/g;

/** What follows the name of the program in a sentence that begins with it. */
const SENTENCE = /^(for|is|has|reads|of|needs) /;

/** Sentences about the command lines of fleetrelay in a piece of code that the program does not know. */
export function wrongCommandLines(code: Code, commands: readonly Command[]): readonly string[] {
  const lines = [...code.text.matchAll(CALL)].flatMap(([, rest = '']) => (SENTENCE.test(rest) ? [] : [rest]));
  const typed = code.isBlock
    ? lines.filter(() => isCommand(code.text))
    : [...lines, ...(lines.length === 0 ? shortForms(code.text, commands) : [])];
  return typed.flatMap((line) => judge(line.split(/\s+/), commands));
}

/** Whether a line of a block is typed, and not printed by a program. */
function isCommand(line: string): boolean {
  return /^\s*(\$ |[A-Za-z_]+=|\(|run: |- run: |if |while |until |! |ExecStart=|exec |\$?\w+ \|)?\s*(npm run --silent )?fleetrelay /.test(
    line,
  );
}

/** Code between backticks that begins with the name of a command, such as `cluster token NAME --renew`. */
function shortForms(text: string, commands: readonly Command[]): readonly string[] {
  const [first = '', second = ''] = text.split(/\s+/);
  const known = commands.find((command) => command.name() === first);
  if (known === undefined || second === '') return [];
  const isCall = known.commands.length === 0 ? second.startsWith('-') : /^[a-z]/.test(second);
  return isCall ? [text] : [];
}

function judge(words: readonly string[], commands: readonly Command[]): readonly string[] {
  const end = words.findIndex((word) => END.test(word) || word === '--');
  const [name = '', ...rest] = words
    .slice(0, end < 0 ? words.length : end)
    .map((word) => word.replace(/[`,.;:)]+$/, ''));
  if (['COMMAND', 'help'].includes(name) || name.startsWith('--')) return [];
  return alternatives(name).flatMap((each) => {
    const command = commands.find((known) => known.name() === each);
    return command === undefined ? [`there is no command ${each}`] : judgeWords(each, command, rest);
  });
}

function judgeWords(name: string, command: Command, words: readonly string[]): readonly string[] {
  const [first = '', ...rest] = words;
  if (command.commands.length > 0 && /^[a-z]/.test(first)) {
    return alternatives(first).flatMap((each) => {
      const child = command.commands.find((known) => known.name() === each);
      const whole = `${name} ${each}`;
      return child === undefined ? [`there is no command ${whole}`] : judgeWords(whole, child, rest);
    });
  }
  const options = words.flatMap((word) => OPTION.exec(word.replace(/^\[/, ''))?.[1] ?? []);
  const known = new Set(['--help', '-h', ...command.options.flatMap(({ short, long }) => [short, long])]);
  return options.filter((option) => !known.has(option)).map((option) => `${name} has no option ${option}`);
}

function alternatives(word: string): readonly string[] {
  return word.split('|');
}

/** Options of all commands, for an option that a text names alone. */
export function allOptions(commands: readonly Command[]): ReadonlySet<string> {
  const of = (command: Command): readonly (string | undefined)[] => [
    ...command.options.flatMap(({ short, long }) => [short, long]),
    ...command.commands.flatMap(of),
  ];
  return new Set(['--help', ...commands.flatMap(of)].filter((option) => option !== undefined));
}
