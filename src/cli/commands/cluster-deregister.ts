import { Option } from 'commander';
import type { DeregisterRequest } from '../../compose/cluster/deregister.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { clusterName } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, kubeTarget, runIo } from '../command.ts';
import { EXIT, refuseUsage } from '../exit-codes.ts';
import { writeSteps } from '../output.ts';

interface Flags extends Omit<DeregisterRequest, 'name'> {
  readonly confirm?: string;
}

/** `fleetrelay cluster deregister NAME`. */
export function deregisterCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('take a cluster out of the fleet')
    .description(
      'Takes the KubernetesCluster out of a checkout or the management cluster. What the fleet has made in the cluster stays as it is, unless --remove-objects asks for its removal: only what the inventory in the cluster names and what bears its stamp, and neither Namespaces nor CustomResourceDefinitions.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .addOption(new Option('--checkout <dir>', 'remove the file that declares it in this checkout').conflicts('delete'))
    .option('--delete', 'delete the custom resource in the management cluster');
  command.kubeOptions({
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
    .examples([
      ['fleetrelay cluster deregister east --checkout ./fleet', 'take it out of a checkout; what it holds stays'],
      [
        'fleetrelay cluster deregister east --checkout ./fleet --uninstall-agent --agent-context east',
        'and remove its agent; what the fleet has made there stays',
      ],
      [
        'fleetrelay cluster deregister east --uninstall-agent --remove-objects --agent-context east --confirm east',
        'and remove what the fleet has made there; needs no server',
      ],
    ]);
  command.answers(async (flags: Flags, name: ClusterName) => {
    refuseContradictions(name, flags);
    const report = await context.roots.clusterDeregister({ ...flags, name }, runIo(context));
    return {
      value: report,
      table: (out) => {
        writeSteps(out, report.steps);
        for (const note of report.notes) out.write(`${note}\n`);
      },
      exitCode: report.steps.some(({ outcome }) => outcome === 'failed') ? EXIT.notWell : EXIT.ok,
    };
  });
}

function refuseContradictions(name: ClusterName, flags: Flags): void {
  const { checkout, uninstallAgent, removeObjects, confirm, dryRun } = flags;
  refuseUsage([
    [
      flags.delete === undefined && kubeTarget(flags) !== undefined,
      '--kubeconfig, --context and --namespace say where --delete finds the custom resource',
      'the cluster itself is named by --agent-kubeconfig and --agent-context',
    ],
    [
      (checkout ?? flags.delete ?? uninstallAgent ?? removeObjects) === undefined,
      'deregister needs to know where the cluster is declared',
      'give --checkout DIR or --delete; --uninstall-agent and --remove-objects work without',
    ],
    [
      removeObjects === true && dryRun !== true && confirm !== name,
      `--remove-objects removes what the fleet has made in ${name}`,
      `look first with --dry-run, then add --confirm ${name}`,
    ],
  ]);
}
