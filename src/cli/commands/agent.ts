import type { Command } from 'commander';
import type { AgentOptions, LogLevel } from '../../compose/options.ts';
import type { ClusterName } from '../../model/ids.ts';
import type { ListenAddress } from '../../server/listen-address.ts';
import { clusterName, listenAddress, logLevelOption, serverAddress } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { runRoot } from '../run-root.ts';

interface Flags {
  readonly cluster: ClusterName;
  readonly server: ListenAddress;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly directory: string;
  readonly dataDir?: string;
  readonly healthPort?: ListenAddress;
  readonly insecure?: true;
  readonly logLevel: LogLevel;
}

const EXAMPLES = examples([
  [
    'fleetrelay agent --cluster east --server relay.example.com:9900 --token-file east.token --ca-file ca.crt --directory ./east',
    'keep the folder ./east as the cluster "east"',
  ],
]);

/** `fleetrelay agent`: the agent of one cluster. */
export function agentCommand(context: CliContext): Command {
  return newCommand('agent', context)
    .summary('run the agent of one cluster')
    .description(
      'Connects to the management server, reports what is in the cluster, and applies what should be. Runs until stopped.',
    )
    .requiredOption('--cluster <name>', 'name of the cluster, as its KubernetesCluster declares it', clusterName)
    .requiredOption('--server <address>', 'HOST:PORT of the management server', serverAddress)
    .option('--token-file <file>', 'file with the token of the cluster (`fleetrelay cluster token` prints it)')
    .option('--ca-file <file>', 'certificate authority of the server (default: those that the system trusts)')
    .requiredOption('--directory <dir>', 'the folder that is the cluster: one YAML file an object')
    .option('--data-dir <dir>', 'where the agent keeps its inventory and last output')
    .option('--health-port <address>', 'PORT or HOST:PORT for health and metrics (default: none)', listenAddress)
    .option('--insecure', 'no TLS and no token; only to a server on this machine')
    .addOption(logLevelOption())
    .addHelpText('after', EXAMPLES)
    .action(async (flags: Flags) => {
      await runRoot(context, context.roots.agent, toOptions(flags));
    });
}

function toOptions({ healthPort, insecure, ...same }: Flags): AgentOptions {
  if (same.tokenFile === undefined && insecure !== true) {
    throw new CliError(
      EXIT.usage,
      'agent needs --token-file',
      `print the token where the server runs: fleetrelay cluster token ${same.cluster}`,
    );
  }
  return { ...same, ...(healthPort === undefined ? {} : { health: healthPort }), insecure: insecure === true };
}
