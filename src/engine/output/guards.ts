import type { GuardLimits } from '../../model/desired.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import { displayKey, type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { Collection, Derived, Entry, Graph, Index, Reader } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import type { FleetSettings } from '../inputs.ts';
import type { Decision, Hold } from './decision.ts';

/** Group of the fleet as a whole in the guards' indexes; no cluster can have this name. */
const FLEET = '*';

interface GuardInputs {
  readonly decisions: Collection<Decision>;
  readonly ledger: Collection<LedgerEntry>;
  readonly clusters: Collection<ClusterValue>;
  readonly fleet: Collection<FleetSettings>;
  readonly limits: Collection<GuardLimits>;
  readonly approvals: Collection<true>;
  readonly recentRemovals: Collection<number>;
  readonly departures: Collection<true>;
}

/** The guards' verdicts: an entry is a reason to hold. Clusters by name, the fleet under the empty key. */
export interface Guards {
  readonly perCluster: Derived<Hold>;
  readonly perFleet: Derived<Hold>;
}

/**
 * Judges how much would be removed: by count and by percentage, of one cluster and of the fleet, together with what
 * was removed within the window. Approved removals do not count.
 */
export function deriveGuards(graph: Graph, inputs: GuardInputs): Guards {
  const { decisions, ledger, clusters, fleet, limits, approvals, recentRemovals, departures } = inputs;
  const removals = graph.index('removals', decisions, ({ partition, value }) =>
    value.type === 'remove' ? [partition, FLEET] : [],
  );
  const approved = graph.index('approvedRemovals', approvals, ({ partition }) => [partition, FLEET]);
  const owned = graph.index('owned', ledger, ({ partition, value }) => (value.phase === 'removing' ? [] : [partition]));
  const registered = graph.index('registeredClusters', clusters, () => [FLEET]);
  const recent = graph.index('recentRemovalsAnywhere', recentRemovals, () => [FLEET]);
  const departed = indexDeparted(graph, departures, ledger);

  const perCluster = graph.derive<ClusterValue, Hold>({
    name: 'clusterGuards',
    from: clusters,
    reads: [removals, approved, owned, recentRemovals, departed, limits],
    compute: ({ key: cluster }, read, emit) => {
      const proposed = proposedIn(read, removals, approved, cluster);
      const limit = read.get(limits, '', '');
      if (proposed === 0 || limit === undefined) return;
      const before = (read.get(recentRemovals, '', cluster) ?? 0) + read.count(departed, cluster);
      const verdict = judge(
        { removed: proposed, before, owned: read.count(owned, cluster), windowSeconds: limit.windowSeconds },
        limit.maxRemovalsPerCluster,
        limit.maxRemovalPercentPerCluster,
        limit.percentFromOwned,
        `cluster ${cluster}`,
      );
      if (verdict !== undefined) emit('', cluster, verdict);
    },
  });
  const perFleet = graph.derive<FleetSettings, Hold>({
    name: 'fleetGuard',
    from: fleet,
    reads: [removals, approved, owned, recent, departed, registered, limits],
    compute: (_entry, read, emit) => {
      const proposed = proposedIn(read, removals, approved, FLEET);
      const limit = read.get(limits, '', '');
      if (proposed === 0 || limit === undefined) return;
      const arrived = read.members(recent, FLEET).reduce((sum, { value }) => sum + value, 0);
      const before = arrived + read.count(departed, FLEET);
      const verdict = judge(
        { removed: proposed, before, owned: ownedInFleet(read, registered, owned), windowSeconds: limit.windowSeconds },
        limit.maxRemovalsPerFleet,
        limit.maxRemovalPercentPerFleet,
        limit.percentFromOwned,
        'the fleet',
      );
      if (verdict !== undefined) emit('', '', verdict);
    },
  });
  return { perCluster, perFleet };
}

/** What is on its way out counts as gone, but not what has turned out to be there still: that is proposed again. */
function indexDeparted(graph: Graph, departures: Collection<true>, ledger: Collection<LedgerEntry>): Index<true> {
  const departed = graph.derive<true, true>({
    name: 'departed',
    from: departures,
    reads: [ledger],
    compute: ({ partition: cluster, key }, read, emit) => {
      const phase = read.get(ledger, cluster, key)?.phase ?? 'removing';
      if (phase === 'removing') emit(cluster, key, true);
    },
  });
  return graph.index('departedAnywhere', departed, ({ partition }) => [partition, FLEET]);
}

/** What a deregistered cluster still holds is not the fleet's any more. */
function ownedInFleet(read: Reader, registered: Index<ClusterValue>, owned: Index<LedgerEntry>): number {
  return read.members(registered, FLEET).reduce((sum, { key: cluster }) => sum + read.count(owned, cluster), 0);
}

function proposedIn(read: Reader, removals: Index<Decision>, approved: Index<true>, group: string): number {
  const all = read.count(removals, group);
  if (all === 0 || read.count(approved, group) === 0) return all;
  const released = new Set(read.members(approved, group).map(addressOf));
  return read.members(removals, group).filter((entry) => !released.has(addressOf(entry))).length;
}

function addressOf({ partition, key }: Entry<unknown>): string {
  return `${partition}\u0000${key}`;
}

function judge(
  amount: { readonly removed: number; readonly before: number; readonly owned: number; readonly windowSeconds: number },
  maxCount: number,
  maxPercent: number,
  percentFromOwned: number,
  whose: string,
): Hold | undefined {
  const total = amount.removed + amount.before;
  const base = amount.owned + amount.before;
  const earlier = amount.before === 0 ? '' : `, after ${amount.before} within the last ${amount.windowSeconds} s`;
  if (total > maxCount) {
    return {
      reason: 'TooManyRemovals',
      message: `${amount.removed} removals in ${whose}${earlier}: more than the guard's ${maxCount}`,
    };
  }
  const percent = base === 0 ? 0 : (100 * total) / base;
  if (base >= percentFromOwned && percent > maxPercent) {
    return {
      reason: 'TooManyRemovals',
      message: `${amount.removed} of ${amount.owned} objects removed in ${whose}${earlier}: more than the guard's ${maxPercent} percent`,
    };
  }
  return undefined;
}

/** A Namespace or CRD takes everything in it along: its removal always waits for a person. */
export function guardedKind(key: ObjectKey): Hold | undefined {
  const { group, kind } = objectRefOf(key);
  const guarded =
    (group === '' && kind === 'Namespace') || (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition');
  return guarded
    ? { reason: 'ContainerRemoval', message: `removing ${displayKey(key)} removes everything in it` }
    : undefined;
}
