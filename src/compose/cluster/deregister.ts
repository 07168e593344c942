import { resolve } from 'node:path';
import { resourcePath } from '../../adapters/kubernetes/api/paths.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { metadataOf } from '../../model/objects/object-key.ts';
import { type JsonObject, objectsOf } from '../../model/text/json.ts';
import { counted } from '../../model/text/messages.ts';
import { type Kube, type KubeReader, openAgentKube, openKube, resourceOf, systemDeps } from '../kube.ts';
import { removedManifests } from '../manifests/agent-manifests.ts';
import { installedRoles } from '../manifests/agent-roles.ts';
import { installedAgent, installedClusterName, refuseRelease } from '../manifests/installed-agent.ts';
import { otherAgentPlaces, removeOne, removeParts } from '../manifests/remove.ts';
import type { AgentPlace, KubeTarget, RunIo } from '../options.ts';
import { notesThat, type Step } from '../step.ts';
import { clusterManifest, removeFromCheckout } from './cluster-file.ts';
import { removeObjects } from './remove-objects.ts';

/** The options of `fleetrelay cluster deregister`. At most one of `checkout` and `delete` is given. */
export interface DeregisterRequest extends KubeTarget, AgentPlace {
  readonly name: ClusterName;
  /** The KubernetesCluster is in this checkout. */
  readonly checkout?: string;
  /** The KubernetesCluster is in the management cluster, which the {@link KubeTarget} names. */
  readonly delete?: true;
  readonly uninstallAgent?: true;
  /** Remove the objects of the fleet in the cluster. */
  readonly removeObjects?: true;
  readonly dryRun?: true;
}

export interface DeregisterReport {
  readonly cluster: string;
  readonly steps: readonly Step[];
  /** The objects of the fleet in the cluster at the end, by its inventory; null: it was not read, or there is none. */
  readonly holds: number | null;
  readonly notes: readonly string[];
}

type Io = Pick<RunIo, 'cwd' | 'env' | 'version' | 'err'>;

/**
 * Takes a cluster out of the fleet. The objects of the fleet in it stay, unless their removal is asked for. Works without
 * the server. Rejects with a text for a person; earlier steps stay done, and a second call continues.
 */
export async function deregisterCluster(request: DeregisterRequest, io: Io): Promise<DeregisterReport> {
  const { name: cluster, uninstallAgent, dryRun = false } = request;
  if (uninstallAgent !== true && request.removeObjects !== true) {
    const steps = await undeclare(request, io);
    return { cluster, steps, holds: null, notes: notesOf(request, steps, null) };
  }
  await using kube = await openAgentKube(request, io);
  await checkCluster(kube, request);
  if (uninstallAgent === true) {
    await refuseRelease(kube, (release) => `remove it with: helm uninstall ${release}`);
  }
  const declared = await undeclare(request, io);
  const agent = uninstallAgent === true ? await removeAgent(kube, dryRun) : [];
  const progress = (line: string): void => io.err(`${line}\n`);
  const objects = request.removeObjects === true ? await removeObjects(kube, { dryRun, progress }) : [];
  const holds = await countOwned(kube);
  return { cluster, steps: [...declared, ...agent, ...objects], holds, notes: notesOf(request, declared, holds) };
}

async function undeclare(request: DeregisterRequest, io: Io): Promise<readonly Step[]> {
  const { name, checkout, kubeconfig, context, namespace, dryRun = false } = request;
  if (checkout !== undefined) return removeFromCheckout(resolve(io.cwd, checkout), name, dryRun);
  if (request.delete !== true) return [];
  await using kube = await openKube({ kubeconfig, context, namespace }, io);
  const manifest = { ...clusterManifest(name), metadata: { name, namespace: kube.namespace } };
  const step = await removeOne(kube, manifest, dryRun);
  if (step.outcome === 'absent') await checkElsewhere(kube, manifest, name);
  return [step];
}

