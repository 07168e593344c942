import type { CommandOutline, OptionOutline, Values } from './outline.ts';

/** A zsh completion function on top of `_arguments`; works from fpath and when it is sourced. */
export function zshScript(commands: readonly CommandOutline[]): string {
  return `#compdef fleetrelay
_fleetrelay() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
${level(commands, '  ')}
}
if [ "$funcstack[1]" = "_fleetrelay" ]; then _fleetrelay "$@"; else compdef _fleetrelay fleetrelay; fi
`;
}

/** Offers the commands of one level, then what belongs to the chosen one. */
function level(commands: readonly CommandOutline[], indent: string): string {
  const lines = [
    `_arguments -C '1: :->command' '*:: :->rest'`,
    'case "$state" in',
    '  command)',
    '    local -a commands',
    `    commands=(${commands.map(({ words, description }) => quoted(`${words.at(-1)}:${description}`)).join(' ')})`,
    `    _describe command commands ;;`,
    '  rest)',
    '    case "$line[1]" in',
    ...commands.map((command) => `      ${command.words.at(-1)})\n${body(command, `${indent}        `)} ;;`),
    '    esac ;;',
    'esac',
  ];
  return lines.map((line) => indent + line).join('\n');
}

function body(command: CommandOutline, indent: string): string {
  if (command.children.length > 0) return level(command.children, indent);
  const specs = [...command.options.flatMap(optionSpecs), quoted(`*: :${action(command.values)}`)];
  return `${indent}_arguments ${specs.join(' ')}`;
}

function optionSpecs({ names, description, values }: OptionOutline): readonly string[] {
  const text = description.replaceAll(/[[\]:\\]/g, '\\$&');
  return names.map((name) => quoted(`${name}[${text}]${values === undefined ? '' : `: :${action(values)}`}`));
}

function action(values: Values): string {
  switch (values.type) {
    case 'words':
      return `(${values.words.join(' ')})`;
    case 'files':
      return '_files';
    case 'folders':
      return '_files -/';
    case 'anything':
      return '';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
