import type { GuardLimits } from '../../model/fleet/desired.ts';
import type { Hold, LedgerEntry } from '../../model/fleet/ledger.ts';
import { carriesEndpoints, servedService, serviceOfEndpoints } from '../../model/objects/endpoints.ts';
import { displayKey, isStatusKey, type ObjectKey, objectKey, objectRefOf } from '../../model/objects/object-key.ts';
import type { Collection, Contribution, Entry, Graph, Index, Reader } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import { isTighter } from '../fleet/policy.ts';
import type { Departure, EngineInputs, FleetSettings } from '../inputs.ts';
import type { Candidate } from '../placement/wants.ts';
import type { Decision, ObjectDecision, Removal } from './decisions.ts';

/** Group of the fleet in the guards' indexes; no cluster can have this name. */
const FLEET = '*';

/** Group of a cluster's unproven entries without statuses; no cluster can have this name. */
const objectsOf = (cluster: string): string => `${cluster}/`;

/** Partition of the recent removals of unproven entries. */
export const UNPROVEN = 'unproven';

type Candidates = readonly Contribution<Candidate>[];

interface GuardInputs extends EngineInputs {
  readonly candidates: Collection<Candidates>;
  readonly decisions: Collection<Decision>;
  readonly clusters: Collection<ClusterValue>;
  readonly limits: Collection<GuardLimits>;
}

/** What the guards of a commit read and decide. */
export type Guards = ReturnType<typeof deriveGuards>;

/**
 * Derives the guards on the number of removals: by count and by percentage, of one cluster and of the fleet, together with
 * the removals within the window. Approved removals do not count. Unproven entries count for their own cluster only. Statuses are no
 * objects: they count nowhere.
 */
export function deriveGuards(graph: Graph, inputs: GuardInputs) {
  const { decisions, ledger, clusters, fleet, limits, approvals, recentRemovals } = inputs;
  const removals = graph.index('removals', decisions, ({ partition, key, value }) => {
    if (value.type !== 'remove' || value.stays !== undefined || isStatusKey(key)) return [];
    return value.unproven === true ? [partition] : [partition, FLEET];
  });
  const approved = graph.index('approvedRemovals', approvals, ({ partition }) => [partition, FLEET]);
  const { owned, unproven } = indexOwned(graph, ledger);
  const registered = graph.index('registeredClusters', clusters, () => [FLEET]);
  const recent = graph.index('recentRemovalsAnywhere', recentRemovals, ({ partition }) =>
    partition === '' ? [FLEET] : [],
  );
  const leaving = deriveLeaving(graph, inputs);
  const departed = indexDeparted(graph, inputs, leaving.removals);
  const released = [approved, leaving.index];

  const perCluster = graph.derive<ClusterValue, Hold>({
    name: 'clusterGuards',
    from: clusters,
    reads: [removals, ...released, owned, recentRemovals, departed, limits],
    compute: ({ key: cluster }, read, emit) => {
      const proposed = proposedIn(read, removals, released, cluster);
      const limit = read.get(limits, '', '');
      if (proposed === 0 || limit === undefined) return;
      const recently = sumOf(['', UNPROVEN], (partition) => read.get(recentRemovals, partition, cluster) ?? 0);
      const before = recently + read.count(departed, cluster);
      const most = { count: limit.maxRemovalsPerCluster, percent: limit.maxRemovalPercentPerCluster };
      const staying = read.count(owned, cluster) - read.count(leaving.index, cluster);
      const hold = judgeRemovals({ proposed, before, owned: staying }, limit, most, `cluster ${cluster}`);
      if (hold !== undefined) emit('', cluster, hold);
    },
  });
  const perFleet = graph.derive<FleetSettings, Hold>({
    name: 'fleetGuard',
    from: fleet,
    reads: [removals, ...released, owned, unproven, recent, departed, registered, limits],
    compute: (_entry, read, emit) => {
      const proposed = proposedIn(read, removals, released, FLEET);
      const limit = read.get(limits, '', '');
      if (proposed === 0 || limit === undefined) return;
      const before = sumOf(read.members(recent, FLEET), ({ value }) => value) + read.count(departed, FLEET);
      // Objects in clusters that are not registered any more do not belong to the fleet.
      const ownedInFleet = sumOf(
        read.members(registered, FLEET),
        ({ key }) => read.count(owned, key) - read.count(unproven, objectsOf(key)),
      );
      const most = { count: limit.maxRemovalsPerFleet, percent: limit.maxRemovalPercentPerFleet };
      const staying = ownedInFleet - read.count(leaving.index, FLEET);
      const hold = judgeRemovals({ proposed, before, owned: staying }, limit, most, 'the fleet');
      if (hold !== undefined) emit('', '', hold);
    },
  });
  const serving = indexServing(graph, decisions);
  const { heldRemovals, removalPermits } = inputs;
  const judged = [decisions, ledger, perCluster, perFleet, serving, approvals, leaving.removals];
  const reads = [...judged, heldRemovals, fleet, removalPermits];
  return {
    ...inputs,
    /** The unproven entries of each cluster that it holds. */
    unproven,
    /** An entry: the guard holds all removals of the cluster. Partition empty, key the cluster. */
    perCluster,
    /** An entry: the guard holds all removals of the fleet. Partition and key empty. */
    perFleet,
    /** Removals that have passed, and wait for the last delta of a large change. */
    leaving: leaving.removals,
    /** Decisions after which the object has addresses of a service, by {@link serviceGroup}. */
    serving,
    /** The collections that the functions below read. */
    reads,
  };
}

