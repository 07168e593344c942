import { createKubernetesCluster } from '../../adapters/kubernetes/cluster/cluster.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import { createKubernetesLease } from '../../adapters/kubernetes/lease.ts';
import { workRank } from '../../agent/reconciler/object-step.ts';
import { createElector, type Elector } from '../../election/elector.ts';
import { displayKey, isStatusKey, kindOf } from '../../model/objects/object-key.ts';
import { snapshotDigest } from '../../model/text/digest.ts';
import { compareText } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  ClusterApi,
  InventoryRecord,
  LoadedInventory,
  RemoveOutcome,
  RemoveRequest,
} from '../../ports/cluster-api.ts';
import { AGENT_LEASE } from '../agent/names.ts';
import { type Kube, systemDeps } from '../kube.ts';
import type { Step } from '../step.ts';

/** By then an agent that has just been uninstalled has given its lease back, or its lease has run out. */
const LEASE_DEADLINE_MS = 60_000;
const REMOVAL_DEADLINE_MS = 120_000;
const LOOK_EVERY_MS = 1_000;
/** Kinds that may contain objects of others. */
const CONTAINERS: readonly string[] = ['/Namespace', 'apiextensions.k8s.io/CustomResourceDefinition'];

interface Removing {
  readonly dryRun: boolean;
  /** Writes a line for each object. */
  readonly progress: (line: string) => void;
}

/**
 * Removes the objects that the inventory lists, in the agent's order, each only if it bears our stamp, and ends the statuses that were
 * applied to objects of others. Holds the agent's lease meanwhile, so that no agent works beside. Namespaces and definitions stay, because objects of others may be in them.
 */
export async function removeObjects(kube: Kube, removing: Removing): Promise<readonly Step[]> {
  const deps = { ...systemDeps(), client: kube.client };
  const { namespace } = kube;
  if (removing.dryRun) {
    const loaded = await openInventory(deps, { namespace }).load();
    return inOrder(loaded.type === 'found' ? allOf(loaded) : []).map((record) => ({
      ...stepOf(kube, record, isContainer(record) ? 'container' : { type: 'gone' }),
      dryRun: true,
    }));
  }
  const identity = `fleetrelay-cli_${deps.random.id().slice(0, 8)}`;
  const lease = createKubernetesLease(deps, { namespace, name: AGENT_LEASE, identity });
  const elector = createElector({ ...deps, lease });
  try {
    await untilLeading(elector, deps.clock);
    // A slow API server can end a term. The removal continues in the next term, unless an agent has taken the lease.
    const mayWrite = (): boolean => elector.term()?.mayWrite() === true;
    const options = { namespace, allowOwnNamespace: true, mayWrite, holder: identity };
    const cluster = await createKubernetesCluster(deps, options);
    try {
      return await removeAll(kube, cluster, deps.clock, removing);
    } finally {
      await cluster.close();
    }
  } finally {
    await elector.stop();
  }
}

/** Starts the elector and waits for its first term. Rejects if an agent keeps the lease. */
async function untilLeading(elector: Elector, clock: Clock): Promise<void> {
  const until = clock.monotonic() + LEASE_DEADLINE_MS;
  elector.start();
  while (elector.term() === undefined) {
    if (clock.monotonic() > until) {
      const status = elector.status();
      throw new Error(
        status.type === 'following'
          ? `the agent ${status.leader} is at work: nothing is removed beside it; stop it with --uninstall-agent`
          : `the lease of the agent cannot be taken: ${status.type === 'unknown' ? status.message : ''}`,
      );
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
}

async function removeAll(
  kube: Kube,
  cluster: ClusterApi,
  clock: Clock,
  { progress }: Removing,
): Promise<readonly Step[]> {
  const loaded = await cluster.loadInventory();
  if (loaded.type === 'damaged') throw new Error(`the inventory cannot be read: ${loaded.message}`);
  if (loaded.type === 'missing') return [];
  const { state } = loaded;
  const records = allOf(loaded);
  const { fleet } = state;
  if (fleet === undefined) return [];
  const live = await cluster.list('complete');
  if (live.paused) throw new Error('the stop button of this cluster is on: nothing is removed');
  const left = new Map(records.map((record) => [record.key, record]));
  const steps: Step[] = [];
  const deadline = clock.monotonic() + REMOVAL_DEADLINE_MS;
  for (const record of inOrder(records)) {
    if (isContainer(record)) {
      steps.push(stepOf(kube, record, 'container'));
      continue;
    }
    const { key, nonce, identity } = record;
    progress(`${steps.length + 1}/${records.length} ${displayKey(key)}`);
    const request = { key, fleet, nonce, ...given({ identity }) };
    const outcome = await removeWithin(cluster, request, clock, deadline);
    steps.push(stepOf(kube, record, outcome));
    if (!isEnd(outcome)) continue;
    left.delete(key);
    const owned = [...left.values()].filter(({ phase }) => phase === 'held');
    const digest = snapshotDigest(owned.map((each) => [each.key, each.digest] as const));
    await cluster.saveInventory({ state: { ...state, digest }, put: [], drop: [key] });
  }
  return steps;
}

/** Tries until the object is gone, cannot be removed, or the time is over. */
async function removeWithin(
  cluster: ClusterApi,
  request: RemoveRequest,
  clock: Clock,
  deadline: number,
): Promise<RemoveOutcome> {
  for (;;) {
    const outcome = await cluster.remove(request);
    const isOpen = outcome.type === 'waiting' || outcome.type === 'failed';
    if (!isOpen || clock.monotonic() > deadline) return outcome;
    await clock.sleep(LOOK_EVERY_MS);
  }
}

/** Whether the object is not ours any more: it is gone, exempt or owned by another. */
function isEnd({ type }: RemoveOutcome): boolean {
  return type === 'gone' || type === 'exempt' || type === 'notOwned';
}

function stepOf({ client }: Kube, { key }: InventoryRecord, outcome: RemoveOutcome | 'container'): Step {
  const step = { what: displayKey(key), where: client.server };
  if (outcome === 'container') {
    return { ...step, outcome: 'left', message: 'others may have something in it; remove it yourself if not' };
  }
  if (outcome.type === 'gone') return { ...step, outcome: 'removed' };
  const message = outcome.type === 'paused' ? 'the stop button is on' : outcome.message;
  return { ...step, outcome: isEnd(outcome) ? 'left' : 'failed', message };
}

/** Of objects and of statuses. */
function allOf({ records, statuses = [] }: Extract<LoadedInventory, { type: 'found' }>): readonly InventoryRecord[] {
  return [...records, ...statuses];
}

function isContainer({ key }: InventoryRecord): boolean {
  return !isStatusKey(key) && CONTAINERS.includes(kindOf(key));
}

function inOrder(records: readonly InventoryRecord[]): readonly InventoryRecord[] {
  const rank = (record: InventoryRecord): number => workRank({ ...record, phase: 'removing' });
  return records.toSorted((a, b) => rank(a) - rank(b) || compareText(a.key, b.key));
}
