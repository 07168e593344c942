import { type AgentSettings, NO_SETTINGS } from '../../../model/agent-settings.ts';
import { type ClusterId, parseClusterId } from '../../../model/ids.ts';
import { kindOf } from '../../../model/object-key.ts';
import { must } from '../../../model/result.ts';
import type { ClusterApi, InventoryChange, LoadedInventory } from '../../../ports/cluster-api.ts';
import { loadCatalog } from '../api/catalog.ts';
import { resourcePath } from '../api/paths.ts';
import type { ReflectorDeps } from '../api/reflector.ts';
import type { KubeClient } from '../api/types.ts';
import { type KubernetesInventory, openInventory } from '../inventory/inventory.ts';
import { applyObject, matches } from './apply.ts';
import { uidOf } from './apply-body.ts';
import { createFlapping } from './flapping.ts';
import { createLive, type Live } from './live/live.ts';
import { ownedKinds } from './owned-kinds.ts';
import { removeObject } from './remove.ts';
import type { Writing } from './writing.ts';

export interface KubernetesClusterOptions {
  /** The agent's own namespace: its inventory and the stop button are there. It must exist. */
  readonly namespace: string;
  /** May a request be sent at this moment? False once another replica may lead. */
  readonly mayWrite: () => boolean;
  /** Who this process is, for people. */
  readonly holder?: string;
  /** Called once, when another process has taken the inventory over: this one must stop. */
  readonly overtaken?: () => void;
}

/**
 * Opens a cluster by its API server, and takes its inventory over from any earlier process. Rejects if the server cannot
 * be asked, or does not let this user read what it needs.
 */
export async function createKubernetesCluster(
  deps: ReflectorDeps,
  options: KubernetesClusterOptions,
): Promise<ClusterApi> {
  const { client } = deps;
  const id = await readIdentity(client);
  const catalog = await loadCatalog(client);
  if (!catalog.ok) throw new Error(catalog.problem);
  const inventory = openInventory(deps, options);
  await inventory.fence();
  const live = createLive(deps, { namespace: options.namespace, catalog: catalog.value });
  let settings: AgentSettings = NO_SETTINGS;
  const flapping = createFlapping(deps.clock);
  const writing: Writing = { ...deps, live, flapping, mayWrite: options.mayWrite, settings: () => settings };
  return {
    identity: async () => id,
    list: live.list,
    watch: live.watch,
    apply: (request) => applyObject(writing, request),
    matches: (request, observed) => matches(writing, request, observed),
    remove: (request) => removeObject(writing, request),
    configure: (next) => {
      settings = next;
      live.configure(next);
    },
    loadInventory: () => loadInventory(inventory, live, client),
    saveInventory: async (change) => {
      await inventory.save(change);
      live.owns(kindsOf(change));
    },
    close: live.close,
  };
}

async function readIdentity(client: KubeClient): Promise<ClusterId> {
  const path = resourcePath({ resource: { group: '', version: 'v1', resource: 'namespaces' }, name: 'kube-system' });
  const answer = await client.request({ method: 'GET', path });
  switch (answer.type) {
    case 'ok':
      return must(parseClusterId(uidOf(answer.body)));
    case 'refused':
      throw new Error(`the namespace kube-system, which names the cluster, cannot be read: ${answer.refusal.message}`);
    case 'unreachable':
      throw new Error(`${client.server} cannot be asked: ${answer.message}`);
  }
}

/** What is owned is followed from the first look on. */
async function loadInventory(inventory: KubernetesInventory, live: Live, client: KubeClient): Promise<LoadedInventory> {
  const loaded = await inventory.load();
  if (loaded.type === 'found') live.owns(loaded.records.map(({ key }) => kindOf(key)));
  // Objects with our stamp are all that is left to go by.
  else live.owns(await ownedKinds(client, live.catalog.current()));
  return loaded;
}

function kindsOf({ put }: InventoryChange): readonly string[] {
  return put.map(({ key }) => kindOf(key));
}
