import { resolve } from 'node:path';
import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import type { ClusterName } from '../../model/ids.ts';
import { type JsonObject, objectsOf } from '../../model/json.ts';
import { counted } from '../../model/messages.ts';
import { labelsOf, metadataOf, refOfObject } from '../../model/object-key.ts';
import { must } from '../../model/result.ts';
import { type Kube, type KubeTarget, openKube, resourceOf, systemDeps } from '../kube.ts';
import { agentManifests, agentOwnSecret } from '../manifests/agent-manifests.ts';
import { AGENT_ACCESS } from '../manifests/agent-rights.ts';
import { removeOne } from '../manifests/apply.ts';
import { installedAgent, installedClusterName } from '../manifests/installed-agent.ts';
import type { RunIo } from '../options.ts';
import type { Step } from '../step.ts';
import { clusterManifest, removeClusterFile, removeFromCheckout } from './cluster-file.ts';
import { removeObjects } from './remove-objects.ts';

export interface DeregisterRequest {
  readonly cluster: ClusterName;
  /** Where its KubernetesCluster is taken out; `none`: nowhere. */
  readonly from:
    | { readonly type: 'none' }
    | { readonly type: 'file'; readonly path: string }
    | { readonly type: 'checkout'; readonly folder: string }
    | { readonly type: 'resource'; readonly kube: KubeTarget };
  /** The cluster itself; only what is asked for is done there. */
  readonly inside?: {
    readonly kube: KubeTarget;
    readonly uninstallAgent: boolean;
    readonly removeObjects: boolean;
  };
  readonly dryRun: boolean;
}

export interface DeregisterReport {
  readonly cluster: string;
  readonly steps: readonly Step[];
  /** What the cluster holds of the fleet at the end, by the inventory in it; null: it was not looked at, or there is none. */
  readonly holds: number | null;
  readonly notes: readonly string[];
}

/**
 * Takes a cluster out of the fleet. What the fleet has made in it stays, unless its removal is asked for. Works without
 * the server. Rejects with a text for a person; what was done before that stays done, and doing it again goes on.
 */
export async function deregisterCluster(
  request: DeregisterRequest,
  io: Pick<RunIo, 'cwd' | 'env' | 'version' | 'err'>,
): Promise<DeregisterReport> {
  const { cluster, inside, dryRun } = request;
  if (inside === undefined) {
    const steps = await undeclare(request, io);
    return { cluster, steps, holds: null, notes: notesOf(request, steps, null) };
  }
  const kube = await openKube(inside.kube, io);
  try {
    await checkCluster(kube, cluster, inside.removeObjects);
    if (inside.uninstallAgent) await checkInstallation(kube);
    const declared = await undeclare(request, io);
    const agent = inside.uninstallAgent ? await uninstallAgent(kube, cluster, dryRun) : [];
    const objects = inside.removeObjects
      ? await removeObjects(kube, { dryRun, progress: (line) => io.err(`${line}\n`) })
      : [];
    const holds = await countHeld(kube);
    return { cluster, steps: [...declared, ...agent, ...objects], holds, notes: notesOf(request, declared, holds) };
  } finally {
    await kube.client.close();
  }
}

async function undeclare(
  { cluster, from, dryRun }: DeregisterRequest,
  io: Pick<RunIo, 'cwd' | 'env' | 'version'>,
): Promise<readonly Step[]> {
  switch (from.type) {
    case 'none':
      return [];
    case 'file':
      return [await removeClusterFile(resolve(io.cwd, from.path), cluster, dryRun)];
    case 'checkout':
      return removeFromCheckout(systemDeps(), resolve(io.cwd, from.folder), cluster, dryRun);
    case 'resource': {
      const kube = await openKube(from.kube, io);
      try {
        const declared = clusterManifest({ name: cluster, labels: {}, skipWarming: false });
        const manifest = { ...declared, metadata: { ...metadataOf(declared), namespace: kube.namespace } };
        const step = await removeOne(kube, manifest, { dryRun, mayRemove: () => undefined });
        if (step.outcome === 'absent') await checkElsewhere(kube, manifest);
        return [step];
      } finally {
        await kube.client.close();
      }
    }
  }
}

/** What is declared in another namespace is not undeclared because it is absent from this one. */
async function checkElsewhere(kube: Kube, manifest: JsonObject): Promise<void> {
  const path = resourcePath({ resource: resourceOf(kube, manifest) });
  const answer = await kube.client.request({ method: 'GET', path });
  const items = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
  const { name } = must(refOfObject(manifest));
  for (const metadata of items.map(metadataOf)) {
    if (metadata.name !== name) continue;
    const namespace = String(metadata.namespace);
    throw new Error(
      `there is no KubernetesCluster ${name} in the namespace ${kube.namespace} of ${kube.client.server}, but one in ${namespace}: name that with -n ${namespace}`,
    );
  }
}