/** Indexes the objects of the ledger, and all its unproven entries, without those that are being removed. */
function indexOwned(graph: Graph, ledger: Collection<LedgerEntry>) {
  return {
    owned: graph.index('owned', ledger, ({ partition, key, value }) =>
      value.phase === 'removing' || isStatusKey(key) ? [] : [partition],
    ),
    unproven: graph.index('unproven', ledger, ({ partition, key, value }) => {
      if (value.phase === 'removing' || value.unproven !== true) return [];
      return isStatusKey(key) ? [partition] : [partition, objectsOf(partition)];
    }),
  };
}

/**
 * Derives the removals that have passed and are counted, but wait for the last delta of a large change: they are not judged again,
 * as if they were sent already. A removal is judged again if its count is lost or its object was declared again; all are judged again
 * if a limit is tighter than when they passed, so tightening works at once. A removal that is held then stays held.
 */
function deriveLeaving(graph: Graph, { departures, ledger, decisions, candidates, limits, heldRemovals }: GuardInputs) {
  const removals = graph.derive<Departure, boolean>({
    name: 'leaving',
    from: departures,
    reads: [ledger, decisions, candidates, limits, heldRemovals],
    seesAll: true,
    compute: ({ partition: cluster, key, value: { isProven, hasStopped } }, read, emit) => {
      const { leaving: passed, phase } = read.get(ledger, cluster, key) ?? GONE;
      if (hasStopped === true || passed === undefined || phase === 'removing') return;
      if (!isToGo(read.get(decisions, cluster, key), read.get(candidates, cluster, key))) return;
      const limit = read.get(limits, '', '');
      if (limit === undefined || isTighter(limit, passed)) return;
      const held = read.get(heldRemovals, cluster, key);
      if (held === undefined || held.reason === EMPTIED) emit(cluster, key, isProven);
    },
  });
  return { removals, index: graph.index('leavingAnywhere', removals, clusterAndFleet) };
}

/** Whether an object is to go: it is removed, or nothing wants it and it stays only until its absence is proven. */
export function isToGo(decision: Decision | undefined, candidates: Candidates | undefined): boolean {
  return decision?.type === 'remove' || (decision?.type === 'keep' && candidates === undefined);
}

const GONE: Pick<LedgerEntry, 'phase' | 'leaving'> = { phase: 'removing' };

/**
 * Indexes removals that were sent and may have arrived, or that are leaving. Another one whose object is still owned is proposed
 * again and not counted here.
 */
