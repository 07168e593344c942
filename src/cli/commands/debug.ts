import type { Command } from 'commander';
import type { DebugPiece } from '../../compose/debug/piece.ts';
import { isJsonObject, type JsonValue } from '../../model/json.ts';
import { repeated, wholeNumber } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type ApiOptions, connect, serverOf, withApiOptions } from '../client.ts';
import { type CliContext, examples, newCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type KubeFlags, kubeTarget, withKubeOptions } from '../kube-options.ts';
import { type MetricsPlace, placeOfMetrics } from '../metrics-place.ts';
import { type OutputFormat, outputOption, print, printable } from '../output.ts';
import { runIo } from '../run-root.ts';
import { styled } from '../style.ts';

interface Flags extends ApiOptions, KubeFlags {
  readonly file?: string;
  readonly config?: string;
  readonly metrics?: string;
  readonly agentHealth: readonly string[];
  readonly server: boolean;
  readonly tail: number;
  readonly output: OutputFormat;
}

/** The server's account of itself in the archive. */
const STATUS = 'server/status.json';

const EXAMPLES = examples([
  ['fleetrelay debug snapshot', 'what the server knows, into fleetrelay-debug-TIME.tar.gz'],
  ['fleetrelay debug snapshot --context east -n fleetrelay', 'and what is in the cluster of that context'],
  ['fleetrelay debug snapshot --file ./look', 'into a folder, to look at it before it is sent to anybody'],
]);

/** `fleetrelay debug snapshot`. */
export function debugCommand(context: CliContext): Command {
  const command = newCommand('debug', context)
    .summary('collect what a maintainer needs, without secrets')
    .description('Helps those who are asked for help.')
    .addHelpText('after', EXAMPLES);
  const snapshot = withApiOptions(command.command('snapshot'))
    .summary('one file for a report of a fault, without secrets')
    .description(
      'Collects status, clusters, outputs, diagnostics and metrics of the server, health of agents, and from a cluster the Deployment, pods, events, logs, lease and inventory of the agent. What Secrets hold is never asked for; what looks like a secret anywhere else is masked. manifest.json in it says what is there, what could not be had, and what was left out.',
    )
    .option('--file <path>', 'FILE.tar.gz, or a folder (default: fleetrelay-debug-TIME.tar.gz)')
    .option('--config <file>', 'RelayConfig of the server')
    .option(
      '--metrics <url>',
      'health and metrics address of the server (environment: FLEETRELAY_METRICS; default: where the server says)',
    )
    .addOption(repeated('--agent-health <url>', 'health address of an agent; may be repeated', 'none'))
    .option('--tail <lines>', 'lines of each log', wholeNumber(1, 100_000), 2_000)
    .option('--no-server', 'do not ask the server');
  withKubeOptions(snapshot, { cluster: 'the cluster whose agent is looked at', namespace: 'namespace of the agent' })
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => takeSnapshot(context, flags));
  return command;
}

async function takeSnapshot(context: CliContext, flags: Flags): Promise<void> {
  const kube = kubeTarget(flags);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const { config } = flags;
  const server = flags.server ? await serverPieces(context, flags) : [];
  const metrics = flags.server ? metricsPlace(context, flags, server) : undefined;
  const manifest = await context.roots.debugSnapshot(
    {
      destination: flags.file ?? `fleetrelay-debug-${time}.tar.gz`,
      server: metrics?.type === 'outOfReach' ? [...server, ...missingMetrics(metrics.why)] : server,
      serverMetrics: metrics?.type === 'url' ? metrics.url : null,
      agentHealth: flags.agentHealth,
      logLines: flags.tail,
      ...(config === undefined ? {} : { configFile: config }),
      ...(kube === undefined ? {} : { kube }),
    },
    runIo(context),
  );
  await print(context, flags.output, manifest, (out) => {
    out.write(`${printable(manifest.destination)}: ${manifest.files.length} files\n`);
    for (const { path, why } of manifest.missing) {
      out.write(`  ${styled(out, 'warn', 'could not be had')}: ${printable(path)}: ${printable(why)}\n`);
    }
    for (const what of manifest.leftOut) out.write(`  ${styled(out, 'faint', `left out: ${what}`)}\n`);
    out.write('look at it before you send it: it names clusters, objects and addresses\n');
  });
}

async function serverPieces(context: CliContext, flags: Flags): Promise<readonly DebugPiece[]> {
  const client = await connect(context, flags);
  const json = async (name: string, ask: () => Promise<unknown>): Promise<DebugPiece> => {
    const path = `server/${name}.json`;
    try {
      return { path, type: 'json', value: (await ask()) as JsonValue };
    } catch (error) {
      return missing(path, error);
    }
  };
  return Promise.all([
    json('status', () => client.status()),
    json('clusters', () => client.clusters()),
    json('outputs', () => client.outputs(undefined)),
    json('sources', () => client.sources()),
    json('removals', () => client.removals()),
    json('diagnostics', () => client.diagnostics()),
  ]);
}

/** As the caller says, else as the status of the server does. */
function metricsPlace(context: CliContext, flags: Flags, server: readonly DebugPiece[]): MetricsPlace {
  const told = flags.metrics ?? context.env.FLEETRELAY_METRICS;
  if (told !== undefined) return { type: 'url', url: told };
  const status = server.find(({ path }) => path === STATUS);
  const value = status?.type === 'json' ? status.value : undefined;
  const address = isJsonObject(value) ? value.metricsAddress : undefined;
  return placeOfMetrics(typeof address === 'string' ? address : undefined, serverOf(context, flags));
}

function missingMetrics(why: string): readonly DebugPiece[] {
  return ['server/readyz.txt', 'server/metrics.txt'].map((path) => ({ path, type: 'missing', why }));
}

function missing(path: string, error: unknown): DebugPiece {
  if (!(error instanceof CliError) || error.exitCode === EXIT.usage) throw error;
  return { path, type: 'missing', why: error.message };
}
