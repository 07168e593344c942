import type { RetryView } from '../../api/server-api.ts';
import type { ClusterName } from '../../model/ids.ts';
import { counted } from '../../model/messages.ts';
import { printable } from '../../model/printable.ts';
import { clusterName } from '../arguments.ts';
import type { CliCommand } from '../command.ts';

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
      const view = await api.act<RetryView>(['clusters', name, 'retry'], object === undefined ? {} : { object });
      return {
        value: view,
        table: (out) => {
          const { objects, waits } = view;
          const end = waits === undefined ? 'tried now' : `to be tried: ${waits}`;
          out.write(
            `${counted(objects.length, 'object')} of cluster ${name} ${objects.length === 1 ? 'is' : 'are'} ${printable(end)}\n`,
          );
          for (const each of objects.slice(0, MOST_NAMED)) out.write(`  ${printable(each)}\n`);
          if (objects.length > MOST_NAMED) out.write(`  and ${objects.length - MOST_NAMED} more\n`);
        },
      };
    });
}
