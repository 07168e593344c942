import { Option } from 'commander';
import type { ServeOptions } from '../../compose/options.ts';
import {
  fleetName,
  httpAddress,
  listenAddress,
  logFormatOption,
  logLevelOption,
  repeated,
  replicaAddress,
  wholeNumber,
} from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, type Examples, newCommand, runRoot } from '../command.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { refuseWithoutVerification } from '../relay-environment.ts';
import { parseStoreAddress } from '../store-address.ts';

/** A server drains its agents and publishes the last status: less than the 60 seconds that its Pod gets. */
export const SERVER_END_MS = 50_000;

type Flags = Omit<ServeOptions, 'store'> & { readonly store?: string };

const EXAMPLES: Examples = [
  ['fleetrelay serve --repo https://git.example.com/fleet.git --data-dir /var/lib/fleetrelay', 'follow a repository'],
  ['fleetrelay serve --folder ./fleet --data-dir ./data', 'follow a folder on this machine'],
  [
    'fleetrelay serve --repo https://git.example.com/fleet.git --custom-resources -n fleet',
    'and the custom resources in a namespace of the cluster that kubectl speaks to',
  ],
  ['fleetrelay serve --config relay.yaml', 'everything from a RelayConfig file'],
];

const ENVIRONMENT = `
Environment, by the names of Gloo's setups:
  RELAY_TOKEN
      a token that any cluster may enrol with whose name is not bound yet
  RELAY_DISABLE_CLIENT_CERTIFICATE_AUTHENTICATION=true
      agents show tokens and no certificates
`;

/** `fleetrelay serve`: the management server. */
export function serveCommand(context: CliContext): CliCommand {
  const command = newCommand('serve', context)
    .summary('run the management server')
    .description(
      'Follows the desired state, and makes the clusters agree with it through their agents. Runs until stopped.',
    );
  sourceOptions(command);
  command.option('--custom-resources', 'follow the custom resources of a Kubernetes cluster as well');
  command.kubeOptions({
    cluster: 'the cluster with the custom resources',
    namespace: 'only the custom resources in this namespace (default: all namespaces)',
  });
  listeningOptions(command);
  storeOptions(command);
  return command
    .addOption(logLevelOption())
    .addOption(logFormatOption())
    .examples(EXAMPLES)
    .addHelpText('after', ENVIRONMENT)
    .action(async (flags: Flags) => {
      refuseWithoutVerification(context.env);
      await runRoot(context, context.roots.serve, toOptions(flags), SERVER_END_MS);
    });
}

function sourceOptions(command: CliCommand): void {
  command
    .option('--config <file>', 'RelayConfig file; options on the command line win over it')
    .option('--repo <url>', 'git repository to follow, without credentials')
    .option('--branch <name>', 'branch to follow (default: the default branch of the repository)')
    .option('--path <folder>', 'sub-folder of the repository that holds the manifests')
    .addOption(new Option('--folder <dir>', 'folder to follow instead of a repository').conflicts(['repo', 'branch']))
    .option('--poll <seconds>', 'time between two looks at the repository', wholeNumber(1, 86_400))
    .option('--repo-username <name>', 'user name for the repository, where the host asks for one')
    .option('--repo-token-file <file>', 'file with the password or token for the repository')
    .option(
      '--hook-secret-file <file>',
      'file with the secret that callers of /hooks/git must know (default: they need a token of the API)',
    )
    .option('--fleet <name>', 'name of the fleet; stamped on everything that is applied', fleetName);
}

function listeningOptions(command: CliCommand): void {
  command
    .option(
      '--data-dir <dir>',
      'where the server keeps its store, its secret and its certificate (default: ./fleetrelay-data)',
    )
    .option('--listen <address>', 'HOST:PORT for agents (default: 0.0.0.0:9900)', listenAddress)
    .option('--http <address>', 'HOST:PORT or unix:PATH for API and hooks (default: 127.0.0.1:9980)', httpAddress)
    .option('--metrics <address>', 'HOST:PORT for health and metrics (default: 127.0.0.1:9981)', listenAddress)
    .option('--xds <address>', 'HOST:PORT for Envoys (default: they are not served)', listenAddress)
    .option(
      '--api-token-file <file>',
      'file with a token for the API that may do everything (default: the server makes one)',
    )
    .option('--tls-cert-file <file>', 'certificate for agents (default: one is generated on first start)')
    .option('--tls-key-file <file>', 'key of that certificate')
    .addOption(
      repeated('--tls-name <name>', 'name or address of the generated certificate; may be repeated', "this machine's"),
    )
    .addOption(
      repeated(
        '--relay-secret-file <file>',
        'secret that the tokens of clusters are derived from, twice while it is replaced',
        'made on first start',
      ),
    )
    .option('--insecure', 'no TLS for agents; on loopback only')
    .option('--insecure-listen-anywhere', 'with --insecure: on other addresses than loopback, too');
}

function storeOptions(command: CliCommand): void {
  command
    .option(
      '--store <address>',
      'sqlite:PATH, memory, redis://HOST:PORT or rediss://HOST:PORT (default: sqlite in the data directory)',
    )
    .option('--store-password-file <file>', 'file with the password of the Redis server')
    .addOption(
      new Option(
        '--replicas <mode>',
        'whether other servers may work beside this one (default: several with a Redis store, else one)',
      ).choices(['one', 'several']),
    )
    .option(
      '--advertise <address>',
      'HOST:PORT or URL of the API of this replica, for clients of the others while it leads',
      replicaAddress,
    );
}

/** Checks rules that concern several flags. Throws a usage error. */
function toOptions({ store, ...flags }: Flags): ServeOptions {
  const { config, repo, folder, customResources, kubeconfig, context, namespace } = flags;
  if ((config ?? repo ?? folder ?? customResources) === undefined) {
    const hint = 'give --repo URL, --folder DIR, --custom-resources or --config FILE';
    throw new CliError(EXIT.usage, 'serve needs something to follow', hint);
  }
  if ((kubeconfig ?? context ?? namespace) !== undefined && customResources === undefined) {
    const hint = 'add --custom-resources';
    throw new CliError(
      EXIT.usage,
      '--kubeconfig, --context and --namespace name the cluster of custom resources',
      hint,
    );
  }
  if ((flags.tlsCertFile === undefined) !== (flags.tlsKeyFile === undefined)) {
    throw new CliError(EXIT.usage, '--tls-cert-file and --tls-key-file belong together');
  }
  if (flags.insecureListenAnywhere && !flags.insecure) {
    throw new CliError(EXIT.usage, '--insecure-listen-anywhere needs --insecure beside it');
  }
  if (flags.relaySecretFile.length > 2)
    throw new CliError(EXIT.usage, '--relay-secret-file may be given at most twice');
  // Not a parser of the option, because commander would repeat the address in its message.
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/@]*:[^/@]*@/i.test(repo ?? '')) {
    throw new CliError(EXIT.usage, 'the address in --repo holds a password', 'put it into a --repo-token-file');
  }
  if (store === undefined) return flags;
  const parsed = parseStoreAddress(store);
  if (!parsed.ok) throw new CliError(EXIT.usage, parsed.problem);
  return { ...flags, store: parsed.value };
}