/**
 * A wrong context must not cost another cluster its agent, or its objects: the agent's own settings say which cluster this
 * is.
 */
async function checkCluster(kube: Kube, cluster: ClusterName, removesObjects: boolean): Promise<void> {
  const { client, namespace } = kube;
  const found = await installedClusterName(kube);
  if (found === cluster) return;
  const where = `namespace ${namespace} of ${client.server}`;
  if (found !== undefined) throw new Error(`the agent in ${where} is that of ${found}, not of ${cluster}`);
  if (!removesObjects || (await countHeld(kube)) === null) return;
  throw new Error(
    `there is an inventory in ${where}, and nothing that says whose: if it is that of ${cluster}, say so with: kubectl -n ${namespace} create configmap fleetrelay-agent-settings --from-literal=cluster=${cluster}`,
  );
}

/** The release of a chart is removed by what keeps the books of it. */
async function checkInstallation(kube: Kube): Promise<void> {
  const { deployment, release } = await installedAgent(kube);
  if (release === undefined) return;
  throw new Error(
    `the agent ${deployment} in namespace ${kube.namespace} of ${kube.client.server} was installed by Helm; remove it with: helm uninstall ${release} --namespace ${kube.namespace}`,
  );
}

/**
 * Everything but the namespace with the inventory, by which a later agent finds what it owns, and the settings, which say
 * whose inventory it is. The Deployment goes first.
 */
async function uninstallAgent(kube: Kube, cluster: ClusterName, dryRun: boolean): Promise<readonly Step[]> {
  const { namespace } = kube;
  const { settings } = await installedAgent(kube);
  const manifests = agentManifests({
    cluster,
    namespace,
    server: 'none:1',
    image: '',
    token: '',
    ca: '',
    access: AGENT_ACCESS,
  }).filter((manifest) => manifest.kind !== 'Namespace' && metadataOf(manifest).name !== settings);
  const first = ({ kind }: JsonObject): number => (kind === 'Deployment' ? 0 : 1);
  const steps: Step[] = [];
  for (const manifest of [...manifests, agentOwnSecret(namespace)].toSorted((a, b) => first(a) - first(b))) {
    const step = await removeOne(kube, manifest, { dryRun, mayRemove: whyLeft });
    if (step.outcome !== 'absent') steps.push(step);
  }
  return steps;
}

/** An object that merely has the name is somebody's. */
function whyLeft(found: JsonObject): string | undefined {
  return labelsOf(found)['app.kubernetes.io/part-of'] === 'fleetrelay'
    ? undefined
    : 'it is not labelled as part of fleetrelay';
}

async function countHeld({ client, namespace }: Kube): Promise<number | null> {
  const loaded = await openInventory({ ...systemDeps(), client }, { namespace }).load();
  return loaded.type === 'found' ? loaded.records.length : null;
}

/** What is left, here and elsewhere: said before (as a dry run) as it is after. `declared`: what became of its declaration. */
function notesOf(
  { cluster, from, inside, dryRun }: DeregisterRequest,
  declared: readonly Step[],
  holds: number | null,
): readonly string[] {
  const undeclared = declared.some(({ outcome }) => outcome === 'removed');
  if (inside === undefined && !undeclared)
    return [nothingDone(cluster, declared), ...(dryRun ? [NOTHING_CHANGED] : [])];
  const isFile = from.type === 'file' || from.type === 'checkout';
  const elsewhere = `what other clusters have from ${cluster}, such as mirrored Services, is removed there, under the guards`;
  const stays =
    holds === null
      ? `what the fleet has made in ${cluster} stays as it is`
      : `${cluster} still holds ${counted(holds, 'object')} of the fleet, as before`;
  return [
    ...(isFile && undeclared ? ['commit and push: the server lets the agent go when it has read it'] : []),
    ...(undeclared ? [elsewhere] : []),
    ...(holds === 0 ? [`nothing of the fleet is left in ${cluster}`] : [stays]),
    ...(holds === 0 || inside?.removeObjects === true
      ? []
      : [
          `to remove them as well: fleetrelay cluster deregister ${cluster} --agent-context CONTEXT --uninstall-agent --remove-objects --confirm ${cluster}`,
        ]),
    ...(inside?.uninstallAgent === true
      ? [
          'the namespace of the agent stays, with its settings and the inventory in it; kubectl delete namespace removes them',
        ]
      : []),
    ...(dryRun ? [NOTHING_CHANGED] : []),
  ];
}

const NOTHING_CHANGED = 'nothing was changed (--dry-run)';

/** Doing it again is no failure; a name that was mistyped must not look like one that was taken out. */
function nothingDone(cluster: ClusterName, declared: readonly Step[]): string {
  const where = declared.map((step) => step.where).join(', ');
  return `nothing was done: ${where} declares no cluster ${cluster}; that is well if it was taken out before, else look at the name (fleetrelay cluster list)`;
}
