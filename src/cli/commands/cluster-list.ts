import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../../model/messages.ts';
import type { ClusterView } from '../../server/api.ts';
import type { Api } from '../api.ts';
import type { CliCommand, CliContext } from '../command.ts';
import { refuseUsage } from '../exit-codes.ts';
import { type Answer, type Column, listAnswer, writeTable } from '../output.ts';
import { CLUSTER_COLUMNS, pairs } from '../views.ts';

interface Flags {
  readonly output: string;
  readonly watch?: true;
}

const LOOK_EVERY_MS = 1_000;

const COLUMNS: readonly Column<ClusterView>[] = [
  ...CLUSTER_COLUMNS.slice(0, -1),
  { title: 'AGENT', text: ({ agentVersion }) => agentVersion ?? '-' },
  { title: 'KUBERNETES', text: ({ kubernetesVersion }) => kubernetesVersion ?? '-' },
  { title: 'LABELS', text: ({ labels }) => pairs(labels, ',') || '-' },
  ...CLUSTER_COLUMNS.slice(-1),
];

/** `fleetrelay cluster list`. */
export function listCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('all clusters as the server knows them')
    .description('Lists the clusters: connected, warm, in sync, how much is applied, and what is in the way.')
    .option('-w, --watch', 'go on, and print each cluster again when it changes')
    .examples([
      ['fleetrelay cluster list', 'every cluster, its agent and how far it is'],
      ['fleetrelay cluster list --watch', 'and each change, until you stop it'],
    ]);
  command.asks(async (api, { output, watch }: Flags): Promise<Answer> => {
    const problem = '--watch prints a table; ask again and again for -o json';
    refuseUsage([[watch !== undefined && output !== 'table', problem]]);
    const clusters = await api.list('clusters');
    if (watch === undefined) return listAnswer(COLUMNS, clusters, 'no clusters are declared');
    await follow(context, api, clusters);
    return { value: null, table: () => undefined };
  });
}

/** Prints each cluster that has changed until a signal stops the process. Waits while the server does not answer. */
async function follow(context: CliContext, api: Api, first: readonly ClusterView[]): Promise<void> {
  const stopped = context.untilStopped();
  const shown = new Map<string, string>();
  let isAway = false;
  let clusters = first;
  while (!stopped.aborted) {
    const changed = clusters.filter((cluster) => shown.get(cluster.name) !== JSON.stringify(cluster));
    for (const cluster of changed) shown.set(cluster.name, JSON.stringify(cluster));
    if (changed.length > 0) writeTable(context.stdout, COLUMNS, changed);
    await sleep(LOOK_EVERY_MS, undefined, { signal: stopped }).catch(() => undefined);
    if (stopped.aborted) return;
    try {
      clusters = await api.list('clusters');
      if (isAway) context.stderr.write('the server answers again\n');
      isAway = false;
    } catch (error) {
      if (!isAway) context.stderr.write(`${errorText(error)}; waiting for it\n`);
      isAway = true;
    }
  }
}