/** Rejects if another namespace of the management cluster declares the cluster. */
async function checkElsewhere(kube: Kube, manifest: JsonObject, name: ClusterName): Promise<void> {
  const path = resourcePath({ resource: resourceOf(kube, manifest) });
  const answer = await kube.client.request({ method: 'GET', path });
  const items = answer.type === 'ok' ? objectsOf(answer.body.items).map(metadataOf) : [];
  const found = items.find((metadata) => metadata.name === name);
  if (found === undefined) return;
  const namespace = String(found.namespace);
  throw new Error(
    `there is no KubernetesCluster ${name} in the namespace ${kube.namespace} of ${kube.client.server}, but one in ${namespace}: name that with -n ${namespace}`,
  );
}

/** Rejects unless the settings of the agent name this cluster: a wrong context must not cost another cluster its agent or objects. */
async function checkCluster(kube: Kube, { name, removeObjects: removesObjects }: DeregisterRequest): Promise<void> {
  const { client, namespace } = kube;
  const found = await installedClusterName(kube);
  if (found === name) return;
  const where = `namespace ${namespace} of ${client.server}`;
  if (found !== undefined) throw new Error(`the agent in ${where} belongs to ${found}, not to ${name}`);
  if (removesObjects !== true || (await countOwned(kube)) === null) return;
  throw new Error(
    `there is an inventory in ${where}, and no settings that name its cluster: if it belongs to ${name}, name it with: kubectl -n ${namespace} create configmap fleetrelay-agent-settings --from-literal=cluster=${name}`,
  );
}

/** Removes the objects of the installation. The settings stay, because they name the cluster of the inventory that stays. */
async function removeAgent(kube: Kube, dryRun: boolean): Promise<readonly Step[]> {
  const { settings } = await installedAgent(kube);
  const manifests = removedManifests(kube.namespace).filter((manifest) => metadataOf(manifest).name !== settings);
  // The roles are looked for, because their Namespaces are not known here.
  const parts = [...manifests, ...(await installedRoles(kube))];
  return removeParts(kube, parts, { dryRun, others: await otherAgentPlaces(kube) });
}

async function countOwned({ client, namespace }: KubeReader): Promise<number | null> {
  const loaded = await openInventory({ ...systemDeps(), client }, { namespace }).load();
  return loaded.type === 'found' ? loaded.records.length : null;
}

/** What is left, here and in other clusters. A dry run reports the same. `declared`: the steps of the declaration. */
function notesOf(
  { name, checkout, uninstallAgent, removeObjects: removesObjects, dryRun }: DeregisterRequest,
  declared: readonly Step[],
  holds: number | null,
): readonly string[] {
  const isUndeclared = declared.some(({ outcome }) => outcome === 'removed');
  const isInside = uninstallAgent === true || removesObjects === true;
  const isNothing = !isInside && !isUndeclared;
  const where = declared.map((step) => step.where).join(', ');
  return notesThat([
    [
      isNothing,
      `nothing was done: ${where} declares no cluster ${name}; that is well if it was taken out before, else look at the name (fleetrelay cluster list)`,
    ],
    [checkout !== undefined && isUndeclared, 'commit and push: the server lets the agent go when it has read it'],
    [
      isUndeclared,
      `what other clusters have from ${name}, such as mirrored Services, is removed there, under the guards`,
    ],
    [!isNothing && holds === 0, `nothing of the fleet is left in ${name}`],
    [!isNothing && holds === null, `what the fleet has made in ${name} stays as it is`],
    [(holds ?? 0) > 0, `${name} still holds ${counted(holds ?? 0, 'object')} of the fleet, as before`],
    [
      !isNothing && holds !== 0 && removesObjects !== true,
      `to remove them as well: fleetrelay cluster deregister ${name} --agent-context CONTEXT --uninstall-agent --remove-objects --confirm ${name}`,
    ],
    [
      uninstallAgent === true,
      'the namespace of the agent stays, with its settings and the inventory in it; kubectl delete namespace removes them',
    ],
    [dryRun === true, 'nothing was changed (--dry-run)'],
  ]);
}