function indexDeparted(
  graph: Graph,
  { departures, ledger }: GuardInputs,
  leaving: Collection<boolean>,
): Index<boolean> {
  const departed = graph.derive<Departure, boolean>({
    name: 'departed',
    from: departures,
    reads: [ledger, leaving],
    compute: ({ partition: cluster, key, value: { isProven } }, read, emit) => {
      const { phase } = read.get(ledger, cluster, key) ?? GONE;
      if (phase === 'removing' || read.get(leaving, cluster, key) !== undefined) emit(cluster, key, isProven);
    },
  });
  return graph.index('departedAnywhere', departed, clusterAndFleet);
}

function clusterAndFleet({ partition, value: isProven }: Entry<boolean>): readonly string[] {
  return isProven ? [partition, FLEET] : [partition];
}

/** Number of removals that are judged, without removals in `released`. */
function proposedIn(
  read: Reader,
  removals: Index<Decision>,
  released: readonly Index<boolean>[],
  group: string,
): number {
  const all = read.count(removals, group);
  if (all === 0 || released.every((index) => read.count(index, group) === 0)) return all;
  const addresses = new Set(released.flatMap((index) => read.members(index, group).map(addressOf)));
  return read.members(removals, group).filter((entry) => !addresses.has(addressOf(entry))).length;
}

function addressOf({ partition, key }: Entry<unknown>): string {
  return `${partition}\u0000${key}`;
}

function sumOf<Item>(items: readonly Item[], amount: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amount(item), 0);
}

function judgeRemovals(
  { proposed, before, owned }: Readonly<Record<'proposed' | 'before' | 'owned', number>>,
  { windowSeconds, percentFromOwned }: GuardLimits,
  most: Readonly<Record<'count' | 'percent', number>>,
  whose: string,
): Hold | undefined {
  const [total, base] = [proposed + before, owned + before];
  const reason = 'TooManyRemovals';
  const earlier = before === 0 ? '' : `, after ${before} within the last ${windowSeconds} s`;
  if (total > most.count) {
    return { reason, message: `${proposed} removals in ${whose}${earlier}: more than the guard's ${most.count}` };
  }
  if (base === 0 || base < percentFromOwned || (100 * total) / base <= most.percent) return undefined;
  const removed = `${proposed} of ${owned} objects removed in ${whose}${earlier}`;
  return { reason, message: `${removed}: more than the guard's ${most.percent} percent` };
}

/** `held`: a removal waits for an approval. `keep`: a follower waits for the leader's permit. */
export type GuardHold = Hold & { readonly type: 'held' | 'keep' };

/** The guards, as the computation of an output in a cluster reads them. */
export interface GuardReader {
  readonly read: Reader;
  readonly guards: Guards;
  readonly cluster: string;
}

/** Why a removal waits; undefined: the guards let it pass. */
export function holdOnRemoval(at: GuardReader, key: ObjectKey, decision: Removal): GuardHold | undefined {
  const { read, guards, cluster } = at;
  // The end of a status takes no object away.
  if (isStatusKey(key)) return undefined;
  // The object stays in any case, and is ours again once it is declared again.
  if (decision.stays !== undefined || read.get(guards.leaving, cluster, key) !== undefined) return undefined;
  return unlessPassed(at, key, () => {
    const byNumber = read.get(guards.perFleet, '', '') ?? read.get(guards.perCluster, '', cluster);
    if (byNumber !== undefined) return byNumber;
    if (contentsOf(cluster, key) !== undefined) {
      return { reason: 'ContainerRemoval', message: `removing ${displayKey(key)} removes everything in it` };
    }
    // A held removal waits for its approval although the limits are looser now, but not for a service that has addresses again.
    const before = read.get(guards.heldRemovals, cluster, key);
    return before === undefined || before.reason === EMPTIED ? whyEmptied(at, key, decision) : before;
  });
}

/** Why a change waits that the guards judge by `why`; undefined: it has passed, or `why` finds no reason. */
export function unlessPassed(at: GuardReader, key: ObjectKey, why: () => Hold | undefined): GuardHold | undefined {
  if (isPassed(at, key)) return undefined;
  // Only the leader knows windows and approvals.
  if (isFollower(at)) {
    const message = 'the replica that judges removals has not let this one pass yet';
    return { type: 'keep', reason: 'WaitsForLeader', message };
  }
  const hold = why();
  return hold === undefined ? undefined : { type: 'held', ...hold };
}

