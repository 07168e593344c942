import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AgentDescription, AgentDestination, ClusterDestination } from '../../compose/cluster/register.ts';
import { AGENT_ACCESS, type AgentAccess } from '../../compose/manifests/agent-rights.ts';
import type { ClusterName } from '../../model/ids.ts';
import { displayAddress, type ListenAddress } from '../../server/listen-address.ts';
import { clusterName, serverAddress } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { type CliContext, examples } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { type KubeFlags, kubeTarget, withKubeOptions } from '../kube-options.ts';
import { type OutputFormat, outputOption, print } from '../output.ts';
import { runIo } from '../run-root.ts';
import { writeSteps } from '../steps.ts';

interface Flags extends KubeFlags {
  readonly label: Readonly<Record<string, string>>;
  readonly clusterDomain?: string;
  readonly skipWarming?: true;
  readonly file?: string;
  readonly directory?: string;
  readonly apply?: true;
  readonly server?: ListenAddress;
  readonly agentManifests?: string | true;
  readonly install?: true;
  readonly agentKubeconfig?: string;
  readonly agentContext?: string;
  readonly agentNamespace: string;
  readonly image?: string;
  readonly allow: readonly AgentAccess[];
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly force?: true;
  readonly dryRun?: true;
  readonly output: OutputFormat;
}

const EXAMPLES = examples([
  ['fleetrelay cluster register east --label env=prod', 'print its KubernetesCluster, for git'],
  ['fleetrelay cluster register east --label env=prod --directory ./fleet', 'write it into a checkout'],
  [
    'fleetrelay cluster register east --directory ./fleet --install --agent-context east --server relay.example.com:9900 --data-dir /var/lib/fleetrelay',
    'and install its agent, where the data of the server is at hand',
  ],
  [
    'fleetrelay cluster register east --apply --context management -n fleetrelay',
    'as a custom resource in the management cluster',
  ],
  [
    'fleetrelay cluster register east --agent-manifests --server relay.example.com:9900 --token-file east.token --ca-file ca.crt | kubectl --context east apply -f -',
    'print the manifests of its agent, with its token among them',
  ],
]);

/** `fleetrelay cluster register NAME`. */
export function registerCommand(parent: Command, context: CliContext): void {
  const command = parent
    .command('register')
    .summary('declare a cluster, prepare or install its agent')
    .description(
      'Writes the KubernetesCluster that lets a cluster in, and prints or installs the manifests of its agent. Doing it again changes nothing; a file or field of somebody else is replaced only with --force.',
    )
    .argument('<name>', 'name of the cluster', clusterName);
  declarationOptions(command);
  agentOptions(command);
  command
    .option('--force', 'replace a file that says something else, take fields over from other managers')
    .option('--dry-run', 'only say what would be done')
    .addOption(outputOption())
    .addHelpText('after', EXAMPLES)
    .action((name: ClusterName, flags: Flags) => register(context, name, flags));
}

function declarationOptions(command: Command): void {
  command
    .addOption(
      new Option('--label <key=value>', 'label that Placements select by; may be repeated')
        .argParser(label)
        .default({}, 'none'),
    )
    .option('--cluster-domain <domain>', 'DNS domain of its services (default: cluster.local)')
    .option('--skip-warming', 'safe mode never waits for it')
    .addOption(
      new Option('--file <file>', 'write the KubernetesCluster to this file').conflicts(['directory', 'apply']),
    )
    .addOption(
      new Option(
        '--directory <dir>',
        'write it into this checkout, as clusters/NAME/cluster.yaml unless it is declared elsewhere in it',
      ).conflicts(['file', 'apply']),
    )
    .option('--apply', 'apply it as a custom resource in the management cluster');
  withKubeOptions(command, {
    cluster: 'the management cluster, for --apply',
    namespace: 'namespace of the custom resource',
  });
}

