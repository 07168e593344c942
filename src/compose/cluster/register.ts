import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isLoopback } from '../../http/loopback.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { displayAddress, type ListenAddress } from '../../server/listen-address.ts';
import { type KubeReader, openAgentKube, openKube } from '../kube.ts';
import { type AgentManifestOptions, agentManifests } from '../manifests/agent-manifests.ts';
import { POLICY_KIND, SERVER_NAMESPACE } from '../manifests/agent-policy.ts';
import { ALL_NAMESPACES, CLUSTER_ADMIN } from '../manifests/agent-rights.ts';
import { applyAll } from '../manifests/apply.ts';
import { installedClusterName, installedToken, refuseRelease } from '../manifests/installed-agent.ts';
import { serverNamespaceIn } from '../manifests/server-place.ts';
import type { AgentPlace, KubeTarget, RunIo } from '../options.ts';
import { trustFolder } from '../serve/relay.ts';
import { notesThat, type Step } from '../step.ts';
import { writeOnce } from '../write-once.ts';
import { clusterManifest, writeIntoCheckout } from './cluster-file.ts';
import { installAgent } from './install-agent.ts';
import { type EnrolmentRequest, printedToken } from './token.ts';

/** The options of `fleetrelay cluster register`. At most one of `checkout` and `apply` is given. */
export interface RegisterRequest extends KubeTarget, AgentPlace {
  readonly name: ClusterName;
  readonly label: Readonly<Record<string, string>>;
  /** The KubernetesCluster is written into this checkout. */
  readonly checkout?: string;
  /** The KubernetesCluster is applied to the management cluster, which the {@link KubeTarget} names. */
  readonly apply?: true;
  /** The address at which the agent reaches the server; needed for `install` and `agentManifests`. */
  readonly server?: ListenAddress;
  /** The agent's manifests are printed (true, `-`) or written into this file. */
  readonly agentManifests?: string | true;
  /** The agent's manifests are applied to the cluster. */
  readonly install?: true;
  readonly image?: string;
  /** Has {@link ALL_NAMESPACES} if the agent may write in all of them; else `namespaces` is given. */
  readonly allow: readonly string[];
  /** The Namespaces in which the agent may write. */
  readonly namespaces?: readonly string[];
  /** See {@link AgentManifestOptions}: keyed by the choice, such as `care`. */
  readonly accessNamespaces?: Readonly<Record<string, readonly string[]>>;
  /** The agent serves the webhook that rewrites the probes of Pods. */
  readonly webhook?: true;
  /** The server's, for token and certificate authority. */
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  /** How long its enrolment token is valid, in seconds. */
  readonly validFor: number;
  readonly singleUse?: true;
  /** The agent gets a connection token instead of an enrolment token. */
  readonly connectionToken?: true;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly force?: true;
  readonly dryRun?: true;
}

export interface RegisterReport {
  readonly cluster: string;
  readonly steps: readonly Step[];
  /** YAML for stdout. Holds the token only if the agent's manifests were asked for together with it. */
  readonly printed: string;
  /** What a person should know or do next. */
  readonly notes: readonly string[];
}

type Io = Pick<RunIo, 'cwd' | 'env' | 'version' | 'err'>;

/**
 * Declares a cluster and prepares or installs its agent; doing it again changes nothing. Checks everything that can be
 * checked before it writes. Rejects with a text for a person.
 */
export async function registerCluster(request: RegisterRequest, io: Io): Promise<RegisterReport> {
  const { name, install, agentManifests: printing } = request;
  const force = request.force === true;
  const dryRun = request.dryRun === true;
  const manifest = clusterManifest(name, request.label);
  const hasAgent = install === true || printing !== undefined;
  await using kube = install === true ? await openAgentKube(request, io) : undefined;
  const present = kube === undefined ? undefined : await installedToken(kube);
  const agent = hasAgent ? await agentMaterial(request, io, present) : undefined;
  if (kube !== undefined) {
    await checkPlace(kube, name);
    if (!force) await refuseRelease(kube, (release) => `change it with: helm upgrade ${release} CHART`);
  }
  const declared = await declare(request, manifest, { force, dryRun }, io);
  const applying = { force, dryRun, progress: (line: string) => io.err(`${line}\n`) };
  const installed =
    kube === undefined || agent === undefined ? undefined : await installAgent(kube, agent.options, applying);
  const manifests = agent === undefined ? [] : agentManifests(agent.options);
  const text = manifests.map((each) => printYaml(each)).join('---\n');
  const isPrinted = hasAgent && kube === undefined && (printing === true || printing === '-');
  const written =
    typeof printing === 'string' && printing !== '-'
      ? // For the owner alone: a token may be in it.
        [await writeManifests(resolve(io.cwd, printing), text, { force, dryRun })]
      : [];
  const isDeclared = declared.length > 0;
  return {
    cluster: name,
    steps: [...declared, ...(installed?.steps ?? []), ...written],
    printed: isPrinted ? text : !isDeclared && !hasAgent ? printYaml(manifest) : '',
    notes: [
      ...(agent?.notes ?? []),
      ...(installed?.notes ?? (hasAgent ? notesOnPrinted(request) : [])),
      ...nextSteps(request, hasAgent, isDeclared),
    ],
  };
}

function writeManifests(path: string, text: string, writing: { force: boolean; dryRun: boolean }): Promise<Step> {
  return writeOnce("the agent's manifests", path, text, (there) => there === text, writing, 0o600);
}

