import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { CLUSTER_COLUMNS } from '../views.ts';
import { acceptCommand } from './cluster-accept.ts';
import { adoptCommand } from './cluster-adopt.ts';
import { deregisterCommand } from './cluster-deregister.ts';
import { listCommand } from './cluster-list.ts';
import { registerCommand } from './cluster-register.ts';
import { replaceCommand } from './cluster-replace.ts';
import { resetPositionCommand } from './cluster-reset-position.ts';
import { retryCommand } from './cluster-retry.ts';
import { revokeCommand } from './cluster-revoke.ts';
import { tokenCommand } from './cluster-token.ts';
import { suspendCommands } from './suspend.ts';

/** `fleetrelay cluster register|deregister|list|adopt|token|accept|revoke|replace|reset-position|retry|suspend|resume`. */
export function clusterCommand(context: CliContext): CliCommand {
  const command = newCommand('cluster', context)
    .summary('register, list, deregister, replace or suspend clusters; their tokens and certificates')
    .description('Registers, lists, replaces and deregisters clusters.')
    .examples([
      ['fleetrelay cluster register east --label env=prod --checkout ./fleet', 'declare a cluster in a checkout'],
      ['fleetrelay cluster list', 'all clusters as the server knows them'],
      ['fleetrelay cluster token east --data-dir /var/lib/fleetrelay > east.token', 'for the agent of "east"'],
      ['fleetrelay cluster token east --renew --data-dir /var/lib/fleetrelay', 'a new one; earlier ones are worthless'],
      ['fleetrelay cluster replace east', 'let another cluster take the name "east"'],
      ['fleetrelay cluster retry east', 'try now what could not be applied'],
      ['fleetrelay cluster suspend east --reason "being moved"', 'send it nothing for now'],
    ]);
  registerCommand(command.command('register'), context);
  deregisterCommand(command.command('deregister'), context);
  listCommand(command.command('list'), context);
  adoptCommand(command.command('adopt'), context);
  tokenCommand(command.command('token'), context);
  acceptCommand(command.command('accept'));
  revokeCommand(command.command('revoke'));
  replaceCommand(command.command('replace'));
  resetPositionCommand(command.command('reset-position'), context);
  retryCommand(command.command('retry'));
  const effect = 'nothing is sent to it, and its agent keeps its objects as they are';
  suspendCommands(command, 'cluster', CLUSTER_COLUMNS, effect);
  return command;
}
