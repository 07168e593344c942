import type { Command, Option } from 'commander';

/** What may follow a word: fixed words, files, folders, or something that only the person knows. */
export type Values =
  | { readonly type: 'words'; readonly words: readonly string[] }
  | { readonly type: 'files' }
  | { readonly type: 'folders' }
  | { readonly type: 'anything' };

/** One option as completion sees it. */
export interface OptionOutline {
  /** `--output`, `-o`: every way to write it. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined: the option takes no value. */
  readonly values: Values | undefined;
}

/** One command, or one sub-command of a group. */
export interface CommandOutline {
  /** The words that lead to it: `["source", "accept"]`. */
  readonly words: readonly string[];
  readonly description: string;
  readonly options: readonly OptionOutline[];
  /** What its arguments may be. */
  readonly values: Values;
  readonly children: readonly CommandOutline[];
}

/** All that completion needs to know of the commands. */
export function outline(commands: readonly Command[]): readonly CommandOutline[] {
  return commands.map((command) => outlineOf(command, []));
}

function outlineOf(command: Command, parents: readonly string[]): CommandOutline {
  const words = [...parents, command.name()];
  const help: OptionOutline = { names: ['-h', '--help'], description: 'show this help', values: undefined };
  const [argument] = command.registeredArguments;
  return {
    words,
    description: command.summary(),
    options: [...command.options.map(optionOf), help],
    values: argument === undefined ? { type: 'words', words: [] } : valuesOf(argument.name(), argument.argChoices),
    children: command.commands.map((child) => outlineOf(child, words)),
  };
}

function optionOf(option: Option): OptionOutline {
  const names = [option.short, option.long].filter((name) => typeof name === 'string');
  const placeholder = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1];
  return {
    names,
    description: option.description,
    values: placeholder === undefined ? undefined : valuesOf(placeholder, option.argChoices),
  };
}

function valuesOf(placeholder: string, choices: readonly string[] | undefined): Values {
  if (choices !== undefined) return { type: 'words', words: choices };
  if (placeholder === 'file' || placeholder === 'path') return { type: 'files' };
  if (placeholder === 'dir') return { type: 'folders' };
  return { type: 'anything' };
}
