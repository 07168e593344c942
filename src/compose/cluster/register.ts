import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { JsonObject } from '../../model/json.ts';
import { type Kube, type KubeTarget, openClient, openKube, systemDeps } from '../kube.ts';
import { agentManifests } from '../manifests/agent-manifests.ts';
import type { AgentAccess } from '../manifests/agent-rights.ts';
import { applyAll, type KubeApplying } from '../manifests/apply.ts';
import { installedAgent, installedClusterName } from '../manifests/installed-agent.ts';
import type { RunIo } from '../options.ts';
import { trustFolder } from '../serve/relay.ts';
import type { Step } from '../step.ts';
import {
  type ClusterDescription,
  clusterManifest,
  replaceFile,
  writeClusterFile,
  writeIntoCheckout,
} from './cluster-file.ts';
import { clusterToken } from './token.ts';

/** Where a KubernetesCluster is to be. */
export type ClusterDestination =
  /** Nothing is declared: only the agent is of interest. */
  | { readonly type: 'none' | 'print' }
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'checkout'; readonly folder: string }
  | { readonly type: 'resource'; readonly kube: KubeTarget };

/** What becomes of the agent's manifests. */
export type AgentDestination =
  | { readonly type: 'print' }
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'install'; readonly kube: KubeTarget };

/** What the agent's manifests are made of. */
export interface AgentDescription {
  readonly destination: AgentDestination;
  readonly server: string;
  readonly namespace: string;
  readonly image: string;
  readonly access: readonly AgentAccess[];
  /** The server's, for token and certificate authority. */
  readonly dataDir?: string;
  readonly relaySecretFile?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
}

export interface RegisterRequest {
  readonly cluster: ClusterDescription;
  readonly destination: ClusterDestination;
  readonly agent?: AgentDescription;
  readonly force: boolean;
  readonly dryRun: boolean;
}

export interface RegisterReport {
  readonly cluster: string;
  readonly steps: readonly Step[];
  /** What is to be printed, as YAML. Holds the token only if the agent's manifests were asked for together with it. */
  readonly printed: string;
  /** What a person should know or do next. */
  readonly notes: readonly string[];
}

/**
 * Declares a cluster and prepares or installs its agent; doing it again changes nothing. Everything that can be found
 * wrong beforehand is found before the first thing is written. Rejects with a text for a person.
 */
export async function registerCluster(
  request: RegisterRequest,
  io: Pick<RunIo, 'cwd' | 'env' | 'version' | 'err'>,
): Promise<RegisterReport> {
  const { cluster, agent, destination } = request;
  const manifest = clusterManifest(cluster);
  const material = agent === undefined ? undefined : await agentMaterial(request, agent, io.cwd);
  if (agent?.destination.type === 'install')
    await checkPlace(cluster.name, agent.destination.kube, agent.namespace, io);
  const declared = await declare(request, manifest, io);
  const delivered =
    agent === undefined || material === undefined
      ? noManifests
      : await deliver(request, agent.destination, material.manifests, io);
  return {
    cluster: cluster.name,
    steps: [...declared, ...delivered.steps],
    printed: [destination.type === 'print' ? printYaml(manifest) : '', delivered.printed]
      .filter((text) => text !== '')
      .join('---\n'),
    notes: [...(material?.notes ?? []), ...nextSteps(request)],
  };
}

/** A wrong context must not cost another cluster its agent. */
async function checkPlace(
  cluster: string,
  target: KubeTarget,
  namespace: string,
  io: Pick<RunIo, 'cwd' | 'env' | 'version'>,
): Promise<void> {
  const { client } = await openClient(target, io);
  try {
    const found = await installedClusterName({ client, namespace });
    if (found === undefined || found === cluster) return;
    throw new Error(
      `in namespace ${namespace} of ${client.server} is the agent of ${found}: look at the context; if this cluster is ${cluster} from now on, first: fleetrelay cluster deregister ${found} --uninstall-agent`,
    );
  } finally {
    await client.close();
  }
}

const noManifests = { steps: [], printed: '' };

async function declare(
  { cluster, destination, force, dryRun }: RegisterRequest,
  manifest: JsonObject,
  io: Pick<RunIo, 'cwd' | 'env' | 'version' | 'err'>,
): Promise<readonly Step[]> {
  switch (destination.type) {
    case 'none':
    case 'print':
      return [];
    case 'file':
      return [await writeClusterFile(resolve(io.cwd, destination.path), manifest, cluster.name, { force, dryRun })];
    case 'checkout': {
      const folder = resolve(io.cwd, destination.folder);
      return [await writeIntoCheckout(systemDeps(), folder, manifest, cluster.name, { force, dryRun })];
    }
    case 'resource': {
      const kube = await openKube(destination.kube, io);
      try {
        const { metadata } = manifest as { readonly metadata: JsonObject };
        const placed = { ...manifest, metadata: { ...metadata, namespace: kube.namespace } };
        return await applyAll(kube, [placed], applyingOf({ force, dryRun }, io));
      } finally {
        await kube.client.close();
      }
    }
  }
}

interface AgentMaterial {
  readonly manifests: readonly JsonObject[];
  readonly notes: readonly string[];
}

