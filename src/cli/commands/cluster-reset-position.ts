import type { ResetPositionReport } from '../../compose/cluster/reset-position.ts';
import type { KubeTarget } from '../../compose/options.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import type { OutputPosition } from '../../model/fleet/output.ts';
import { printable } from '../../model/text/printable.ts';
import { given } from '../../model/values/given.ts';
import { clusterName } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, kubeTarget, runIo } from '../command.ts';
import { refuseUsage } from '../exit-codes.ts';
import type { TextOutput } from '../output.ts';

interface Flags extends KubeTarget {
  readonly directory?: string;
  readonly dryRun?: true;
}

/** `fleetrelay cluster reset-position NAME`. */
export function resetPositionCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('let a cluster accept outputs again that it takes for old ones')
    .description(
      'Clears the position, the admission and the tag in the inventory of a cluster. An agent never accepts an output with a lower position than its own: this repairs a cluster whose position no server can follow (ServerBehind, ImplausiblePosition). Objects stay as they are. It needs no server. The agent has to start again afterwards.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--directory <dir>', 'the cluster is this folder; stop its agent first')
    .option('--dry-run', 'only show the position');
  command.kubeOptions({ cluster: 'the cluster', namespace: 'namespace of the agent' });
  command.examples([
    ['fleetrelay cluster reset-position west --context west -n fleetrelay --dry-run', 'what its inventory states'],
    ['fleetrelay cluster reset-position west --context west -n fleetrelay', 'clear it; then restart the agent'],
    ['fleetrelay cluster reset-position demo --directory ./clusters/demo', 'of a directory cluster'],
  ]);
  command.answers(async (flags: Flags, name: ClusterName) => {
    const { directory, dryRun } = flags;
    const kube = kubeTarget(flags);
    refuseUsage([
      [
        (directory === undefined) === (kube?.context === undefined && kube?.kubeconfig === undefined),
        `reset-position needs to know where ${name} is`,
        'give --context NAME (or --kubeconfig FILE), or --directory DIR for a directory cluster',
      ],
    ]);
    const report = await context.roots.clusterResetPosition(
      { name, kube: kube ?? {}, ...given({ directory, dryRun }) },
      runIo(context),
    );
    return { value: report, table: (out) => writeReport(out, report) };
  });
}

function writeReport(out: TextOutput, { cluster, where, position, admitted, reset, notes }: ResetPositionReport): void {
  const from = admitted === null ? 'no admission' : `admission ${text(admitted)}`;
  const what = reset ? 'was cleared' : 'was not changed';
  out.write(`${printable(cluster)} (${printable(where)}): position ${text(position)}, ${from}: ${what}\n`);
  for (const note of notes) out.write(`${printable(note)}\n`);
}

function text({ epoch, sequence }: OutputPosition): string {
  return `(${epoch}, ${sequence})`;
}
