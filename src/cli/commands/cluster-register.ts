import { InvalidArgumentError, Option } from 'commander';
import type { RegisterRequest } from '../../compose/cluster/register.ts';
import { SERVER_NAMESPACE } from '../../compose/manifests/agent-policy.ts';
import { AGENT_ACCESS, ALL_NAMESPACES, KUBE_SYSTEM } from '../../compose/manifests/agent-rights.ts';
import { agentAdditions, agentWebhook } from '../../domains/installation.ts';
import { ENROLMENT_SECONDS } from '../../model/fleet/enrolment.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { addNamespace, clusterName, serverAddress, tokenValidity } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, kubeTarget, runIo } from '../command.ts';
import { refuseUsage } from '../exit-codes.ts';
import { writeSteps } from '../output.ts';

const HELP = agentAdditions.flatMap(({ register }) => register ?? []);
const NAMESPACES = HELP.flatMap(({ namespaces }) => namespaces);

type Flags = Omit<RegisterRequest, 'name' | 'webhook' | 'accessNamespaces'> & { readonly withWebhook?: true };

/** `fleetrelay cluster register NAME`. */
export function registerCommand(command: CliCommand, context: CliContext): void {
  command
    .summary('declare a cluster, prepare or install its agent')
    .description(
      'Writes the KubernetesCluster that lets a cluster in, and prints or installs the manifests of its agent. Doing it again changes nothing; a file with other content, or a field of another manager, is replaced only with --force.',
    )
    .argument('<name>', 'name of the cluster', clusterName);
  declarationOptions(command);
  agentOptions(command);
  command
    .option('--force', 'replace a file with other content, take fields over from other managers')
    .option('--dry-run', 'only say what would be done')
    .examples([
      ['fleetrelay cluster register east --label env=prod', 'print its KubernetesCluster, for git'],
      ['fleetrelay cluster register east --label env=prod --checkout ./fleet', 'write it into a checkout'],
      [
        'fleetrelay cluster register east --checkout ./fleet --install --agent-context east --server relay.example.com:9900 --data-dir /var/lib/fleetrelay --namespaces shop,payments',
        'and install its agent, which may write in two Namespaces, where the data of the server is at hand',
      ],
      [
        'fleetrelay cluster register east --apply --context management -n fleetrelay',
        'as a custom resource in the management cluster',
      ],
      [
        'fleetrelay cluster register east --agent-manifests --server relay.example.com:9900 --token-file east.token --ca-file ca.crt --allow all-namespaces | kubectl --context east apply -f -',
        'print the manifests of its agent, with its token among them',
      ],
      ...HELP.flatMap(({ examples }) => examples),
    ]);
  command.answers(async (flags: Flags, name: ClusterName) => {
    const accessNamespaces = namespacesIn(command.opts());
    refuseContradictions(flags, accessNamespaces);
    const { withWebhook: webhook, ...rest } = flags;
    const request = { ...rest, ...(webhook && { webhook }), accessNamespaces, name };
    const report = await context.roots.clusterRegister(request, runIo(context));
    return {
      value: report,
      table: (out) => {
        // Printed YAML is for a file or a pipe, so everything else is written to stderr then.
        writeSteps(report.printed === '' ? out : context.stderr, report.steps);
        out.write(report.printed);
        for (const note of report.notes) context.stderr.write(`${note}\n`);
      },
    };
  });
}

function declarationOptions(command: CliCommand): void {
  command
    .addOption(
      new Option('--label <key=value>', 'label that Placements select by; may be repeated')
        .argParser(label)
        .default({}, 'none'),
    )
    .addOption(
      new Option(
        '--checkout <dir>',
        'write it into this checkout, as clusters/NAME/cluster.yaml unless it is declared elsewhere in it',
      ).conflicts('apply'),
    )
    .option('--apply', 'apply it as a custom resource in the management cluster');
  command.kubeOptions({
    cluster: 'the management cluster, for --apply',
    namespace: 'namespace of the custom resource',
  });
}

