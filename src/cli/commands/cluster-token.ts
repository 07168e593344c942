import { Option } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import type { TokenView } from '../../server/api.ts';
import { connect } from '../api.ts';
import { type ApiOptions, withApiOptions } from '../api-options.ts';
import { clusterName, wholeNumber } from '../arguments.ts';
import type { CliCommand, CliContext } from '../command.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import type { Answer } from '../output.ts';

interface Flags extends ApiOptions {
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  readonly generation?: number;
  readonly renew?: true;
}

/** `fleetrelay cluster token NAME`. */
export function tokenCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('print or renew the token of a cluster')
    .description(
      'Prints the token that the agent of a cluster needs. It is computed from the secret of the server, so this command runs where that secret is, and asks no server. With --renew the server is asked to make every earlier token of the cluster worthless. An agent that has its certificate already is not disturbed.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--data-dir <dir>', 'data directory of the server, which holds its secret and knows of renewals')
    .option('--relay-secret-file <file>', 'the secret, where the server was given one')
    .option(
      '--generation <n>',
      'which token, where no data directory knows of renewals: tokenGeneration of "cluster list -o json" (default: the first)',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .addOption(new Option('--renew', 'make every earlier token of the cluster worthless').conflicts('generation'))
    .option('--as <name>', 'who renews it, for a server without configured people (default: your user name)')
    .examples([
      ['fleetrelay cluster token east --data-dir /var/lib/fleetrelay > east.token', 'for the agent of "east"'],
      [
        'fleetrelay cluster token east --renew --data-dir /var/lib/fleetrelay > east.token',
        'another one, because the first was lost',
      ],
      ['fleetrelay cluster token east --renew', 'where the secret is not: print the new one elsewhere'],
    ]);
  withApiOptions(command).answers(async (flags: Flags, cluster: ClusterName): Promise<Answer> => {
    const { dataDir, relaySecretFile, generation } = flags;
    const hasSecret = dataDir !== undefined || relaySecretFile !== undefined;
    const tokenOf = (which?: number): Promise<string> =>
      context.roots.clusterToken({ cluster, dataDir, relaySecretFile, generation: which, cwd: context.cwd });
    if (flags.renew !== true) {
      if (!hasSecret) throw new CliError(EXIT.usage, 'cluster token needs either --data-dir or --relay-secret-file');
      const token = await tokenOf(generation);
      return { value: { cluster, token }, table: (out) => out.write(`${token}\n`) };
    }
    // A secret that cannot be read must be found before the old token is worthless.
    if (hasSecret) await tokenOf(0);
    const renewed = await (await connect(context, flags)).act<TokenView>(['clusters', cluster, 'renew-token']);
    const token = hasSecret ? await tokenOf(renewed.generation) : null;
    return {
      value: { ...renewed, token },
      table: (out) => {
        // The token alone is for a file or a pipe.
        const beside = token === null ? out : context.stderr;
        beside.write(
          `every earlier token of ${cluster} is invalid now; an agent that has its certificate is not affected.\n`,
        );
        out.write(
          token === null
            ? `print the new one where the secret of the server is: fleetrelay cluster token ${cluster} --relay-secret-file FILE --generation ${renewed.generation}\n`
            : `${token}\n`,
        );
      },
    };
  });
}
