import type { Command } from 'commander';
import type { CliContext } from './command.ts';
import { allCommands, COMMANDS } from './registry.ts';

/** Candidates for the last of the words that were typed after `fleetrelay`; the shell drops those that do not fit. */
export async function candidates(words: readonly string[], context: CliContext): Promise<readonly string[]> {
  const current = words.at(-1) ?? '';
  // bash makes a word of its own of the = in --output=json.
  const [name, ...before] = words.slice(0, -1).filter((word) => word !== '=');
  if (name === undefined) return (await allCommands(context)).map(described);
  const load = COMMANDS.get(name);
  return load === undefined ? [] : candidatesOf((await load())(context), before, current);
}

function candidatesOf(command: Command, before: readonly string[], current: string): readonly string[] {
  const child = command.commands.find((each) => each.name() === before[0]);
  if (child !== undefined) return candidatesOf(child, before.slice(1), current);
  const last = before.at(-1) ?? '';
  const previous = command.options.find(({ short, long }) => last === short || last === long);
  const placeholder = /[<[](\w+)/.exec(previous?.flags ?? '')?.[1];
  if (previous !== undefined && placeholder !== undefined) return valuesOf(placeholder, previous.argChoices);
  if (current.startsWith('-')) {
    const options = command.options.map(({ long, flags, description }) => `${long ?? flags}\t${description}`);
    return [...options, '--help\tshow this help'];
  }
  if (command.commands.length > 0) return command.commands.map(described);
  const [argument] = command.registeredArguments;
  return argument === undefined ? [] : valuesOf(argument.name(), argument.argChoices);
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
