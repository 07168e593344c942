import { createKubernetesCluster } from '../../adapters/kubernetes/cluster/cluster.ts';
import { openInventory } from '../../adapters/kubernetes/inventory/inventory.ts';
import { createKubernetesLease } from '../../adapters/kubernetes/lease.ts';
import { workRank } from '../../agent/reconciler/object-step.ts';
import { snapshotDigest } from '../../model/digest.ts';
import type { FleetName } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import { displayKey, kindOf } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterApi, InventoryRecord, InventoryState, RemoveOutcome } from '../../ports/cluster-api.ts';
import type { Lease } from '../../ports/lease.ts';
import { AGENT_LEASE } from '../agent/agent-lease.ts';
import { type Kube, systemDeps } from '../kube.ts';
import type { Step } from '../step.ts';

/** An agent that has just been uninstalled gives its lease back, or it runs out. */
const LEASE_DEADLINE_MS = 60_000;
const RENEW_MS = 2_000;
const REMOVAL_DEADLINE_MS = 120_000;
const LOOK_EVERY_MS = 1_000;
/** What may hold what is not the fleet's. */
const CONTAINERS: readonly string[] = ['/Namespace', 'apiextensions.k8s.io/CustomResourceDefinition'];

interface Removing {
  readonly dryRun: boolean;
  readonly progress: (line: string) => void;
}

/**
 * Removes what the inventory says is the fleet's, as the agent would: in its order, each only if it bears our stamp, under
 * the agent's lease, so that no agent works beside. Namespaces and definitions stay: others' objects may lie in them.
 */
export async function removeObjects(kube: Kube, removing: Removing): Promise<readonly Step[]> {
  const deps = { ...systemDeps(), client: kube.client };
  if (removing.dryRun) {
    const loaded = await openInventory(deps, { namespace: kube.namespace }).load();
    return inOrder(loaded.type === 'found' ? loaded.records : []).map((record) => ({
      ...(isContainer(record) ? leftStep(kube, record) : stepOf(kube, record, 'removed')),
      dryRun: true,
    }));
  }
  const identity = `fleetrelay-cli_${deps.random.id().slice(0, 8)}`;
  const lease = createKubernetesLease(deps, { namespace: kube.namespace, name: AGENT_LEASE, identity });
  const term = await holdLease(lease, deps.clock);
  try {
    const mayWrite = (): boolean => deps.clock.monotonic() < term.deadline();
    const cluster = await createKubernetesCluster(deps, { namespace: kube.namespace, mayWrite, holder: identity });
    try {
      return await removeAll(kube, cluster, deps.clock, removing);
    } finally {
      await cluster.close();
    }
  } finally {
    term.end();
    await lease.release();
  }
}

/** Takes the lease and renews it until `end`. Rejects if an agent has it and goes on having it. */
async function holdLease(
  lease: Lease,
  clock: Clock,
): Promise<{ readonly deadline: () => number; readonly end: () => void }> {
  const until = clock.monotonic() + LEASE_DEADLINE_MS;
  let deadline = 0;
  for (;;) {
    const answer = await lease.acquire();
    if (answer.type === 'held') {
      deadline = answer.deadline;
      break;
    }
    if (clock.monotonic() > until) {
      throw new Error(
        answer.type === 'taken'
          ? `the agent ${answer.holder} is at work: nothing is removed beside it; stop it with --uninstall-agent`
          : `the lease of the agent cannot be had: ${answer.message}`,
      );
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
  let cancel: () => void = () => undefined;
  let ended = false;
  const renew = (): void => {
    cancel = clock.schedule(RENEW_MS, () => {
      void lease.acquire().then((answer) => {
        if (answer.type === 'held') deadline = answer.deadline;
        if (!ended) renew();
      });
    });
  };
  renew();
  return {
    deadline: () => deadline,
    end: () => {
      ended = true;
      cancel();
    },
  };
}

async function removeAll(
  kube: Kube,
  cluster: ClusterApi,
  clock: Clock,
  { progress }: Removing,
): Promise<readonly Step[]> {
  const loaded = await cluster.loadInventory();
  if (loaded.type === 'damaged') throw new Error(`the inventory cannot be read: ${loaded.message}`);
  const { fleet } = loaded.type === 'found' ? loaded.state : { fleet: undefined };
  if (loaded.type === 'missing' || fleet === undefined) return [];
  const live = await cluster.list('complete');
  if (live.paused) throw new Error('the stop button of this cluster is on: nothing is removed');
  const records = new Map(loaded.records.map((record) => [record.key, record]));
  const steps: Step[] = [];
  const deadline = clock.monotonic() + REMOVAL_DEADLINE_MS;
  for (const record of inOrder(loaded.records)) {
    if (isContainer(record)) {
      steps.push(leftStep(kube, record));
      continue;
    }
    progress(`${steps.length + 1}/${loaded.records.length} ${displayKey(record.key)}`);
    const outcome = await removeWithin(cluster, record, fleet, clock, deadline);
    steps.push(toStep(kube, record, outcome));
    if (!isEnd(outcome)) continue;
    records.delete(record.key);
    await cluster.saveInventory({ state: without(loaded.state, records.values()), put: [], drop: [record.key] });
  }
  return steps;
}

/** Tries until it is gone, or will not go. */
async function removeWithin(
  cluster: ClusterApi,
  { key, identity }: InventoryRecord,
  fleet: FleetName,
  clock: Clock,
  deadline: number,
): Promise<RemoveOutcome> {
  for (;;) {
    const outcome = await cluster.remove({ key, fleet, ...(identity === undefined ? {} : { identity }) });
    const isOpen = outcome.type === 'waiting' || (outcome.type === 'failed' && outcome.retryable);
    if (!isOpen || clock.monotonic() > deadline) return outcome;
    await clock.sleep(LOOK_EVERY_MS);
  }
}

/** Nothing of ours is there any more: it is gone, or let go. */
function isEnd({ type }: RemoveOutcome): boolean {
  return type === 'gone' || type === 'exempt' || type === 'notOwned';
}

function toStep(kube: Kube, record: InventoryRecord, outcome: RemoveOutcome): Step {
  if (outcome.type === 'gone') return stepOf(kube, record, 'removed');
  const message = outcome.type === 'paused' ? 'the stop button is on' : outcome.message;
  return { ...stepOf(kube, record, isEnd(outcome) ? 'left' : 'failed'), message };
}

function leftStep(kube: Kube, record: InventoryRecord): Step {
  const message = 'others may have something in it; remove it yourself if not';
  return { ...stepOf(kube, record, 'left'), message };
}

function stepOf({ client }: Kube, { key }: InventoryRecord, outcome: Step['outcome']): Step {
  return { what: displayKey(key), outcome, where: client.server };
}

function isContainer({ key }: InventoryRecord): boolean {
  return CONTAINERS.includes(kindOf(key));
}

function inOrder(records: readonly InventoryRecord[]): readonly InventoryRecord[] {
  const rank = (record: InventoryRecord): number => workRank({ ...record, phase: 'removing' });
  return records.toSorted((a, b) => rank(a) - rank(b) || compareText(a.key, b.key));
}

function without(state: InventoryState, records: Iterable<InventoryRecord>): InventoryState {
  const held = [...records].filter(({ phase }) => phase === 'held');
  return { ...state, digest: snapshotDigest(held.map(({ key, digest }) => [key, digest] as const)) };
}