function agentOptions(command: CliCommand): void {
  command
    .option('--server <address>', 'HOST:PORT at which the cluster reaches the server', serverAddress)
    .addOption(
      new Option(
        '--agent-manifests [file]',
        "print the agent's manifests, or write them to a file that only you can read",
      ).conflicts('install'),
    )
    .option(
      '--install',
      "apply the agent's manifests to the cluster, and remove the roles and the webhook of an earlier installation that these options do not ask for",
    )
    .option('--agent-kubeconfig <file>', 'kubeconfig of the cluster, for --install (default: what kubectl takes)')
    .option('--agent-context <name>', 'context of the cluster, for --install')
    .option('--agent-namespace <name>', 'namespace of the agent', 'fleetrelay')
    .option('--image <image>', 'image of the agent (default: the one of this version)')
    .option(
      '--namespaces <names...>',
      'the agent may write in these Namespaces only, which are made if they are missing; or --allow all-namespaces',
      addNamespace,
    )
    .addOption(
      new Option(
        '--allow <what...>',
        `more than the agent may do by itself: ${[
          'write in all Namespaces',
          'apply Secrets, roles or CRDs',
          ...HELP.map(({ allow }) => allow),
          'everything',
        ].join('; ')}`,
      )
        .choices([ALL_NAMESPACES, ...AGENT_ACCESS])
        .default([], 'nothing'),
    );
  for (const { choice, option, where, which } of NAMESPACES) {
    command.option(`--${option} <names...>`, `with --allow ${choice}: ${where} ${which}`, addNamespace);
  }
  if (agentWebhook !== undefined) command.option('--with-webhook', agentWebhook.does);
  command
    .option('--data-dir <dir>', 'data directory of the server, for token and certificate authority')
    .option('--relay-secret-file <file>', 'the secret that tokens are derived from, where the server was given one')
    .addOption(
      new Option('--valid-for <duration>', 'how long its enrolment token is valid, from 1m to 720h')
        .argParser(tokenValidity)
        .default(ENROLMENT_SECONDS, '24h'),
    )
    .option('--single-use', 'its enrolment token enrols one agent')
    .addOption(
      new Option(
        '--connection-token',
        'give it the token that opens streams, for a server with relay mode tls',
      ).conflicts(['singleUse', 'tokenFile']),
    )
    .option('--token-file <file>', 'the token of the cluster itself')
    .option('--ca-file <file>', 'certificate authority of the server');
}

function label(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('A label is KEY=VALUE.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** The Namespaces that options of domains name, by what is allowed there. */
function namespacesIn(flags: Readonly<Record<string, unknown>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    NAMESPACES.flatMap(({ choice, option }) => {
      const names = flags[new Option(`--${option}`).attributeName()];
      return Array.isArray(names) ? [[choice, names]] : [];
    }),
  );
}

function refuseContradictions(flags: Flags, named: ReturnType<typeof namespacesIn>): void {
  const { apply, install, agentManifests, agentKubeconfig, agentContext, server, withWebhook } = flags;
  const { allow, namespaces } = flags;
  const hasAgent = install !== undefined || agentManifests !== undefined;
  const isMeant =
    allow.length > 0 ||
    (agentKubeconfig ?? agentContext ?? server ?? withWebhook ?? namespaces) !== undefined ||
    Object.keys(named).length > 0;
  refuseUsage([
    [hasAgent && server === undefined, 'the agent needs --server HOST:PORT', 'at which the cluster reaches the server'],
    ...NAMESPACES.map(({ choice, option, where }): readonly [boolean, string, string] => [
      named[choice] !== undefined && !allow.includes(choice),
      `--${option} says ${where}`,
      `add --allow ${choice}`,
    ]),
    [!hasAgent && isMeant, 'register does not know what to do with the agent', 'add --install or --agent-manifests'],
    [
      apply === undefined && kubeTarget(flags) !== undefined,
      '--kubeconfig, --context and --namespace say where --apply writes the KubernetesCluster',
      'the cluster that is registered is named by --agent-kubeconfig and --agent-context',
    ],
  ]);
  if (hasAgent) refusePlaces(flags);
}

/** Where the agent may write has to be said, and once. */
function refusePlaces({ allow, namespaces, agentNamespace }: Flags): void {
  const isEverywhere = allow.includes(ALL_NAMESPACES);
  const guarded = namespaces?.find((name) => [KUBE_SYSTEM, SERVER_NAMESPACE, agentNamespace].includes(name));
  refuseUsage([
    [
      namespaces === undefined && !isEverywhere,
      'where may the agent write?',
      'say --namespaces NS,... (only there), or --allow all-namespaces (a commit can then run Pods in every Namespace that is not protected)',
    ],
    [
      namespaces !== undefined && isEverywhere,
      '--namespaces and --allow all-namespaces contradict each other',
      'say one of them',
    ],
    [
      guarded !== undefined,
      `--namespaces names ${guarded}, which is protected`,
      'a fleet that has to write there needs --allow all-namespaces cluster-admin',
    ],
    [
      allow.includes('cluster-admin') && !isEverywhere,
      'with cluster-admin the agent may write in all Namespaces',
      'say --allow all-namespaces cluster-admin',
    ],
  ]);
}
