import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ClusterName } from '../../model/ids.ts';
import { clusterName } from '../arguments.ts';
import { callerName } from '../caller.ts';
import { CliError } from '../cli-error.ts';
import { type ApiOptions, connect, withApiOptions } from '../client.ts';
import { type CliContext, examples } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type OutputFormat, outputOption, print } from '../output.ts';

interface Flags extends ApiOptions {
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  readonly generation?: number;
  readonly renew?: true;
  readonly as?: string;
  readonly output: OutputFormat;
}

const EXAMPLES = examples([
  ['fleetrelay cluster token east --data-dir /var/lib/fleetrelay > east.token', 'for the agent of "east"'],
  ['fleetrelay cluster token east --renew --data-dir /var/lib/fleetrelay > east.token', 'another one: that was lost'],
  ['fleetrelay cluster token east --renew', 'where the secret is not: print the new one elsewhere'],
]);

/** `fleetrelay cluster token NAME`. */
export function tokenCommand(parent: Command, context: CliContext): void {
  const command = parent
    .command('token')
    .summary('print or renew the token of a cluster')
    .description(
      'Prints the token that the agent of a cluster needs. Works where the secret of the server is, and asks nobody, unless the token is to be renewed: then the server is told, and every earlier token of the cluster is worth nothing. An agent that has its certificate already is not disturbed.',
    )
    .argument('<name>', 'name of the cluster', clusterName)
    .option('--data-dir <dir>', 'data directory of the server, which holds its secret and knows of renewals')
    .option('--relay-secret-file <file>', 'the secret, where the server was given one')
    .addOption(
      new Option(
        '--generation <n>',
        'which token, where no data directory knows of renewals: tokenGeneration of "cluster list -o json" (default: the first)',
      ).argParser(generation),
    )
    .addOption(new Option('--renew', 'make every earlier token of the cluster worthless').conflicts('generation'));
  withApiOptions(command)
    .option('--as <name>', 'who renews it, where the server knows no names (default: your user name)')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action((cluster: ClusterName, flags: Flags) => (flags.renew === true ? renew : show)(context, cluster, flags));
}

function generation(text: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A generation is a whole number.');
}

async function show(context: CliContext, cluster: ClusterName, flags: Flags): Promise<void> {
  const { output, dataDir, relaySecretFile } = flags;
  if (dataDir === undefined && relaySecretFile === undefined) {
    throw new CliError(EXIT.usage, 'cluster token needs either --data-dir or --relay-secret-file');
  }
  const token = await tokenOf(context, cluster, flags, flags.generation);
  await print(context, output, { cluster, token }, (out) => out.write(`${token}\n`));
}

async function renew(context: CliContext, cluster: ClusterName, flags: Flags): Promise<void> {
  const { output, dataDir, relaySecretFile, as, ...api } = flags;
  const hasSecret = dataDir !== undefined || relaySecretFile !== undefined;
  // What cannot be printed afterwards is found before the old one is worthless.
  if (hasSecret) await tokenOf(context, cluster, flags, 0);
  const renewed = await (await connect(context, api)).renewToken(cluster, callerName(context, as));
  const token = hasSecret ? await tokenOf(context, cluster, flags, renewed.generation) : null;
  await print(context, output, { ...renewed, token }, (out) => {
    // The token alone is for a file or a pipe.
    const beside = token === null ? out : context.stderr;
    beside.write(`every earlier token of ${cluster} is worth nothing; an agent that has its certificate goes on.\n`);
    out.write(
      token === null
        ? `print the new one where the secret of the server is: fleetrelay cluster token ${cluster} --relay-secret-file FILE --generation ${renewed.generation}\n`
        : `${token}\n`,
    );
  });
}

function tokenOf(
  { roots, cwd }: CliContext,
  cluster: ClusterName,
  { dataDir, relaySecretFile }: Flags,
  which: number | undefined,
): Promise<string> {
  return roots.clusterToken({
    ...{ cluster, cwd },
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(relaySecretFile === undefined ? {} : { relaySecretFile }),
    ...(which === undefined ? {} : { generation: which }),
  });
}
