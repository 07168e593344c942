import type { Command } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import { clusterName } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type OutputFormat, outputOption, print } from '../output.ts';
import { CLUSTER_COLUMNS } from '../views.ts';
import { adoptCommand } from './cluster-adopt.ts';
import { deregisterCommand } from './cluster-deregister.ts';
import { listCommand } from './cluster-list.ts';
import { registerCommand } from './cluster-register.ts';
import { replaceCommand } from './cluster-replace.ts';
import { suspendCommands } from './suspend.ts';

interface TokenFlags {
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  readonly output: OutputFormat;
}

const EXAMPLES = examples([
  ['fleetrelay cluster register east --label env=prod --directory ./fleet', 'declare a cluster in a checkout'],
  ['fleetrelay cluster list', 'all clusters as the server knows them'],
  ['fleetrelay cluster token east --data-dir /var/lib/fleetrelay > east.token', 'for the agent of "east"'],
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
  tokenCommand(command.command('token'), context);
  replaceCommand(command, context);
  suspendCommands(command, context, 'cluster', {
    columns: CLUSTER_COLUMNS,
    suspended: 'nothing is sent to it, and its agent goes on keeping what it holds as it is',
    suspend: (client, name, by, reason) => client.suspendCluster(name, by, reason),
    resume: (client, name, by) => client.resumeCluster(name, by),
  });
  return command;
}

function tokenCommand(command: Command, context: CliContext): void {
  command
    .summary('print the token of a cluster')
    .description(
      'Prints the token that the agent of a cluster needs. Works where the secret of the server is; asks nobody.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--data-dir <dir>', 'data directory of the server, which holds its secret')
    .option('--relay-secret-file <file>', 'the secret, where the server was given one')
    .addOption(outputOption())
    .action(async (cluster: ClusterName, { output, ...secret }: TokenFlags) => {
      if ((secret.dataDir === undefined) === (secret.relaySecretFile === undefined)) {
        throw new CliError(EXIT.usage, 'cluster token needs either --data-dir or --relay-secret-file');
      }
      const token = await context.roots.clusterToken({ cluster, ...secret, cwd: context.cwd });
      await print(context, output, { cluster, token }, (out) => out.write(`${token}\n`));
    });
}
