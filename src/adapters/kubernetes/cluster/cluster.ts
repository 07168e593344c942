import { type AgentSettings, NO_SETTINGS } from '../../../model/agent/agent-settings.ts';
import { type ClusterId, parseClusterId } from '../../../model/fleet/ids.ts';
import { createFlapping } from '../../../model/limits/flapping.ts';
import type { Rate } from '../../../model/limits/rate-limit.ts';
import type { LoadEvaluator } from '../../../model/objects/health-check.ts';
import { isStatusKey, kindOf, type ObjectKey, objectOfStatus, objectRefOf } from '../../../model/objects/object-key.ts';
import { textOf } from '../../../model/text/json.ts';
import { must } from '../../../model/values/result.ts';
import {
  type ClusterApi,
  type InventoryRecord,
  type LoadedInventory,
  loadedRecords,
} from '../../../ports/cluster-api.ts';
import { loadCatalog } from '../api/catalog.ts';
import { resourcePath } from '../api/paths.ts';
import { type NoticingClient, noticeSilence } from '../api/silence.ts';
import type { FollowerDeps, KubeClient } from '../api/types.ts';
import { type KubernetesInventory, openInventory } from '../inventory/inventory.ts';
import { createEventRecorder } from '../resources/event-recorder.ts';
import { PAUSED } from './annotations.ts';
import { applyObject, differencesOf, matches } from './apply.ts';
import { applyStatus, endStatus, statusDifferences, statusMatches } from './apply-status.ts';
import { labelledPlaces } from './labelled-places.ts';
import type { OwnedPlace } from './live/kinds.ts';
import { createLive, type Live } from './live/live.ts';
import type { Trim } from './live/trim.ts';
import { removeObject } from './remove.ts';
import { uidOf, type Writing } from './write.ts';

/** Of the Events of all objects of the cluster together: many of them can drift at once. */
const EVENT_RATE: Rate = { burst: 100, perSecond: 10 };

export interface KubernetesClusterOptions {
  /** The agent's own namespace: its inventory and the stop button are there. It must exist. */
  readonly namespace: string;
  /** Objects in that namespace, and it itself, are applied and removed as all others. Absent: they are refused. */
  readonly allowOwnNamespace?: boolean;
  /** Whether a request may be sent at this moment; false as soon as another replica may lead. */
  readonly mayWrite: () => boolean;
  /** Name of this process, for people. */
  readonly holder?: string;
  /** For {@link KubernetesAccess.reader}; default: the client of everything else. */
  readonly reader?: KubeClient;
  /** Called once, when another process has taken the inventory over; this process must stop. */
  readonly overtaken?: () => void;
  /** Makes what evaluates the health checks of the policy. Absent: they have no effect. */
  readonly loadEvaluator?: LoadEvaluator;
  /** What is kept of live objects of others, of kinds that domains read; absent: all. */
  readonly trims?: readonly Trim[];
}

/** What parts of the agent use of the cluster beside its objects. */
export interface KubernetesAccess {
  /** For changes: the stop button and the leadership are checked before each. */
  readonly writing: Writing;
  /** For requests that do not end with the right to write. None waits for another, and none counts for `onSilence`. */
  readonly reader: KubeClient;
  /** See {@link NoticingClient}: of the requests of the adapter. */
  readonly onSilence: NoticingClient['onSilence'];
  /** The agent's own namespace. */
  readonly namespace: string;
  /** Name of this process, for people. */
  readonly holder?: string;
}

/** A cluster behind an API server. */
export interface KubernetesCluster extends ClusterApi {
  readonly access: KubernetesAccess;
}

/**
 * Opens a cluster by its API server and takes its inventory over from any earlier process. Rejects if the server does not
 * answer or refuses what is needed.
 */
export async function createKubernetesCluster(
  given: FollowerDeps,
  options: KubernetesClusterOptions,
): Promise<KubernetesCluster> {
  const { client, onSilence } = noticeSilence(given.client);
  const deps = { ...given, client };
  const id = await readIdentity(client);
  const catalog = await loadCatalog(client);
  if (!catalog.ok) throw new Error(catalog.problem);
  const inventory = openInventory(deps, options);
  await inventory.fence();
  const live = createLive(deps, {
    namespace: options.namespace,
    catalog: catalog.value,
    loadEvaluator: options.loadEvaluator,
    trims: options.trims,
  });
  let settings: AgentSettings = NO_SETTINGS;
  const flapping = createFlapping(deps.clock.monotonic);
  const ownNamespace = options.allowOwnNamespace === true ? undefined : options.namespace;
  const shared = { ...deps, live, flapping, ownNamespace, agentNamespace: options.namespace };
  const recorded = { controller: 'fleetrelay.dev/agent', rate: EVENT_RATE };
  const events = createEventRecorder(deps, { instance: options.holder ?? 'agent', ...recorded });
  const writing: Writing = { ...shared, mayWrite: options.mayWrite, settings: () => settings };
  return {
    identity: async () => id,
    takesStatuses: true,
    releaseStop: `kubectl annotate namespace ${options.namespace} ${PAUSED}-`,
    list: live.list,
    watch: live.watch,
    apply: (request) => {
      if (isStatusKey(request.key)) return applyStatus(writing, request);
      live.autoscaled.declare(request.key, request.value);
      return applyObject(writing, request);
    },
    matches: (request, observed) =>
      isStatusKey(request.key) ? statusMatches(writing, request, observed) : matches(writing, request, observed),
    differences: (request, { key }) => {
      if (isStatusKey(key)) return statusDifferences(writing, request);
      const entry = live.objects.get(key);
      return entry === undefined ? { fields: [], managers: [] } : differencesOf(writing, request, entry);
    },
    tell: async (key, event) => {
      const { uid, value } = live.objects.get(key) ?? live.statuses.objects.get(key) ?? {};
      if (uid === undefined || !options.mayWrite()) return;
      const about = isStatusKey(key) ? objectOfStatus(key) : key;
      await events.record({ key: about, uid, resourceVersion: '', apiVersion: textOf(value?.apiVersion) }, event);
    },
    remove: (request) => {
      if (isStatusKey(request.key)) return endStatus(writing, request);
      live.autoscaled.declare(request.key, undefined);
      return removeObject(writing, request);
    },
    configure: (next) => {
      settings = next;
      live.configure(next);
    },
    loadInventory: () => loadInventory(inventory, live, client),
    saveInventory: async (change) => {
      await inventory.save(change);
      follow(live, change.put);
      live.statuses.drop(change.drop.filter(isStatusKey));
    },
    access: {
      writing,
      reader: options.reader ?? given.client,
      onSilence,
      namespace: options.namespace,
      ...(options.holder && { holder: options.holder }),
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

function placeOf({ key }: { readonly key: ObjectKey }): OwnedPlace {
  return { kind: kindOf(key), namespace: objectRefOf(key).namespace };
}

/** Follows what is entered in the inventory. */
function follow(live: Live, records: readonly InventoryRecord[]): void {
  const { records: objects, statuses = [] } = loadedRecords(records);
  live.owns(objects.map(placeOf));
  live.statuses.add(statuses.map(({ key }) => key));
}

/** Loads the inventory and follows every kind of which fleetrelay owns an object. Rejects if the cluster does not answer. */
async function loadInventory(inventory: KubernetesInventory, live: Live, client: KubeClient): Promise<LoadedInventory> {
  const loaded = await inventory.load();
  if (loaded.type === 'found') follow(live, [...loaded.records, ...(loaded.statuses ?? [])]);
  else live.owns(await labelledPlaces(client, live.catalog.current()));
  return loaded;
}
