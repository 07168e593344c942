import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';

/** `fleetrelay version`. */
export function versionCommand(context: CliContext): CliCommand {
  return newCommand('version', context)
    .summary('version of fleetrelay and of what it runs on')
    .description('Prints the version of fleetrelay and of what it runs on.')
    .examples([
      ['fleetrelay version', 'what runs here'],
      ['fleetrelay version -o json', 'the same for a program'],
    ])
    .answers(async () => {
      const { versions, platform, arch } = process;
      const value = { fleetrelay: context.version, node: versions.node, platform: `${platform}-${arch}` };
      const line = `fleetrelay ${value.fleetrelay} (Node.js ${value.node}, ${value.platform})\n`;
      return { value, table: (out) => out.write(line) };
    });
}
