import type { CliContext } from '../cli-context.ts';
import type { CliCommand } from '../command.ts';
import { CLUSTERS } from '../lists/kinds.ts';
import { showList } from '../lists/show-list.ts';
import { NAME_FORMATS } from '../output.ts';

interface Flags {
  readonly output: string;
  readonly watch?: boolean;
}

/** `fleetrelay cluster list`. */
export function listCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('all clusters as the server knows them')
    .description(
      'Lists the clusters: connected, warm, in sync, how much is applied, and what is in the way. It is `fleetrelay get clusters -o wide`.',
    )
    .option('-w, --watch', 'go on, and print what is new or has changed')
    .examples([
      ['fleetrelay cluster list', 'every cluster, its agent and how far it is'],
      ['fleetrelay cluster list --watch', 'and each change, until you stop it'],
    ]);
  const request = { kind: CLUSTERS, words: [], filter: {}, isWide: true, none: 'no clusters are declared' };
  command.asks(
    (api, { output, watch = false }: Flags) => showList(context, api, { ...request, output, watch }),
    NAME_FORMATS,
  );
}
