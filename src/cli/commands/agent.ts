import type { AgentOptions, CommonAgentOptions, KubeTarget } from '../../compose/options.ts';
import { domains } from '../../domains/domains.ts';
import type { ListenAddress } from '../../server/listen-address.ts';
import { clusterName, listenAddress, logFormatOption, logLevelOption, serverAddress } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, type Examples, newCommand, runRoot } from '../command.ts';
import type { AgentCli } from '../domain-cli.ts';
import { refuseUsage } from '../exit-codes.ts';
import { refuseWithoutVerification } from '../relay-environment.ts';

interface Flags extends KubeTarget, Omit<CommonAgentOptions, 'certificate' | 'health' | 'insecure'> {
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly directory?: string;
  readonly leaderElect?: boolean;
  readonly allowOwnNamespace?: true;
  readonly metrics?: ListenAddress;
  readonly insecure?: true;
}

/** What domains add to the command, by their names. */
const DOMAINS: readonly (AgentCli & { readonly name: string })[] = await Promise.all(
  domains.flatMap(({ name, cli }) =>
    cli?.agent === undefined ? [] : [cli.agent().then((each) => ({ ...each, name }))],
  ),
);

const EXAMPLES: Examples = [
  [
    'fleetrelay agent --cluster east --server relay.example.com:9900 --token-file east.token --ca-file ca.crt',
    'keep the cluster that kubectl speaks to; inside a pod: the cluster that the pod is in',
  ],
  [
    'fleetrelay agent --cluster east --server relay.example.com:9900 --token-file east.token --context east-admin -n relay',
    'another context, and the namespace "relay" for lease, inventory and stop button',
  ],
  [
    'fleetrelay agent --cluster east --server relay.example.com:9900 --token-file east.token --directory ./east',
    'keep the folder ./east as the cluster "east"',
  ],
];

const NOTES = `
The cluster is a Kubernetes cluster, or a folder with --directory. Several
replicas may run for one Kubernetes cluster: the one that holds the Lease
"fleetrelay-agent" leads, the others stand by and take over within 15 seconds of
a crash, and at once after a clean stop. /readyz shows which one leads, and so
does: kubectl get lease fleetrelay-agent -n NAMESPACE

The server issues a client certificate for the token, and renews it; the agent
keeps it in the Secret "fleetrelay-agent-credentials" of its namespace, or in its
data folder. A server that issues none takes the token.

${DOMAINS.map(({ notes }) => `${notes}\n\n`).join('')}The namespace must exist. An agent is installed in a cluster with
\`fleetrelay cluster register NAME --install\`.`;

/** `fleetrelay agent`: the agent of one cluster. */
export function agentCommand(context: CliContext): CliCommand {
  const command = newCommand('agent', context)
    .summary('run the agent of one cluster')
    .description(
      'Connects to the management server, reports what is in the cluster, and applies what should be. Runs until stopped.',
    )
    .requiredOption('--cluster <name>', 'name of the cluster, as its KubernetesCluster declares it', clusterName)
    .requiredOption('--server <address>', 'HOST:PORT of the management server', serverAddress)
    .option(
      '--token-file <file>',
      'file with a token of the cluster (`fleetrelay cluster token` prints one); default: the variable RELAY_TOKEN',
    )
    .option('--ca-file <file>', 'certificate authority of the server (default: those that the system trusts)')
    .option('--cert-file <file>', 'client certificate that another program renews (default: the server issues one)')
    .option('--key-file <file>', 'its key; both files are read each time the server is dialled');
  command
    .kubeOptions({
      cluster: 'the cluster; without it and --context, a pod takes its own cluster',
      namespace: "the agent's own namespace (default: the namespace of the context or ServiceAccount, else fleetrelay)",
    })
    .option('--leader-elect', 'of several replicas let one lead; the default')
    .option('--no-leader-elect', 'this is the only replica, for certain: lead without a Lease')
    .option(
      '--allow-own-namespace',
      "apply objects in the agent's own namespace, and that Namespace (default: they are refused)",
    )
    .option('--directory <dir>', 'a folder that is the cluster: one YAML file an object')
    .option(
      '--data-dir <dir>',
      'where the agent keeps what it was sent last (default: in the folder of --directory; else in XDG_STATE_HOME or ' +
        '~/.local/state; inside a pod in /var/lib/fleetrelay)',
    )
    .option('--metrics <address>', 'HOST:PORT for health and metrics (default: none)', listenAddress);
  for (const { options } of DOMAINS) options(command);
  return command
    .option('--insecure', 'no TLS and no token; only to a server on this machine')
    .addOption(logLevelOption())
    .addOption(logFormatOption())
    .addHelpText('after', NOTES)
    .examples(EXAMPLES)
    .action(async (flags: Flags) => {
      refuseWithoutVerification(context.env);
      await runRoot(context, context.roots.agent, toOptions(flags, context.env));
    });
}

function toOptions(flags: Flags, env: CliContext['env']): AgentOptions {
  refuseContradictions(flags, env);
  const { cluster, server, tokenFile, caFile, certFile, keyFile, dataDir, logLevel, logFormat } = flags;
  const { directory, kubeconfig, context, namespace, allowOwnNamespace } = flags;
  const common = {
    cluster,
    server,
    tokenFile,
    caFile,
    dataDir,
    logLevel,
    logFormat,
    health: flags.metrics,
    certificate: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    insecure: flags.insecure === true,
  };
  if (directory !== undefined) return { ...common, directory };
  const leaderElect = flags.leaderElect !== false;
  return {
    ...common,
    kubernetes: { kubeconfig, context, namespace, leaderElect, allowOwnNamespace },
    domains: Object.fromEntries(DOMAINS.map(({ name, settings }) => [name, settings({ ...flags })])),
  };
}

function refuseContradictions(flags: Flags, env: CliContext['env']): void {
  const { cluster, tokenFile, certFile, keyFile, insecure, directory, kubeconfig, context, namespace } = flags;
  const hasToken = tokenFile !== undefined || (env.RELAY_TOKEN ?? '').trim() !== '';
  const election = flags.leaderElect === false ? 'no-leader-elect' : 'leader-elect';
  const { allowOwnNamespace } = flags;
  const others = {
    kubeconfig,
    context,
    namespace,
    [election]: flags.leaderElect,
    'allow-own-namespace': allowOwnNamespace,
  };
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
  refuseUsage([
    [
      (certFile === undefined) !== (keyFile === undefined),
      '--cert-file and --key-file go together',
      'give both, or neither',
    ],
    [
      certFile !== undefined && insecure === true,
      '--cert-file and --insecure do not go together',
      'without TLS nothing is shown',
    ],
    [
      directory !== undefined && other !== undefined,
      `--directory and --${other} do not go together`,
      'one agent keeps a folder, and a folder has no namespaces of its own; leave one of them out',
    ],
    ...DOMAINS.flatMap(({ contradictions }) => contradictions({ ...flags })),
    [
      !hasToken && certFile === undefined && insecure === undefined,
      'agent needs --token-file, or the token in RELAY_TOKEN',
      `print the token where the server runs: fleetrelay cluster token ${cluster} --data-dir DIR; or bring a certificate with --cert-file and --key-file`,
    ],
  ]);
}
