import { Argument } from 'commander';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';

type Shell = 'bash' | 'zsh' | 'fish';

/**
 * Scripts that ask `fleetrelay __complete WORD...` for the candidates of the last word, one per line. A candidate may be
 * followed by a tab and its description. The single lines `:files` and `:folders` leave the completion to the shell.
 */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for fleetrelay
_fleetrelay() {
  local current="\${COMP_WORDS[COMP_CWORD]}" found candidate IFS=$'\\n'
  found="$(fleetrelay __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)"
  case "$found" in
    :files) compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")) ;;
    :folders) compopt -o filenames; COMPREPLY=($(compgen -d -- "$current")) ;;
    *)
      # Not by compgen -W, which would run what a candidate has in $(...).
      COMPREPLY=()
      while read -r candidate; do
        [[ -n "$candidate" && "$candidate" == "$current"* ]] && COMPREPLY+=("$candidate")
      done <<< "$found" ;;
  esac
}
complete -F _fleetrelay fleetrelay
`,
  zsh: `#compdef fleetrelay
_fleetrelay() {
  local -a found
  found=("\${(@f)$(fleetrelay __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case "$found[1]" in
    :files) _files ;;
    :folders) _files -/ ;;
    *)
      found=("\${(@)found//:/\\\\:}")
      found=("\${(@)found/$'\\t'/:}")
      _describe fleetrelay found ;;
  esac
}
if [ "$funcstack[1]" = "_fleetrelay" ]; then _fleetrelay "$@"; else compdef _fleetrelay fleetrelay; fi
`,
  fish: `# fish completion for fleetrelay
function __fleetrelay_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found (fleetrelay __complete $words[2..-1] "$current" 2>/dev/null)
  switch "$found[1]"
    case :files
      __fish_complete_path "$current"
    case :folders
      __fish_complete_directories "$current"
    case '*'
      printf '%s\\n' $found
  end
end
complete -c fleetrelay -f -a '(__fleetrelay_complete)'
`,
};

/** `fleetrelay completion SHELL`. */
export function completionCommand(context: CliContext): CliCommand {
  return newCommand('completion', context)
    .summary('completion script for bash, zsh or fish')
    .description(
      'Prints a script that completes commands, options and their values, and the names of clusters, sources, objects and approvals that the server knows. It asks fleetrelay for the candidates, which waits half a second for the server.',
    )
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SCRIPTS)))
    .examples([
      ['source <(fleetrelay completion bash)', 'this bash; put the line into ~/.bashrc for all'],
      ['fleetrelay completion zsh > ~/.zfunc/_fleetrelay', 'zsh, with ~/.zfunc in fpath'],
      ['fleetrelay completion fish > ~/.config/fish/completions/fleetrelay.fish', 'fish'],
    ])
    .action((shell: Shell) => context.stdout.write(SCRIPTS[shell]));
}
