import { Argument, type Command } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
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

const WELL_KNOWN = ['clusters', 'outputs', 'sources', 'removals', 'diagnostics'];

interface Flags extends ApiOptions {
  readonly output: OutputFormat;
  readonly cluster?: ClusterName;
}

const EXAMPLES = examples([
  ['fleetrelay get clusters', 'every cluster, whether it is connected and in sync'],
  ['fleetrelay get outputs --cluster east', 'every object that "east" should hold, and what became of it'],
  ['fleetrelay get removals -o yaml', 'what a guard holds back'],
  ['fleetrelay get mirrored-services', 'every Service that is made known in other clusters: a view of the server'],
]);

/** `fleetrelay get WHAT`: lists one kind of thing that the server knows. */
export function getCommand(context: CliContext): Command {
  return withApiOptions(newCommand('get', context))
    .summary('list clusters, outputs, sources, held removals, diagnostics or mirrored services')
    .description(
      `Lists what the server knows: ${WELL_KNOWN.join(', ')}, or a view that the server has. The server names its views if it has none of the name.`,
    )
    .addArgument(
      // The words are for completion; the server knows which views there are.
      new Argument('<what>', 'what to list').choices(WELL_KNOWN).argParser((what) => what),
    )
    .option('--cluster <name>', 'only what belongs to this cluster (clusters, outputs, removals)', clusterName)
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async (what: string, { output, cluster, ...api }: Flags) => {
      if (cluster !== undefined && !['clusters', 'outputs', 'removals'].includes(what)) {
        throw new CliError(EXIT.usage, `--cluster says nothing about ${what}`);
      }
      await list(context, await connect(context, api), what, output, cluster);
    });
}

async function list(
  context: CliContext,
  client: ApiClient,
  what: string,
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
    default: {
      const rows = await client.view(what);
      return show(columnsOf(rows), rows);
    }
  }
}

/** One column for each member of the rows, in the order in which the rows have them. */
function columnsOf(rows: readonly JsonObject[]): readonly Column<JsonObject>[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.map((name) => ({ title: name.toUpperCase(), text: (row) => cellOf(row[name]) }));
}

function cellOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

function isOf(cluster: string | undefined, name: string): boolean {
  return cluster === undefined || cluster === name;
}
