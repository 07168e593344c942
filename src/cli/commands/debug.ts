import { isIPv6 } from 'node:net';
import type { DebugPiece } from '../../compose/debug/snapshot.ts';
import type { KubeTarget } from '../../compose/options.ts';
import { isLoopback } from '../../http/loopback.ts';
import { isJsonObject, type JsonValue } from '../../model/text/json.ts';
import { printable } from '../../model/text/printable.ts';
import { apiHost } from '../../server/listen-address.ts';
import { connect } from '../api.ts';
import { type ApiOptions, addressOf, withApiOptions } from '../api-options.ts';
import { repeated, wholeNumber } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, type Examples, kubeTarget, newCommand, runIo } from '../command.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { type CommandAnswer, styled } from '../output.ts';

interface Flags extends ApiOptions, KubeTarget {
  readonly file?: string;
  readonly config?: string;
  readonly serverMetrics?: string;
  readonly agentMetrics: readonly string[];
  readonly withoutServer?: true;
  readonly tail: number;
}

const EXAMPLES: Examples = [
  ['fleetrelay debug snapshot', 'what the server knows, into fleetrelay-debug-TIME.tar.gz'],
  ['fleetrelay debug snapshot --context east -n fleetrelay', 'and what is in the cluster of that context'],
  ['fleetrelay debug snapshot --file ./look', 'into a folder, to look at it before you send it'],
];

/** `fleetrelay debug snapshot`. */
export function debugCommand(context: CliContext): CliCommand {
  const command = newCommand('debug', context)
    .summary('collect what a maintainer needs, without secrets')
    .description('Collects information for a maintainer who helps you.')
    .examples(EXAMPLES);
  const snapshot = command
    .command('snapshot')
    .summary('one file for a report of a fault, without secrets')
    .description(
      'Collects status, clusters, outputs, diagnostics and metrics of the server, health of agents, and from a cluster the Deployment, pods, events, logs, lease and inventory of the agent. The content of Secrets is never asked for; other values that look like secrets are masked. manifest.json in it lists the files, what is missing, and what was left out.',
    )
    .option('--file <path>', 'FILE.tar.gz, or a folder (default: fleetrelay-debug-TIME.tar.gz)')
    .option('--config <file>', 'RelayConfig of the server')
    .option(
      '--server-metrics <url>',
      'health and metrics address of the server (environment: FLEETRELAY_SERVER_METRICS; default: as the server reports it)',
    )
    .addOption(repeated('--agent-metrics <url>', 'health and metrics address of an agent; may be repeated', 'none'))
    .option('--tail <lines>', 'lines of each log', wholeNumber(1, 100_000), 2_000)
    .option('--without-server', 'do not ask the server')
    .examples(EXAMPLES);
  snapshot.kubeOptions({ cluster: 'the cluster whose agent is looked at', namespace: 'namespace of the agent' });
  withApiOptions(snapshot).answers((flags: Flags) => takeSnapshot(context, flags));
  return command;
}

async function takeSnapshot(context: CliContext, flags: Flags): Promise<CommandAnswer> {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const server = flags.withoutServer === true ? [] : await serverPieces(context, flags);
  const metrics = flags.withoutServer === true ? undefined : metricsPlace(context, flags, server);
  const outOfReach = ['server/readyz.txt', 'server/metrics.txt'].map(
    (path): DebugPiece => ({ path, type: 'missing', why: metrics?.outOfReach ?? '' }),
  );
  const manifest = await context.roots.debugSnapshot(
    {
      destination: flags.file ?? `fleetrelay-debug-${time}.tar.gz`,
      server: metrics?.outOfReach === undefined ? server : [...server, ...outOfReach],
      serverMetrics: metrics?.url ?? null,
      agentHealth: flags.agentMetrics,
      logLines: flags.tail,
      configFile: flags.config,
      kube: kubeTarget(flags),
    },
    runIo(context),
  );
  return {
    value: manifest,
    table: (out) => {
      out.write(`${printable(manifest.destination)}: ${manifest.files.length} files\n`);
      for (const { path, why } of manifest.missing) {
        out.write(`  ${styled(out, 'warn', 'missing')}: ${printable(path)}: ${printable(why)}\n`);
      }
      for (const what of manifest.leftOut) out.write(`  ${styled(out, 'faint', `left out: ${what}`)}\n`);
      out.write('look at it before you send it: it names clusters, objects and addresses\n');
    },
  };
}

/** The answers of the server; one that fails is a piece that is missing. */
async function serverPieces(context: CliContext, flags: Flags): Promise<readonly DebugPiece[]> {
  const api = await connect(context, flags);
  const lists = ['clusters', 'outputs', 'sources', 'removals', 'diagnostics'] as const;
  const questions: readonly (readonly [name: string, answer: Promise<unknown>])[] = [
    ['status', api.status()],
    ...lists.map((name) => [name, api.list(name)] as const),
  ];
  return Promise.all(
    questions.map(async ([name, answer]): Promise<DebugPiece> => {
      const path = `server/${name}.json`;
      try {
        return { path, type: 'json', value: (await answer) as JsonValue };
      } catch (error) {
        if (!(error instanceof CliError) || error.exitCode === EXIT.usage) throw error;
        return { path, type: 'missing', why: error.message };
      }
    }),
  );
}

/** Where the health and metrics of the server can be asked from here, or why they are out of reach. */
type MetricsPlace =
  | { readonly url: string; readonly outOfReach?: undefined }
  | { readonly url?: undefined; readonly outOfReach: string };

/** The address that the caller gives, else the one that the status of the server gives. */
function metricsPlace(context: CliContext, flags: Flags, server: readonly DebugPiece[]): MetricsPlace {
  const told = flags.serverMetrics ?? context.env.FLEETRELAY_SERVER_METRICS;
  if (told !== undefined) return { url: told };
  const status = server.find(({ path }) => path === 'server/status.json');
  const value = status?.type === 'json' ? status.value : undefined;
  const address = isJsonObject(value) ? value.metricsAddress : undefined;
  return placeOfMetrics(typeof address === 'string' ? address : undefined, addressOf(context, flags));
}

/**
 * `bound`: URL of the listener as the server reports it; undefined: it is not open yet. `api`: address at which the server
 * was asked. A listener on all addresses is asked where the API is. One on the loopback of another machine cannot be
 * asked: the same port here belongs to another process.
 */
export function placeOfMetrics(bound: string | undefined, api: string): MetricsPlace {
  if (bound === undefined) return { url: 'http://127.0.0.1:9981' };
  const url = new URL(bound);
  const host = apiHost(bound);
  const asked = apiHost(api);
  if (isLoopback(host) && !isLoopback(asked)) {
    return {
      outOfReach: `the server has them on its own loopback (${bound}): run this there, or name with --server-metrics where they can be had`,
    };
  }
  if (host === '0.0.0.0' || host === '::') url.hostname = isIPv6(asked) ? `[${asked}]` : asked;
  return { url: url.origin };
}
