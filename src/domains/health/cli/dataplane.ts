import { type CliCommand, newCommand } from '../../../cli/command.ts';
import { tokenCommandOf } from '../../../cli/commands/token.ts';
import type { CommandContext } from '../../../cli/domain-cli.ts';
import { dataplaneSubject } from '../model/dataplane.ts';
import { bootstrapCommand } from './dataplane-bootstrap.ts';
import { dataplaneName } from './dataplane-options.ts';
import { type DataplaneRoots, dataplaneRoots } from './dataplane-roots.ts';
import { runCommand } from './dataplane-run.ts';

/** `fleetrelay dataplane token`, `bootstrap` and `run`. */
export function dataplaneCommand(context: CommandContext, roots: DataplaneRoots = dataplaneRoots): CliCommand {
  const command = newCommand('dataplane', context)
    .summary('the Envoys of declared data planes, and their tokens')
    .description('What the Envoy of a declared data plane needs.')
    .examples([
      ['fleetrelay dataplane token default/db-07 --data-dir /var/lib/fleetrelay > db-07.token', 'for its Envoy'],
    ]);
  tokenCommand(command.command('token'), context);
  bootstrapCommand(command.command('bootstrap'), context, roots);
  runCommand(command.command('run'), context, roots);
  return command;
}

function tokenCommand(command: CliCommand, context: CommandContext): void {
  command
    .summary('print or renew the token of a data plane')
    .description(
      'Prints the token that the Envoy of a data plane shows in the metadata "authorization". It is computed from the secret of the server, so this command runs where that secret is, and asks no server. With --renew the server is asked to make every earlier token of the data plane worthless, and ends the streams that were opened with one.',
    )
    .argument('<name>', 'the data plane as MESH/NAME', dataplaneName)
    .examples([
      ['fleetrelay dataplane token default/db-07 --data-dir /var/lib/fleetrelay > db-07.token', 'for its Envoy'],
      [
        'fleetrelay dataplane token default/db-07 --renew --data-dir /var/lib/fleetrelay > db-07.token',
        'another one, because the first was lost',
      ],
    ]);
  tokenCommandOf(command, context, {
    command: 'dataplane',
    noun: 'data plane',
    enrols: false,
    generationAt: 'as --renew has named it',
    unaffected: '',
    print: context.roots.token,
    subject: dataplaneSubject,
    path: (name) => ['dataplanes', ...name.split('/')],
    view: (name) => {
      const [mesh = '', its = ''] = name.split('/');
      return { mesh, name: its };
    },
  });
}
