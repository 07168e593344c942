import { Argument, type Command } from 'commander';
import { type CliContext, examples, newCommand } from '../command.ts';

type Shell = 'bash' | 'zsh' | 'fish';

const EXAMPLES = examples([
  ['source <(fleetrelay completion bash)', 'this bash; put the line into ~/.bashrc for all'],
  ['fleetrelay completion zsh > ~/.zfunc/_fleetrelay', 'zsh, with ~/.zfunc in fpath'],
  ['fleetrelay completion fish > ~/.config/fish/completions/fleetrelay.fish', 'fish'],
]);

/** `fleetrelay completion SHELL`: a script made from the commands themselves. */
export function completionCommand(context: CliContext): Command {
  return newCommand('completion', context)
    .summary('completion script for bash, zsh or fish')
    .description('Prints a script that completes commands, options and their values.')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', EXAMPLES)
    .action(async (shell: Shell) => {
      const [{ outline }, { completionScript }, commands] = await Promise.all([
        import('../completion/outline.ts'),
        import('../completion/script.ts'),
        context.allCommands(),
      ]);
      context.stdout.write(completionScript(shell, outline(commands)));
    });
}
