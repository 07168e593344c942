import type { Argument, Command } from 'commander';
import type { ApiOptions } from './api-options.ts';
import type { CliContext } from './cli-context.ts';
import { namesAt } from './complete-names.ts';
import { allCommands, commandNamed } from './registry.ts';

/** Candidates for the last of the words that were typed after `fleetrelay`; the shell drops those that do not fit. */
export async function candidates(words: readonly string[], context: CliContext): Promise<readonly string[]> {
  const current = words.at(-1) ?? '';
  // bash makes a word of its own of the = in --output=json.
  const [name, ...before] = words.slice(0, -1).filter((word) => word !== '=');
  if (name === undefined) return (await allCommands(context)).map(described);
  const command = await commandNamed(name);
  return command === undefined ? [] : candidatesOf(context, (await command.load())(context), [name], before, current);
}

async function candidatesOf(
  context: CliContext,
  command: Command,
  path: readonly string[],
  before: readonly string[],
  current: string,
): Promise<readonly string[]> {
  const child = command.commands.find((each) => each.name() === before[0]);
  if (child !== undefined) return candidatesOf(context, child, [...path, child.name()], before.slice(1), current);
  const { words, api } = sorted(command, before);
  const last = before.at(-1) ?? '';
  const previous = command.options.find(({ short, long }) => last === short || last === long);
  const place = { command: path.join(' '), before: words, api };
  const placeholder = /[<[](\w+)/.exec(previous?.flags ?? '')?.[1];
  if (previous !== undefined && placeholder !== undefined) {
    const values = valuesOf(placeholder, previous.argChoices);
    return values.length > 0 ? values : namesAt(context, { ...place, option: previous.long });
  }
  if (current.startsWith('-')) {
    const options = command.options.map(({ long, flags, description }) => `${long ?? flags}\t${description}`);
    return [...options, '--help\tshow this help'];
  }
  if (command.commands.length > 0) return command.commands.map(described);
  const argument = command.registeredArguments[words.length] ?? variadicOf(command);
  const values = argument === undefined ? [] : valuesOf(argument.name(), argument.argChoices);
  return values.length > 0 ? values : namesAt(context, place);
}

function variadicOf(command: Command): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return last?.variadic === true ? last : undefined;
}

/** The words of a command that are no options, and the options of the API among them. */
function sorted(command: Command, before: readonly string[]) {
  const words: string[] = [];
  const api: Record<string, string> = {};
  for (let at = 0; at < before.length; at += 1) {
    const word = before[at] ?? '';
    const [name = '', inWord] = word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word];
    const option = command.options.find(({ short, long }) => name === short || name === long);
    if (option === undefined) {
      if (!word.startsWith('-')) words.push(word);
    } else if (option.required || option.optional) {
      if (inWord === undefined) at += 1;
      const value = inWord ?? before[at];
      if (name.startsWith('--api') && value !== undefined) api[option.attributeName()] = value;
    }
  }
  return { words, api: api as ApiOptions };
}

/** The values of an option or argument, by its placeholder. */
function valuesOf(placeholder: string, choices: readonly string[] | undefined): readonly string[] {
  if (choices !== undefined) return choices;
  if (placeholder === 'file' || placeholder === 'path') return [':files'];
  return placeholder === 'dir' ? [':folders'] : [];
}

function described(command: Command): string {
  return `${command.name()}\t${command.summary()}`;
}
