import type { RetryView } from '../../api/server-api.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { counted } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { given } from '../../model/values/given.ts';
import { clusterName } from '../arguments.ts';
import type { CliCommand } from '../command.ts';
import type { TextOutput } from '../output.ts';

/** Objects that are named in the answer for people. */
const MOST_NAMED = 20;

/** `fleetrelay cluster retry NAME [OBJECT]`. */
export function retryCommand(command: CliCommand): void {
  command
    .summary('try now what could not be applied')
    .description(
      'Has the agent of a cluster try at once what it could not apply or remove. It does so by itself, too: with back-off up to ten minutes, and at once after a change of the object or of the definition of its kind, and within a minute after a removal. It needs the role "operate", and the leader notes it in its audit log.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .argument('[object]', 'KIND/[NAMESPACE/]NAME (default: all that failed)')
    .option('--as <name>', 'who asks for it, for a server without configured people (default: your user name)')
    .examples([
      ['fleetrelay cluster retry east', 'after a quota was raised, for example'],
      ['fleetrelay cluster retry east service/web/shop', 'one object'],
    ])
    .asks(async (api, _flags, name: ClusterName, object?: string) => {
      const view = await api.act<RetryView>(['clusters', name, 'retry'], given({ object }));
      return {
        value: view,
        table: (out) => {
          const { objects, waits, waiting } = view;
          const end = waits === undefined ? 'tried now' : `to be tried: ${waits}`;
          if (objects.length > 0 || waiting.length === 0) writeObjects(out, name, objects, isOrAre(objects, end));
          const waitingLines = waiting.map(({ object: each, why }) => `${each}: ${why}`);
          if (waiting.length > 0) writeObjects(out, name, waitingLines, waiting.length === 1 ? 'waits' : 'wait');
        },
      };
    });
}

function isOrAre(objects: readonly unknown[], end: string): string {
  return `${objects.length === 1 ? 'is' : 'are'} ${end}`;
}

/** Writes what becomes of these objects, and a line for each of the first ones. */
function writeObjects(out: TextOutput, cluster: ClusterName, lines: readonly string[], fate: string): void {
  out.write(`${counted(lines.length, 'object')} of cluster ${cluster} ${printable(fate)}\n`);
  for (const line of lines.slice(0, MOST_NAMED)) out.write(`  ${printable(line)}\n`);
  if (lines.length > MOST_NAMED) out.write(`  and ${lines.length - MOST_NAMED} more\n`);
}
