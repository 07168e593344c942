import type { Command } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import { counted } from '../../model/messages.ts';
import type { ClusterView } from '../../server/api.ts';
import { clusterName } from '../arguments.ts';
import { callerName } from '../caller.ts';
import { CliError } from '../cli-error.ts';
import { type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples, type TextOutput } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type OutputFormat, outputOption, print, printable, writeTable } from '../output.ts';
import { CLUSTER_COLUMNS } from '../views.ts';

interface Flags extends ApiOptions {
  readonly as?: string;
  readonly confirm?: string;
  readonly dryRun?: true;
  readonly output: OutputFormat;
}

const EXAMPLES = examples([
  ['fleetrelay cluster replace east --dry-run', 'what it would leave, here and elsewhere'],
  ['fleetrelay cluster replace east', 'the cluster is gone, and another one has been made under its name'],
  ['fleetrelay cluster replace east --confirm east', 'it is still there and connected: its agent is shut out'],
]);

/** `fleetrelay cluster replace NAME`. A cluster that is connected is shut out only by whoever names it twice. */
export function replaceCommand(parent: Command, context: CliContext): void {
  withApiOptions(parent.command('replace'))
    .summary('let another cluster take a name')
    .description(
      'Unbinds the name from the cluster id that has it: the next agent with its token and another id takes it. Nothing in any cluster is changed by that. Done again, before another one has come, it gives the name back.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--confirm <name>', 'the name of the cluster once more, where its agent is connected')
    .option('--dry-run', 'only say what would be done')
    .option('--as <name>', 'who replaces it, where the server knows no names (default: your user name)')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async (name: ClusterName, { output, as, confirm, dryRun, ...api }: Flags) => {
      const client = await connect(context, api);
      const before = (await client.clusters()).find((cluster) => cluster.name === name);
      if (dryRun === true) {
        if (before === undefined) throw new CliError(EXIT.notFound, `there is no cluster ${name}`);
        return print(context, output, before, (out) => {
          writeMeaning(out, before, !before.released);
          out.write('nothing was changed (--dry-run)\n');
        });
      }
      if (before?.connected === true && confirm !== name) {
        const what = `the agent of ${name} is connected, and would be shut out`;
        throw new CliError(EXIT.usage, what, `look first with --dry-run, then add --confirm ${name}`);
      }
      const cluster = await client.replaceCluster(name, callerName(context, as));
      await print(context, output, cluster, (out) => {
        writeMeaning(out, cluster, cluster.released);
        out.write('\n');
        writeTable(out, CLUSTER_COLUMNS, [cluster]);
      });
    });
}

/** What a released name means. `shutsOut`: the cluster that has had it is refused. */
function writeMeaning(out: TextOutput, { name, id, counts }: ClusterView, shutsOut: boolean): void {
  const had = printable(id ?? 'that had it');
  if (!shutsOut) {
    out.write(`the name ${name} belongs to the cluster ${had} again: its agent is let in within half a minute\n`);
    return;
  }
  const objects = counted(counts.targeted, 'object');
  out.write(`the name ${name} is free: the next agent with its token and another cluster id takes it\n`);
  out.write(
    `the cluster ${had} keeps what it holds (${objects}), and its agent is refused; this command once more lets\n`,
  );
  out.write('it back in\n');
  out.write(
    `what other clusters have from ${name}, such as mirrored Services, is judged anew with the next one: what that\n`,
  );
  out.write('one does not give is removed there, under the guards\n');
}
