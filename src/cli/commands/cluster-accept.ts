import type { ClusterName } from '../../model/fleet/ids.ts';
import { printable } from '../../model/text/printable.ts';
import { given } from '../../model/values/given.ts';
import type { AcceptedAgentView } from '../../server/people-api.ts';
import { clusterName } from '../arguments.ts';
import type { CliCommand } from '../command.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { type TextOutput, writeTable } from '../output.ts';

interface Flags {
  readonly id?: string;
  readonly key?: string;
  readonly dryRun?: true;
}

/** `fleetrelay cluster accept NAME`. */
export function acceptCommand(command: CliCommand): void {
  command
    .summary('let in an agent that came by the shared token')
    .description(
      'An agent that has only the token that all clusters share waits until a person accepts it for the name it asks for. Compare the id and the key with what the log of that agent says. It gets its certificate when it asks again, within half a minute.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--id <id>', 'the cluster id of the agent, where several wait')
    .option('--key <sha256>', 'the fingerprint of the key of the agent, where several wait')
    .option('--dry-run', 'only show which agents wait')
    .option('--as <name>', 'who accepts it, for a server without configured people (default: your user name)')
    .examples([
      ['fleetrelay cluster accept east --dry-run', 'which agents wait for the name "east"'],
      ['fleetrelay cluster accept east', 'the one that waits'],
    ]);
  command.asks(async (api, { id, key, dryRun }: Flags, name: ClusterName) => {
    if (dryRun === true) {
      const cluster = (await api.list('clusters')).find((each) => each.name === name);
      if (cluster === undefined) throw new CliError(EXIT.notFound, `there is no cluster ${name}`);
      const { waiting = [] } = cluster;
      return {
        value: waiting.map((agent) => ({ ...agent })),
        table: (out: TextOutput) => {
          if (waiting.length === 0) out.write(`no agent with the shared token waits for the name ${name}\n`);
          else writeTable(out, COLUMNS, waiting);
        },
      };
    }
    const body = given({ id, key });
    const accepted = await api.act<AcceptedAgentView>(['clusters', name, 'accept'], body);
    return {
      value: { ...accepted },
      table: (out) =>
        out.write(
          `the cluster ${printable(accepted.id)} may take the name ${name}: its agent enrols when it asks again\n`,
        ),
    };
  });
}

const COLUMNS = [
  { title: 'ID', text: ({ id }: { readonly id: string }) => id },
  { title: 'KEY', text: ({ key }: { readonly key: string }) => key },
  { title: 'ASKED', text: ({ askedAt }: { readonly askedAt: string }) => askedAt },
];
