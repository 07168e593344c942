import { Argument, type Command } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import { unreachable } from '../../model/result.ts';
import { clusterName } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type ApiClient, type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type Column, type OutputFormat, outputOption, print, writeTable } from '../output.ts';
import {
  CLUSTER_COLUMNS,
  DIAGNOSTIC_COLUMNS,
  OUTPUT_COLUMNS,
  REMOVAL_COLUMNS,
  removalRows,
  SOURCE_COLUMNS,
} from '../views.ts';

type What = 'clusters' | 'outputs' | 'sources' | 'removals' | 'diagnostics';

interface Flags extends ApiOptions {
  readonly output: OutputFormat;
  readonly cluster?: ClusterName;
}

const EXAMPLES = examples([
  ['fleetrelay get clusters', 'every cluster, whether it is connected and in sync'],
  ['fleetrelay get outputs --cluster east', 'every object that "east" should hold, and what became of it'],
  ['fleetrelay get removals -o yaml', 'what a guard holds back'],
]);

/** `fleetrelay get WHAT`: lists one kind of thing that the server knows. */
export function getCommand(context: CliContext): Command {
  return withApiOptions(newCommand('get', context))
    .summary('list clusters, outputs, sources, held removals or diagnostics')
    .description('Lists what the server knows.')
    .addArgument(
      new Argument('<what>', 'what to list').choices(['clusters', 'outputs', 'sources', 'removals', 'diagnostics']),
    )
    .option('--cluster <name>', 'only what belongs to this cluster (clusters, outputs, removals)', clusterName)
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async (what: What, { output, cluster, ...api }: Flags) => {
      if (cluster !== undefined && (what === 'sources' || what === 'diagnostics')) {
        throw new CliError(EXIT.usage, `--cluster says nothing about ${what}`);
      }
      await list(context, await connect(context, api), what, output, cluster);
    });
}

async function list(
  context: CliContext,
  client: ApiClient,
  what: What,
  output: OutputFormat,
  cluster: string | undefined,
): Promise<void> {
  const show = <Row>(columns: readonly Column<Row>[], rows: readonly Row[], items: unknown = rows): Promise<void> =>
    print(context, output, items, (out) =>
      rows.length === 0 ? out.write(`no ${what}\n`) : writeTable(out, columns, rows),
    );
  switch (what) {
    case 'clusters': {
      const found = (await client.clusters()).filter(({ name }) => isOf(cluster, name));
      if (cluster !== undefined && found.length === 0)
        throw new CliError(EXIT.notFound, `there is no cluster ${cluster}`);
      return show(CLUSTER_COLUMNS, found);
    }
    case 'outputs':
      return show(OUTPUT_COLUMNS, await client.outputs(cluster));
    case 'sources':
      return show(SOURCE_COLUMNS, await client.sources());
    case 'removals': {
      const sets = await client.removals();
      const shown = sets.filter(({ removals }) => removals.some((removal) => isOf(cluster, removal.cluster)));
      return show(
        REMOVAL_COLUMNS,
        removalRows(shown).filter((row) => isOf(cluster, row.cluster)),
        shown,
      );
    }
    case 'diagnostics':
      return show(DIAGNOSTIC_COLUMNS, await client.diagnostics());
    default:
      return unreachable(what);
  }
}

function isOf(cluster: string | undefined, name: string): boolean {
  return cluster === undefined || cluster === name;
}
