import { type Command, Option } from 'commander';
import type { DeregisterRequest } from '../../compose/cluster/deregister.ts';
import type { ClusterName } from '../../model/ids.ts';
import { clusterName } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type CliContext, examples } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type KubeFlags, kubeTarget, withKubeOptions } from '../kube-options.ts';
import { type OutputFormat, outputOption, print } from '../output.ts';
import { runIo } from '../run-root.ts';
import { writeSteps } from '../steps.ts';

interface Flags extends KubeFlags {
  readonly file?: string;
  readonly directory?: string;
  readonly delete?: true;
  readonly agentKubeconfig?: string;
  readonly agentContext?: string;
  readonly agentNamespace: string;
  readonly uninstallAgent?: true;
  readonly removeObjects?: true;
  readonly confirm?: string;
  readonly dryRun?: true;
  readonly output: OutputFormat;
}

const EXAMPLES = examples([
  ['fleetrelay cluster deregister east --directory ./fleet', 'take it out of a checkout; what it holds stays'],
  [
    'fleetrelay cluster deregister east --directory ./fleet --uninstall-agent --agent-context east',
    'and remove its agent; what the fleet has made there stays',
  ],
  [
    'fleetrelay cluster deregister east --uninstall-agent --remove-objects --agent-context east --confirm east',
    'and remove what the fleet has made there; needs no server',
  ],
]);

/** `fleetrelay cluster deregister NAME`. */
export function deregisterCommand(parent: Command, context: CliContext): void {
  const command = parent
    .command('deregister')
    .summary('take a cluster out of the fleet')
    .description(
      'Takes the KubernetesCluster out of a checkout or the management cluster. What the fleet has made in the cluster stays as it is, unless --remove-objects asks for its removal: only what the inventory in the cluster names and what bears its stamp, and neither Namespaces nor CustomResourceDefinitions.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .addOption(new Option('--file <file>', 'remove this file').conflicts(['directory', 'delete']))
    .addOption(
      new Option('--directory <dir>', 'remove the file that declares it in this checkout').conflicts([
        'file',
        'delete',
      ]),
    )
    .option('--delete', 'delete the custom resource in the management cluster');
  withKubeOptions(command, {
    cluster: 'the management cluster, for --delete',
    namespace: 'namespace of the custom resource',
  });
  command
    .option('--uninstall-agent', 'remove the agent from the cluster; its namespace stays, with the inventory')
    .option('--remove-objects', 'remove what the fleet has made in the cluster; needs --confirm')
    .option('--confirm <name>', 'the name of the cluster once more, for --remove-objects')
    .option('--agent-kubeconfig <file>', 'kubeconfig of the cluster (default: what kubectl takes)')
    .option('--agent-context <name>', 'context of the cluster')
    .option('--agent-namespace <name>', 'namespace of the agent', 'fleetrelay')
    .option('--dry-run', 'only say what would be done')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async (name: ClusterName, flags: Flags) => {
      const report = await context.roots.clusterDeregister(requestOf(name, flags), runIo(context));
      await print(context, flags.output, report, (out) => {
        writeSteps(out, report.steps);
        for (const note of report.notes) out.write(`${note}\n`);
      });
      context.exit(report.steps.some(({ outcome }) => outcome === 'failed') ? EXIT.notWell : EXIT.ok);
    });
}

function requestOf(cluster: ClusterName, flags: Flags): DeregisterRequest {
  const from = fromOf(flags);
  const { uninstallAgent, removeObjects, dryRun, agentKubeconfig, agentContext, agentNamespace } = flags;
  const isInside = uninstallAgent === true || removeObjects === true;
  if (from.type === 'none' && !isInside) {
    throw new CliError(
      EXIT.usage,
      'deregister needs to know where the cluster is declared',
      'give --directory CHECKOUT, --file FILE or --delete; --uninstall-agent and --remove-objects work without',
    );
  }
  if (removeObjects === true && dryRun !== true && flags.confirm !== cluster) {
    throw new CliError(
      EXIT.usage,
      `--remove-objects removes what the fleet has made in ${cluster}`,
      `look first with --dry-run, then add --confirm ${cluster}`,
    );
  }
  const kube = {
    namespace: agentNamespace,
    ...(agentKubeconfig === undefined ? {} : { kubeconfig: agentKubeconfig }),
    ...(agentContext === undefined ? {} : { context: agentContext }),
  };
  return {
    cluster,
    from,
    ...(isInside
      ? { inside: { kube, uninstallAgent: uninstallAgent === true, removeObjects: removeObjects === true } }
      : {}),
    dryRun: dryRun === true,
  };
}

function fromOf(flags: Flags): DeregisterRequest['from'] {
  const { file, directory } = flags;
  const kube = kubeTarget(flags);
  if (flags.delete === true) return { type: 'resource', kube: kube ?? {} };
  if (kube !== undefined) {
    throw new CliError(
      EXIT.usage,
      '--kubeconfig, --context and --namespace say where --delete finds the custom resource',
      'the cluster itself is named by --agent-kubeconfig and --agent-context',
    );
  }
  if (file !== undefined) return { type: 'file', path: file };
  return directory === undefined ? { type: 'none' } : { type: 'checkout', folder: directory };
}