async function agentMaterial(
  { cluster }: RegisterRequest,
  { dataDir, relaySecretFile, tokenFile, caFile, ...agent }: AgentDescription,
  cwd: string,
): Promise<AgentMaterial> {
  const hasToken = dataDir !== undefined || relaySecretFile !== undefined || tokenFile !== undefined;
  const token = !hasToken
    ? undefined
    : tokenFile === undefined
      ? await clusterToken({
          cluster: cluster.name,
          cwd,
          ...(relaySecretFile === undefined ? {} : { relaySecretFile }),
          ...(dataDir === undefined ? {} : { dataDir }),
        })
      : (await readText('token', resolve(cwd, tokenFile))).trim();
  const ca = await authorityOf(dataDir, caFile, cwd);
  const { server, namespace, image, access } = agent;
  return {
    manifests: agentManifests({
      cluster: cluster.name,
      server,
      namespace,
      image,
      access,
      ...(token === undefined ? {} : { token }),
      ...(ca === undefined ? {} : { ca }),
    }),
    notes: [
      ...(relaySecretFile !== undefined && dataDir === undefined && tokenFile === undefined
        ? [firstTokenNote(cluster.name)]
        : []),
      ...(token === undefined ? [tokenNote(cluster.name, namespace)] : []),
      ...(ca === undefined
        ? ['no certificate authority is among the manifests: the agent trusts those of its image (--ca-file FILE)']
        : []),
    ],
  };
}

/** A secret alone does not say whether a token was renewed. */
function firstTokenNote(cluster: string): string {
  return `the token is the first one of ${cluster}: if it was ever renewed, this one is refused; then give --data-dir beside --relay-secret-file, or --token-file with what this prints: fleetrelay cluster token ${cluster} --relay-secret-file FILE --generation N (tokenGeneration of: fleetrelay cluster list -o json)`;
}

function tokenNote(cluster: string, namespace: string): string {
  return `the token is not among the manifests; where the server is: fleetrelay cluster token ${cluster} --data-dir DIR | kubectl -n ${namespace} create secret generic fleetrelay-agent-token --from-file=token=/dev/stdin`;
}

/** The authority as told, or the one that the server has made; it makes that on its first start. */
async function authorityOf(
  dataDir: string | undefined,
  caFile: string | undefined,
  cwd: string,
): Promise<string | undefined> {
  if (caFile !== undefined) return readText('certificate authority', resolve(cwd, caFile));
  if (dataDir === undefined) return undefined;
  return readFile(join(trustFolder(resolve(cwd, dataDir)), 'ca.crt'), 'utf8').catch(() => undefined);
}

async function readText(what: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    throw new Error(`the ${what} file ${path} cannot be read (${code})`, { cause });
  });
}

async function deliver(
  { force, dryRun }: RegisterRequest,
  destination: AgentDestination,
  manifests: readonly JsonObject[],
  io: Pick<RunIo, 'cwd' | 'env' | 'version' | 'err'>,
): Promise<{ readonly steps: readonly Step[]; readonly printed: string }> {
  const text = (): string => manifests.map((manifest) => printYaml(manifest)).join('---\n');
  switch (destination.type) {
    case 'print':
      return { steps: [], printed: text() };
    case 'file': {
      const path = resolve(io.cwd, destination.path);
      return { steps: [await writeManifests(path, text(), { force, dryRun })], printed: '' };
    }
    case 'install': {
      const kube = await openKube(destination.kube, io);
      try {
        if (!force) await checkNoRelease(kube);
        return { steps: await applyAll(kube, manifests, applyingOf({ force, dryRun }, io)), printed: '' };
      } finally {
        await kube.client.close();
      }
    }
  }
}

/** What Helm has installed is changed by Helm; else half of it would be ours before the first conflict. */
async function checkNoRelease({ client, namespace }: Kube): Promise<void> {
  const { deployment, release } = await installedAgent({ client, namespace });
  if (release === undefined) return;
  throw new Error(
    `the agent ${deployment} in namespace ${namespace} of ${client.server} was installed by Helm; change it with: helm upgrade ${release} CHART --namespace ${namespace}`,
  );
}

/** For the owner alone: a token may be among them. */
async function writeManifests(
  path: string,
  text: string,
  { force, dryRun }: { readonly force: boolean; readonly dryRun: boolean },
): Promise<Step> {
  const there = await readFile(path, 'utf8').catch(() => undefined);
  const step = { what: "the agent's manifests", where: path, ...(dryRun ? ({ dryRun: true } as const) : {}) };
  if (there === text) return { ...step, outcome: 'unchanged' };
  if (there !== undefined && !force) {
    throw new Error(`${path} is there and says something else; look at it, or replace it with --force`);
  }
  if (!dryRun) await replaceFile(path, text, 0o600);
  return { ...step, outcome: there === undefined ? 'created' : 'changed' };
}

function applyingOf(
  { force, dryRun }: { readonly force: boolean; readonly dryRun: boolean },
  { err }: Pick<RunIo, 'err'>,
): KubeApplying {
  return { force, dryRun, progress: (line) => err(`${line}\n`) };
}

function nextSteps({ cluster, destination, agent, dryRun }: RegisterRequest): readonly string[] {
  if (dryRun) return ['nothing was changed (--dry-run)'];
  const isFile = destination.type === 'file' || destination.type === 'checkout';
  return [
    ...(isFile ? ['commit and push the file: the server lets the agent in when it has read it'] : []),
    ...(destination.type === 'none'
      ? [`if it is not declared yet: fleetrelay cluster register ${cluster.name} --directory CHECKOUT`]
      : []),
    ...(agent?.destination.type === 'install' ? ['see it come: fleetrelay cluster list --watch'] : []),
    ...(agent === undefined
      ? [
          `then install its agent: fleetrelay cluster register ${cluster.name} --install --server HOST:PORT --data-dir DIR`,
        ]
      : []),
  ];
}
