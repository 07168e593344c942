import { clusterName } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import type { CliCommand } from '../command.ts';
import { tokenCommandOf } from './token.ts';

/** `fleetrelay cluster token NAME`. */
export function tokenCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('print or renew the token of a cluster')
    .description(
      'Prints an enrolment token: the agent of the cluster gets a client certificate for it, within 24 hours. With --connection it prints the token that opens streams where the server runs with relay mode tls; that one lasts until --renew. A token is computed from the secret of the server, so this command runs where that secret is, and asks no server. With --renew the server is asked to make every earlier token of the cluster worthless. An agent that has its certificate already is not disturbed.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .examples([
      ['fleetrelay cluster token east --data-dir /var/lib/fleetrelay > east.token', 'for the agent of "east"'],
      [
        'fleetrelay cluster token east --single-use --valid-for 1h --data-dir /var/lib/fleetrelay > east.token',
        'good for one agent, and for an hour',
      ],
      [
        'fleetrelay cluster token east --connection --data-dir /var/lib/fleetrelay > east.token',
        'for a server whose relay mode is tls',
      ],
      [
        'fleetrelay cluster token east --renew --data-dir /var/lib/fleetrelay > east.token',
        'another one, because the first was lost',
      ],
      ['fleetrelay cluster token east --renew', 'where the secret is not: print the new one elsewhere'],
    ]);
  tokenCommandOf(command, context, {
    command: 'cluster',
    noun: 'cluster',
    enrols: true,
    generationAt: 'tokenGeneration of "cluster list -o json"',
    unaffected: 'an agent that has its certificate is not affected',
    subject: (name) => name,
    print: context.roots.token,
    path: (name) => ['clusters', name],
    view: (cluster) => ({ cluster }),
  });
}
