import type { Command } from 'commander';
import { type CliContext, examples, newCommand } from '../command.ts';
import { type OutputFormat, outputOption, print } from '../output.ts';

const EXAMPLES = examples([
  ['fleetrelay version', 'what runs here'],
  ['fleetrelay version -o json', 'the same for a program'],
]);

/** `fleetrelay version`. */
export function versionCommand(context: CliContext): Command {
  return newCommand('version', context)
    .summary('version of fleetrelay and of what it runs on')
    .description('Prints the version of fleetrelay and of what it runs on.')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async ({ output }: { readonly output: OutputFormat }) => {
      const { versions, platform, arch } = process;
      const value = { fleetrelay: context.version, node: versions.node, platform: `${platform}-${arch}` };
      await print(context, output, value, (out) =>
        out.write(`fleetrelay ${value.fleetrelay} (Node.js ${value.node}, ${value.platform})\n`),
      );
    });
}
