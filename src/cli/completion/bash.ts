import type { CommandOutline, Values } from './outline.ts';

/** A bash function that finds the command among the words typed so far, then offers what may follow. */
export function bashScript(commands: readonly CommandOutline[]): string {
  const all = commands.flatMap((command) => [command, ...command.children]);
  return `# bash completion for fleetrelay
_fleetrelay() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command/$word" in
${all.map(({ words }) => `      ${pattern(words)}) command="${words.join(' ')}" ;;`).join('\n')}
    esac
  done
  case "$command:$previous" in
${all.flatMap(valueCases).join('\n')}
  esac
  if [[ "$current" == -* ]]; then
    case "$command" in
${all.map(({ words, options }) => `      "${words.join(' ')}") ${words_(options.flatMap(({ names }) => names))} ;;`).join('\n')}
    esac
    return
  fi
  case "$command" in
    "") ${words_(commands.map(({ words }) => words[0] ?? ''))} ;;
${all.map((command) => `    "${command.words.join(' ')}") ${argument(command)} ;;`).join('\n')}
  esac
}
complete -F _fleetrelay fleetrelay
`;
}

/** Matches a word where the command before it is the parent. */
function pattern(words: readonly string[]): string {
  return `"${words.slice(0, -1).join(' ')}/${words.at(-1)}"`;
}

function valueCases({ words, options }: CommandOutline): readonly string[] {
  return options.flatMap(({ names, values }) =>
    values === undefined
      ? []
      : [`    ${names.map((name) => `"${words.join(' ')}:${name}"`).join('|')}) ${offer(values)}; return ;;`],
  );
}

function argument({ children, values }: CommandOutline): string {
  return children.length > 0 ? words_(children.map(({ words }) => words.at(-1) ?? '')) : offer(values);
}

function offer(values: Values): string {
  switch (values.type) {
    case 'words':
      return words_(values.words);
    case 'files':
      return 'compopt -o filenames; COMPREPLY=($(compgen -f -- "$current"))';
    case 'folders':
      return 'compopt -o filenames; COMPREPLY=($(compgen -d -- "$current"))';
    case 'anything':
      return 'COMPREPLY=()';
  }
}

function words_(words: readonly string[]): string {
  return words.length === 0 ? 'COMPREPLY=()' : `COMPREPLY=($(compgen -W "${words.join(' ')}" -- "$current"))`;
}