function agentOptions(command: Command): void {
  command
    .option('--server <address>', 'HOST:PORT at which the cluster reaches the server', serverAddress)
    .addOption(
      new Option(
        '--agent-manifests [file]',
        "print the agent's manifests, or write them to a file for your eyes alone",
      ).conflicts('install'),
    )
    .option('--install', "apply the agent's manifests to the cluster")
    .option('--agent-kubeconfig <file>', 'kubeconfig of the cluster, for --install (default: what kubectl takes)')
    .option('--agent-context <name>', 'context of the cluster, for --install')
    .option('--agent-namespace <name>', 'namespace of the agent', 'fleetrelay')
    .option('--image <image>', 'image of the agent (default: the one of this version)')
    .addOption(
      new Option('--allow <what...>', 'more than the agent may apply by itself')
        .choices([...AGENT_ACCESS])
        .default([], 'nothing'),
    )
    .option('--data-dir <dir>', 'data directory of the server, for token and certificate authority')
    .option('--relay-secret-file <file>', 'the secret that tokens are derived from, where the server was given one')
    .option('--token-file <file>', 'the token of the cluster itself')
    .option('--ca-file <file>', 'certificate authority of the server');
}

function label(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('A label is KEY=VALUE.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

async function register(context: CliContext, name: ClusterName, flags: Flags): Promise<void> {
  const { output, clusterDomain } = flags;
  const agent = agentOf(flags, context.version);
  const report = await context.roots.clusterRegister(
    {
      cluster: {
        name,
        labels: flags.label,
        skipWarming: flags.skipWarming === true,
        ...(clusterDomain === undefined ? {} : { clusterDomain }),
      },
      destination: destinationOf(flags, agent !== undefined),
      ...(agent === undefined ? {} : { agent }),
      force: flags.force === true,
      dryRun: flags.dryRun === true,
    },
    runIo(context),
  );
  await print(context, output, report, () => {
    // What is printed is for a file or a pipe: everything else goes beside it.
    const beside = report.printed === '' ? context.stdout : context.stderr;
    writeSteps(beside, report.steps);
    context.stdout.write(report.printed);
    for (const note of report.notes) context.stderr.write(`${note}\n`);
  });
}

function destinationOf(flags: Flags, hasAgent: boolean): ClusterDestination {
  const { file, directory, apply } = flags;
  if (apply !== true && kubeTarget(flags) !== undefined) {
    throw new CliError(
      EXIT.usage,
      '--kubeconfig, --context and --namespace say where --apply writes the KubernetesCluster',
      'the cluster that is registered is named by --agent-kubeconfig and --agent-context',
    );
  }
  if (file !== undefined) return { type: 'file', path: file };
  if (directory !== undefined) return { type: 'checkout', folder: directory };
  if (apply === true) return { type: 'resource', kube: kubeTarget(flags) ?? {} };
  return { type: hasAgent ? 'none' : 'print' };
}

function agentOf(flags: Flags, version: string): AgentDescription | undefined {
  const { install, agentManifests, agentKubeconfig, agentContext, server } = flags;
  if (install === undefined && agentManifests === undefined) {
    if ((agentKubeconfig ?? agentContext ?? server) === undefined) return undefined;
    throw new CliError(
      EXIT.usage,
      'register does not know what to do with the agent',
      'add --install or --agent-manifests',
    );
  }
  if (server === undefined) {
    throw new CliError(EXIT.usage, 'the agent needs --server HOST:PORT', 'at which the cluster reaches the server');
  }
  const { dataDir, relaySecretFile, tokenFile, caFile } = flags;
  const destination: AgentDestination =
    install === true
      ? { type: 'install', kube: agentKube(flags) }
      : typeof agentManifests === 'string' && agentManifests !== '-'
        ? { type: 'file', path: agentManifests }
        : { type: 'print' };
  return {
    destination,
    server: displayAddress(server),
    namespace: flags.agentNamespace,
    image: flags.image ?? `fleetrelay:${version}`,
    access: flags.allow,
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(relaySecretFile === undefined ? {} : { relaySecretFile }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(caFile === undefined ? {} : { caFile }),
  };
}

function agentKube({ agentKubeconfig, agentContext }: Flags): KubeFlags {
  return {
    ...(agentKubeconfig === undefined ? {} : { kubeconfig: agentKubeconfig }),
    ...(agentContext === undefined ? {} : { context: agentContext }),
  };
}
