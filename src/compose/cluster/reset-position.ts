import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { createDirectoryCluster } from '../../adapters/directory/cluster.ts';
import { knownClusterId } from '../../adapters/directory/instance.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import type { OutputPosition } from '../../model/fleet/output.ts';
import { counted } from '../../model/text/messages.ts';
import type { InventoryChange, InventoryState, LoadedInventory } from '../../ports/cluster-api.ts';
import { openClient, systemDeps } from '../kube.ts';
import { installedAgent, installedClusterName } from '../manifests/installed-agent.ts';
import type { KubeTarget, RunIo } from '../options.ts';

/** The options of `fleetrelay cluster reset-position`. */
export interface ResetPositionRequest {
  readonly name: ClusterName;
  /** The cluster is this folder; absent: the {@link KubeTarget} names the cluster. */
  readonly directory?: string;
  readonly kube: KubeTarget;
  readonly dryRun?: boolean;
}

export interface ResetPositionReport {
  readonly cluster: string;
  /** A folder, or the address of an API server. */
  readonly where: string;
  /** Before the reset. */
  readonly position: OutputPosition;
  readonly admitted: OutputPosition | null;
  /** Objects in the inventory. They stay as they are. */
  readonly holds: number;
  /** False: there was nothing to reset, or it is a dry run. */
  readonly reset: boolean;
  readonly notes: readonly string[];
}

type Io = Pick<RunIo, 'cwd' | 'env' | 'version'>;

/** Where an inventory is, and how it is replaced. */
interface Place {
  readonly where: string;
  /** Afterwards no running agent writes the inventory. */
  take(): Promise<void>;
  load(): Promise<LoadedInventory>;
  save(change: InventoryChange): Promise<void>;
  /** How the agent gets the new position. */
  readonly advice: string;
}

/**
 * Clears the position, the admission and the tag in the inventory of a cluster, so that its agent accepts the next output of
 * the server, whatever it has accepted before. Changes no object. Rejects with a text for a person.
 */
export async function resetPosition(request: ResetPositionRequest, io: Io): Promise<ResetPositionReport> {
  return request.directory === undefined
    ? inKubernetes(request, io)
    : inDirectory(request, resolve(io.cwd, request.directory));
}

async function inKubernetes(request: ResetPositionRequest, io: Io): Promise<ResetPositionReport> {
  const { client, namespace } = await openClient(request.kube, io);
  try {
    const where = `namespace ${namespace} of ${client.server}`;
    const kube = { client, namespace };
    const found = await installedClusterName(kube);
    if (found !== request.name) {
      throw new Error(
        found === undefined
          ? `no settings of an agent are in ${where}: name the namespace of the agent of ${request.name} with -n`
          : `the agent in ${where} belongs to ${found}, not to ${request.name}`,
      );
    }
    const { deployment } = await installedAgent(kube);
    const inventory = openInventory({ ...systemDeps(), client }, { namespace, holder: 'fleetrelay-cli' });
    return await reset(request, {
      where: client.server,
      load: inventory.load,
      save: inventory.save,
      advice: `the agent reads it when it starts: kubectl -n ${namespace} rollout restart deployment/${deployment}`,
      take: inventory.fence,
    });
  } finally {
    await client.close();
  }
}

async function inDirectory(request: ResetPositionRequest, folder: string): Promise<ResetPositionReport> {
  if (knownClusterId(folder) === undefined) throw new Error(`${folder} is no cluster: no agent has run on it`);
  const where = realpathSync(folder);
  const cluster = await createDirectoryCluster(systemDeps(), { directory: where });
  try {
    return await reset(request, {
      where,
      load: cluster.loadInventory,
      save: cluster.saveInventory,
      advice: 'start the agent again',
      take: async () => undefined,
    });
  } finally {
    await cluster.close();
  }
}

async function reset({ name, dryRun = false }: ResetPositionRequest, place: Place): Promise<ResetPositionReport> {
  const { where, advice } = place;
  if (!dryRun) await place.take();
  const loaded = await place.load();
  if (loaded.type === 'damaged') throw new Error(`the inventory in ${where} cannot be read: ${loaded.message}`);
  if (loaded.type === 'missing')
    throw new Error(`there is no inventory in ${where}: its agent has accepted nothing yet`);
  const { position, admitted = null } = loaded.state;
  const holds = loaded.records.length;
  const isClear = position.epoch === 0 && position.sequence === 0 && admitted === null;
  const isReset = !dryRun && !isClear;
  if (isReset) await place.save({ state: cleared(loaded.state), put: [], drop: [] });
  const stays = `${counted(holds, 'object')} of the fleet in ${name}: unchanged`;
  const notes = isClear
    ? [`the position of ${name} is clear already; nothing was changed`, advice]
    : [stays, ...(dryRun ? ['nothing was changed (--dry-run)'] : [advice])];
  return { cluster: name, where, position, admitted, holds, reset: isReset, notes };
}

function cleared({ admitted: _, tag: _tag, ...state }: InventoryState): InventoryState {
  return { ...state, position: { epoch: 0, sequence: 0 } };
}
