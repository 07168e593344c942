import type { CommandOutline, OptionOutline, Values } from './outline.ts';

/** One `complete` line for each command, option and value. */
export function fishScript(commands: readonly CommandOutline[]): string {
  const top = commands.map(({ words }) => words[0] ?? '').join(' ');
  const lines = commands.flatMap((command) => {
    const name = command.words[0] ?? '';
    return [
      `complete -c fleetrelay -n ${quoted(`not __fish_seen_subcommand_from ${top}`)} -a ${name} -d ${quoted(command.description)}`,
      ...linesOf(command, `__fish_seen_subcommand_from ${name}`),
    ];
  });
  return ['# fish completion for fleetrelay', 'complete -c fleetrelay -f', ...lines, ''].join('\n');
}

function linesOf(command: CommandOutline, condition: string): readonly string[] {
  if (command.children.length === 0) {
    return [...command.options.map((option) => optionLine(option, condition)), ...argumentLines(command, condition)];
  }
  const names = command.children.map(({ words }) => words.at(-1) ?? '');
  return command.children.flatMap((child, index) => [
    `complete -c fleetrelay -n ${quoted(`${condition}; and not __fish_seen_subcommand_from ${names.join(' ')}`)} -a ${names[index] ?? ''} -d ${quoted(child.description)}`,
    ...linesOf(child, `${condition}; and __fish_seen_subcommand_from ${names[index] ?? ''}`),
  ]);
}

function argumentLines({ values }: CommandOutline, condition: string): readonly string[] {
  const offered = offer(values);
  return offered === '' ? [] : [`complete -c fleetrelay -n ${quoted(condition)}${offered}`];
}

function optionLine({ names, description, values }: OptionOutline, condition: string): string {
  const flags = names.map((name) => (name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`)).join('');
  const value = values === undefined ? '' : ` -x${offer(values)}`;
  return `complete -c fleetrelay -n ${quoted(condition)}${flags}${value} -d ${quoted(description)}`;
}

function offer(values: Values): string {
  switch (values.type) {
    case 'words':
      return values.words.length === 0 ? '' : ` -a ${quoted(values.words.join(' '))}`;
    case 'files':
      return " -a '(__fish_complete_path)'";
    case 'folders':
      return " -a '(__fish_complete_directories)'";
    case 'anything':
      return '';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