/** Rejects if the namespace holds the agent of another cluster: a wrong context must not replace it. */
async function checkPlace(kube: KubeReader, cluster: string): Promise<void> {
  const found = await installedClusterName(kube);
  if (found === undefined || found === cluster) return;
  throw new Error(
    `in namespace ${kube.namespace} of ${kube.client.server} is the agent of ${found}: look at the context; if this cluster is ${cluster} from now on, first: fleetrelay cluster deregister ${found} --uninstall-agent`,
  );
}

async function declare(
  { name, checkout, apply, kubeconfig, context, namespace }: RegisterRequest,
  manifest: JsonObject,
  writing: { readonly force: boolean; readonly dryRun: boolean },
  io: Io,
): Promise<readonly Step[]> {
  if (checkout !== undefined) return [await writeIntoCheckout(resolve(io.cwd, checkout), manifest, name, writing)];
  if (apply !== true) return [];
  await using kube = await openKube({ kubeconfig, context, namespace }, io);
  const placed = { ...manifest, metadata: { ...metadataOf(manifest), namespace: kube.namespace } };
  return await applyAll(kube, [placed], { ...writing, progress: (line) => io.err(`${line}\n`) });
}

/** What the manifests need that they do not bring, because it depends on the cluster. */
function notesOnPrinted({ namespaces = [], allow }: RegisterRequest): readonly string[] {
  const hasPolicy = !allow.includes(CLUSTER_ADMIN);
  return notesThat([
    [namespaces.length > 0, `these Namespaces have to exist, since a Role is in each: ${namespaces.join(', ')}`],
    [hasPolicy, `for an API server older than 1.30 leave out the ${POLICY_KIND} and its binding`],
  ]);
}

/** What the agent's manifests are made of, and what a person should know about them. */
async function agentMaterial(
  request: RegisterRequest,
  { cwd, version }: Io,
  present: string | undefined,
): Promise<{ readonly options: AgentManifestOptions; readonly notes: readonly string[] }> {
  const { name, server, agentNamespace: namespace, allow, dataDir, relaySecretFile, tokenFile, caFile } = request;
  const { image = `fleetrelay:${version}`, webhook, namespaces = [], accessNamespaces } = request;
  if (server === undefined) throw new Error('the agent needs the address of the server');
  const hasSecret = dataDir !== undefined || relaySecretFile !== undefined;
  const token =
    tokenFile !== undefined
      ? (await readText('token', resolve(cwd, tokenFile))).trim()
      : hasSecret
        ? await printedToken({ subject: name, dataDir, relaySecretFile, enrolment: enrolmentOf(request, present), cwd })
        : undefined;
  // The server makes its authority on its first start.
  const ca =
    caFile !== undefined
      ? await readText('certificate authority', resolve(cwd, caFile))
      : dataDir !== undefined
        ? await readFile(join(trustFolder(resolve(cwd, dataDir)), 'ca.crt'), 'utf8').catch(() => undefined)
        : undefined;
  const address = displayAddress(server);
  return {
    options: {
      cluster: name,
      server: address,
      namespace,
      image,
      token,
      ca,
      webhook,
      accessNamespaces,
      writable: allow.includes(ALL_NAMESPACES) ? 'all' : namespaces,
      serverNamespaces: [...new Set([SERVER_NAMESPACE, serverNamespaceIn(address) ?? SERVER_NAMESPACE])],
      access: allow.filter((each) => each !== ALL_NAMESPACES),
    },
    notes: notesThat([
      [
        // The secret alone does not tell whether a token was renewed.
        relaySecretFile !== undefined && dataDir === undefined && tokenFile === undefined,
        `the token is the first one of ${name}: if it was ever renewed, this one is refused; then give --data-dir beside --relay-secret-file, or --token-file with what this prints: fleetrelay cluster token ${name} --relay-secret-file FILE --generation N (tokenGeneration of: fleetrelay cluster list -o json)`,
      ],
      [
        token === undefined,
        `the token is not among the manifests; where the server is: fleetrelay cluster token ${name} --data-dir DIR | kubectl -n ${namespace} create secret generic fleetrelay-agent-token --from-file=token=/dev/stdin`,
      ],
      [
        isLoopback(server.host),
        `warning: ${address} is this machine alone: an agent that runs elsewhere, as in a Pod, does not reach the server there; name an address that the cluster reaches`,
      ],
      [
        ca === undefined,
        'no certificate authority is among the manifests: the agent trusts the authorities of its image (--ca-file FILE)',
      ],
    ]),
  };
}

/** A connection token is asked for by `connectionToken`. */
function enrolmentOf(
  { connectionToken, validFor, singleUse }: RegisterRequest,
  present: string | undefined,
): EnrolmentRequest | undefined {
  return connectionToken === true ? undefined : { validFor, singleUse: singleUse === true, present };
}

async function readText(what: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    throw new Error(`the ${what} file ${path} cannot be read (${code})`, { cause });
  });
}

function nextSteps(
  { name, checkout, install, dryRun }: RegisterRequest,
  hasAgent: boolean,
  isDeclared: boolean,
): readonly string[] {
  if (dryRun === true) return ['nothing was changed (--dry-run)'];
  return notesThat([
    [checkout !== undefined, 'commit and push the file: the server lets the agent in when it has read it'],
    [hasAgent && !isDeclared, `if it is not declared yet: fleetrelay cluster register ${name} --checkout DIR`],
    [install === true, 'see it come: fleetrelay cluster list --watch'],
    [
      !hasAgent,
      `then install its agent: fleetrelay cluster register ${name} --install --server HOST:PORT --data-dir DIR --namespaces NS,... (or --allow all-namespaces)`,
    ],
  ]);
}
