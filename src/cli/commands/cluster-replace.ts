import type { ClusterView } from '../../api/server-api.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { counted } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { clusterName } from '../arguments.ts';
import type { CliCommand } from '../command.ts';
import { CliError, EXIT, refuseUsage } from '../exit-codes.ts';
import { type TextOutput, writeTable } from '../output.ts';
import { CLUSTER_COLUMNS } from '../views.ts';

interface Flags {
  readonly confirm?: string;
  readonly dryRun?: true;
  readonly undo?: true;
}

/** `fleetrelay cluster replace NAME`. A connected cluster is shut out only if the caller names it twice. */
export function replaceCommand(command: CliCommand): void {
  command
    .summary('let another cluster take a name')
    .description(
      'Unbinds the name from the cluster id that has it: the next agent with its token and another id takes it. Nothing in any cluster is changed by that. Until another one has come, --undo gives the name back.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--confirm <name>', 'the name of the cluster once more, where its agent is connected')
    .option('--undo', 'give the name back to the cluster that had it')
    .option('--dry-run', 'only say what would be done')
    .option('--as <name>', 'who replaces it, for a server without configured people (default: your user name)')
    .examples([
      ['fleetrelay cluster replace east --dry-run', 'what it would leave, here and elsewhere'],
      ['fleetrelay cluster replace east', 'the cluster is gone, and another one has been made under its name'],
      ['fleetrelay cluster replace east --confirm east', 'it is still there and connected: its agent is shut out'],
    ]);
  command.asks(async (api, { confirm, dryRun, undo }: Flags, name: ClusterName) => {
    const releases = undo !== true;
    const before = (await api.list('clusters')).find((cluster) => cluster.name === name);
    if (dryRun === true) {
      if (before === undefined) throw new CliError(EXIT.notFound, `there is no cluster ${name}`);
      return {
        value: before,
        table: (out) => {
          writeMeaning(out, before, releases);
          out.write('nothing was changed (--dry-run)\n');
        },
      };
    }
    const problem = `the agent of ${name} is connected, and would be shut out`;
    const hint = `look first with --dry-run, then add --confirm ${name}`;
    refuseUsage([[releases && before?.connected === true && confirm !== name, problem, hint]]);
    const cluster = await api.act<ClusterView>(['clusters', name, releases ? 'replace' : 'give-back']);
    return {
      value: cluster,
      table: (out) => {
        writeMeaning(out, cluster, cluster.released);
        out.write('\n');
        writeTable(out, CLUSTER_COLUMNS, [cluster]);
      },
    };
  });
}

/** Writes what a released name means. `shutsOut`: the cluster that has had the name is refused. */
function writeMeaning(out: TextOutput, { name, id, counts }: ClusterView, shutsOut: boolean): void {
  const had = printable(id ?? 'that had it');
  out.write(
    shutsOut
      ? `the name ${name} is free: the next agent with its token and another cluster id takes it
the cluster ${had} keeps what it holds (${counted(counts.targeted, 'object')}), and its agent is refused; with --undo this
command lets it back in
what other clusters have from ${name}, such as mirrored Services, is judged anew with the next one: what that
one does not give is removed there, under the guards\n`
      : `the name ${name} belongs to the cluster ${had} again: its agent is let in within half a minute\n`,
  );
}
