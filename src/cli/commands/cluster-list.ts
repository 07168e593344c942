import type { Command } from 'commander';
import type { ClusterView } from '../../server/api.ts';
import { CliError } from '../cli-error.ts';
import { type ApiClient, type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type Column, type OutputFormat, outputOption, print, writeTable } from '../output.ts';
import { CLUSTER_COLUMNS } from '../views.ts';

interface Flags extends ApiOptions {
  readonly output: OutputFormat;
  readonly watch?: true;
}

const LOOK_EVERY_MS = 1_000;

const EXAMPLES = examples([
  ['fleetrelay cluster list', 'every cluster, its agent and how far it is'],
  ['fleetrelay cluster list --watch', 'and each change, until you stop it'],
]);

const COLUMNS: readonly Column<ClusterView>[] = [
  ...CLUSTER_COLUMNS.slice(0, -1),
  { title: 'AGENT', text: ({ agentVersion }) => agentVersion ?? '-' },
  {
    title: 'LABELS',
    text: ({ labels }) =>
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(',') || '-',
  },
  ...CLUSTER_COLUMNS.slice(-1),
];

/** `fleetrelay cluster list`. */
export function listCommand(parent: Command, context: CliContext): void {
  withApiOptions(parent.command('list'))
    .summary('all clusters as the server knows them')
    .description('Lists the clusters: connected, warm, in sync, how much is applied, and what is in the way.')
    .option('-w, --watch', 'go on, and print each cluster again when it changes')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action(async ({ output, watch, ...api }: Flags) => {
      const client = await connect(context, api);
      if (watch === undefined) {
        const clusters = await client.clusters();
        return print(context, output, clusters, (out) =>
          clusters.length === 0 ? out.write('no clusters are declared\n') : writeTable(out, COLUMNS, clusters),
        );
      }
      if (output !== 'table') throw new CliError(EXIT.usage, '--watch prints a table; ask again and again for -o json');
      return follow(context, client);
    });
}

/** A table whose rows come as clusters change; a server that is away for a while is waited for. */
async function follow(context: CliContext, client: ApiClient): Promise<void> {
  const stopped = context.untilStopped();
  const shown = new Map<string, string>();
  let isAway = false;
  let clusters = await client.clusters();
  while (!stopped.aborted) {
    const changed = clusters.filter((cluster) => shown.get(cluster.name) !== JSON.stringify(cluster));
    for (const cluster of changed) shown.set(cluster.name, JSON.stringify(cluster));
    if (changed.length > 0) writeTable(context.stdout, COLUMNS, changed);
    await pause(stopped);
    const answer = await client.clusters().catch((error: unknown) => error);
    if (Array.isArray(answer)) {
      if (isAway) context.stderr.write('the server answers again\n');
      isAway = false;
      clusters = answer;
    } else if (!isAway) {
      isAway = true;
      context.stderr.write(`${answer instanceof Error ? answer.message : String(answer)}; waiting for it\n`);
    }
  }
}

function pause(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, LOOK_EVERY_MS);
    function done(): void {
      clearTimeout(timer);
      stopped.removeEventListener('abort', done);
      resolve();
    }
    stopped.addEventListener('abort', done);
    if (stopped.aborted) done();
  });
}
