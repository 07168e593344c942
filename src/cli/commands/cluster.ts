import type { Command } from 'commander';
import { type CliContext, examples, newCommand } from '../command.ts';
import { CLUSTER_COLUMNS } from '../views.ts';
import { adoptCommand } from './cluster-adopt.ts';
import { deregisterCommand } from './cluster-deregister.ts';
import { listCommand } from './cluster-list.ts';
import { registerCommand } from './cluster-register.ts';
import { replaceCommand } from './cluster-replace.ts';
import { tokenCommand } from './cluster-token.ts';
import { suspendCommands } from './suspend.ts';

const EXAMPLES = examples([
  ['fleetrelay cluster register east --label env=prod --directory ./fleet', 'declare a cluster in a checkout'],
  ['fleetrelay cluster list', 'all clusters as the server knows them'],
  ['fleetrelay cluster token east --data-dir /var/lib/fleetrelay > east.token', 'for the agent of "east"'],
  ['fleetrelay cluster token east --renew --data-dir /var/lib/fleetrelay', 'a new one; earlier ones are worthless'],
  ['fleetrelay cluster replace east', 'let another cluster take the name "east"'],
  ['fleetrelay cluster suspend east --reason "being moved"', 'send it nothing for now'],
]);

/** `fleetrelay cluster register|deregister|list|adopt|token|replace|suspend|resume`. */
export function clusterCommand(context: CliContext): Command {
  const command = newCommand('cluster', context)
    .summary('register, list, deregister, replace or suspend clusters; token of a cluster')
    .description('Joining and replacing clusters.')
    .addHelpText('after', EXAMPLES);
  registerCommand(command, context);
  deregisterCommand(command, context);
  listCommand(command, context);
  adoptCommand(command, context);
  tokenCommand(command, context);
  replaceCommand(command, context);
  suspendCommands(command, context, 'cluster', {
    columns: CLUSTER_COLUMNS,
    suspended: 'nothing is sent to it, and its agent goes on keeping what it holds as it is',
    suspend: (client, name, by, reason) => client.suspendCluster(name, by, reason),
    resume: (client, name, by) => client.resumeCluster(name, by),
  });
  return command;
}
