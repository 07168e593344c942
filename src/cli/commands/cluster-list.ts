import type { ClusterView } from '../../api/server-api.ts';
import type { CliCommand, CliContext } from '../command.ts';
import { refuseUsage } from '../exit-codes.ts';
import { follow } from '../follow.ts';
import { type Answer, type Column, listAnswer, writeTable } from '../output.ts';
import { CLUSTER_COLUMNS, pairs } from '../views.ts';

interface Flags {
  readonly output: string;
  readonly watch?: true;
}

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
    await follow(context, clusters, {
      ask: () => api.list('clusters'),
      nameOf: ({ name }) => name,
      show: (changed) => writeTable(context.stdout, COLUMNS, changed),
    });
    return { value: null, table: () => undefined };
  });
}