/** Whether a person has approved the change; on a follower, whether the leader permits it. */
export function isPassed(at: GuardReader, key: ObjectKey): boolean {
  const { removalPermits, approvals } = at.guards;
  return at.read.get(isFollower(at) ? removalPermits : approvals, at.cluster, key) === true;
}

function isFollower({ read, guards }: GuardReader): boolean {
  return read.get(guards.fleet, '', '')?.role === 'follower';
}

/** For a Namespace or CustomResourceDefinition the group of the objects in it (see `containersOf`); undefined for others. */
export function contentsOf(cluster: string, key: ObjectKey): string | undefined {
  const { group, kind, name } = objectRefOf(key);
  if (isStatusKey(key)) return undefined;
  if (group === '' && kind === 'Namespace') return `${cluster}/namespace/${name}`;
  if (group !== 'apiextensions.k8s.io' || kind !== 'CustomResourceDefinition') return undefined;
  // The name of a CRD is `plural.group`. Keys do not contain the plural, so all objects of the API group count.
  return `${cluster}/group/${name.slice(name.indexOf('.') + 1)}`;
}

/** The reason of a {@link Hold} by {@link whyEmptied}. */
export const EMPTIED = 'EndpointsEmptied';

/** Indexes objects with addresses: by their new content, or by their accepted content if they stay. */
function indexServing(graph: Graph, decisions: Collection<Decision>): Index<Decision> {
  return graph.index('servingEndpoints', decisions, ({ partition: cluster, key, value }) => {
    if (value.type !== 'object' && value.type !== 'keep') return [];
    const service = value.type === 'object' ? servedService(key as ObjectKey, value.value) : value.serves;
    return service === undefined || service === '' ? [] : [serviceGroup(cluster, key as ObjectKey, service)];
  });
}

/**
 * Why a change waits that takes the last addresses of a service, because its clients would lose it. Undefined if the service
 * keeps addresses, or if the Service itself is removed: then the guards judge that removal.
 */
export function whyEmptied(at: GuardReader, key: ObjectKey, decision: ObjectDecision | Removal): Hold | undefined {
  const { read, guards, cluster } = at;
  if (!carriesEndpoints(key)) return undefined;
  const name = servedBefore(key, decision, read.get(guards.ledger, cluster, key));
  if (name === '') return undefined;
  if (decision.type === 'object' && servedService(key, decision.value) === name) return undefined;
  if (read.count(guards.serving, serviceGroup(cluster, key, name)) > 0) return undefined;
  const service = objectKey({ group: '', kind: 'Service', namespace: objectRefOf(key).namespace, name });
  const fate = read.get(guards.decisions, cluster, service);
  if (fate?.type === 'removing') return undefined;
  // The addresses of a Service whose removal is held stay with it.
  if (fate?.type === 'remove' && fate.stays === undefined && holdOnRemoval(at, service, fate) === undefined)
    return undefined;
  const change = decision.type === 'remove' ? 'goes' : 'becomes empty';
  const message = `${displayKey(service)} would be left without any address: ${displayKey(key)} ${change}`;
  return { reason: EMPTIED, message };
}

/** The service of the accepted content. Unknown content counts as addresses: an unnecessary hold can be approved. */
function servedBefore(key: ObjectKey, decision: Decision, entry: LedgerEntry | undefined): string {
  if (entry === undefined || entry.phase === 'removing') return '';
  if (entry.serves !== undefined) return entry.serves;
  if (decision.type !== 'object') return objectRefOf(key).kind === 'Endpoints' ? objectRefOf(key).name : '';
  return entry.digest === decision.digest ? '' : serviceOfEndpoints(key, decision.value);
}

function serviceGroup(cluster: string, key: ObjectKey, service: string): string {
  return `${cluster}/${objectRefOf(key).namespace}/${service}`;
}
