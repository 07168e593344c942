import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import { displayKey, type ObjectKey } from '../../../src/model/objects/object-key.ts';
import { readableAgain, type Vector, wantedBy } from '../oracle.ts';
import type { SimCluster } from '../ports/cluster.ts';
import type { SimEvent, World } from '../world.ts';
import { isHostile, type MakeChecker } from './checker.ts';
import { followHoldings, type Holdings } from './holdings.ts';
import { followLeave, type Leave } from './leave.ts';
import { excess, isCertain, LONGEST_WINDOW_SECONDS, limitsAt, tightest } from './limits.ts';
import { followUnwritten, type Unwritten } from './unwritten.ts';
import { followWaitingRemovals, type WaitingRemovals } from './waiting-removals.ts';

/** A removal that the checker knows to be held since `at`. */
interface Hold {
  readonly at: number;
  /** What has brought it in, if the checker judged that; people may have been told of it as well. */
  readonly step?: Step;
}

/** When a delta left which process. */
interface Departure {
  readonly at: number;
  readonly process: string;
}

/** By cluster and key. */
type Frozen = Map<string, Map<string, Hold>>;

/**
 * What a commit would remove together with more than the guards let pass stays, also if that commit or a later one loosens
 * the guards: until a person approves it, or it is wanted again. So does what people were told to be held. Looked at where one server does everything and has just
 * heard from the agents, for then it is known what it must have known. A delta that the server computed before it had committed
 * those revisions is not judged by them.
 */
export const lastingHolds: MakeChecker = (world, fail) => {
  const leave = followLeave(world);
  const holdings = followHoldings(world);
  const unwritten = followUnwritten(world);
  const seen = followSeen(world, holdings, unwritten);
  const frozen: Frozen = new Map();
  const isFrozen = (cluster: string, key: ObjectKey): boolean => frozen.get(cluster)?.has(key) === true;
  const waiting = followWaitingRemovals(world, holdings, seen.latest, isFrozen);
  let isForgetful = false;

  const taken = (cluster: SimCluster, delta: SequencedDelta, { at, process }: Departure): void => {
    const here = frozen.get(cluster.name);
    for (const key of delta.removals) {
      const isApproved = leave.use(cluster.name, displayKey(key), at);
      const hold = here?.get(key);
      here?.delete(key);
      if (hold !== undefined && !isApproved && hold.step?.isLaterThan(delta, process) !== true) {
        fail(`${key} is removed in ${cluster.name}: a guard held it, and no person approved it`);
      }
    }
    leave.taken(cluster.name, delta, at);
  };
  const departures = new Map<SequencedDelta['to'], Departure>();

  world.listen((event) => {
    switch (event.type) {
      case 'departed':
        departures.set(event.delta.to, { at: world.time.elapsed(), process: event.process });
        return;
      case 'taken':
        if (isHostile(world, event.cluster)) return;
        taken(event.cluster, event.delta, departures.get(event.delta.to) ?? { at: world.time.elapsed(), process: '' });
        return;
      case 'shown':
        if (world.setting.servers === 1) noteShown(frozen, holdings, event.removals, world.time.elapsed());
        return;
      case 'observed':
        thaw(frozen, seen.latest());
        return;
      case 'storeLost':
      case 'evicted':
        isForgetful = true;
        // No server is left that would write it again.
        if (world.servers.every(({ life }) => life() === undefined)) frozen.clear();
        return;
      case 'died': {
        const written = isForgetful ? 0 : unwritten.since(event.process);
        for (const here of frozen.values()) for (const [key, { at }] of here) if (at >= written) here.delete(key);
        isForgetful = false;
        return;
      }
      default:
        return;
    }
  });
  return {
    name: 'lasting holds',
    stepped: () => {
      const step = world.setting.servers === 1 ? seen.step() : undefined;
      if (step === undefined) return;
      for (const [cluster, keys] of heldBy(step, { holdings, leave, waiting, world })) {
        const here = frozen.get(cluster) ?? new Map<string, Hold>();
        frozen.set(cluster, here);
        for (const key of keys) here.set(key, { ...(here.get(key) ?? { step }), at: world.time.elapsed() });
      }
    },
  };
};

/** Removals that the API reports as held are held. A Namespace may still be kept for the objects left in it. */
function noteShown(
  frozen: Frozen,
  holdings: Holdings,
  removals: readonly { readonly cluster: string; readonly object: string }[],
  at: number,
): void {
  for (const { cluster, object } of removals) {
    const here = frozen.get(cluster) ?? new Map<string, Hold>();
    frozen.set(cluster, here);
    for (const key of holdings.held(cluster)) {
      if (displayKey(key) === object && !key.startsWith('/Namespace/')) here.set(key, { at });
    }
  }
}

/** What one turn of the server has brought in. */
interface Step {
  /** Did the same process compute the delta without one of these revisions? It commits in slices, and what arrives meanwhile later. */
  isLaterThan(delta: SequencedDelta, process: string): boolean;
  readonly before: Vector | undefined;
  readonly after: Vector;
  /** Clusters whose agents had told it by then what they hold. */
  readonly known: ReadonlySet<string>;
  /** Clusters for which it had decided on a delta before that, which had not left: what that removes is not judged anew. */
  readonly decided: ReadonlySet<string>;
  /** The most that each cluster owned when the turn began: what it has sent since may be a removal that people approved. */
  readonly most: ReadonlyMap<string, number>;
}

/** What the one server has seen of its sources since it began, and of its agents. */
function followSeen(world: World, holdings: Holdings, unwritten: Unwritten) {
  const revisions = new Map<string, string>();
  const known = new Set<string>();
  const stopped = new Set<string>();
  /** By source and revision: when it was seen last, as the number of that observation. */
  const orders = new Map<string, number>();
  let observations = 0;
  let pending:
    | (Pick<Step, 'before' | 'decided' | 'most'> & { readonly at: number; readonly process: string })
    | undefined;
  /** When each source was resumed that had been suspended. */
  const resumed = new Map<string, number>();
  const followStopped = (event: SimEvent): void => {
    // From this line on the server takes nothing of it; the answer to the steward comes later.
    if (event.type === 'log' && event.line.message === 'suspended' && event.line.data.source !== undefined)
      stopped.add(String(event.line.data.source));
    if (event.type === 'resumed' && event.what === 'source') {
      stopped.delete(event.name);
      resumed.set(event.name, world.time.elapsed());
    }
    if (event.type !== 'died' && event.type !== 'storeLost') return;
    // What was resumed is suspended again where the store does not have it, or is an older copy.
    const since = event.type === 'died' ? unwritten.since(event.process) : 0;
    for (const [source, at] of resumed) if (at >= since) stopped.add(source);
  };
  const latest = (): Vector =>
    world.repositories.map(({ source, treeAt }) => {
      const revision = revisions.get(source);
      return { source, tree: treeAt(revision ?? '') ?? new Map(), read: revision !== undefined };
    });
  world.listen((event) => {
    if (event.type === 'died') {
      for (const one of [revisions, known]) one.clear();
      pending = undefined;
    }
    followStopped(event);
    if (event.type === 'connected') known.add(event.cluster.name);
    if (event.type !== 'observed') return;
    const before = latest();
    const names = world.agents.map(({ cluster }) => cluster.name);
    // Of revisions that come at one moment the first may be committed alone: the next is judged by what it has loosened and added.
    const begun = (pending && { ...pending, before: undefined, most: mostAfter(pending.most, before, holdings) }) ?? {
      ...{ at: world.time.elapsed(), before: isCertain(before) ? before : undefined, decided: [] },
      process: `${event.server}.${event.life}`,
      most: new Map(names.map((name) => [name, holdings.most(name)])),
    };
    pending = { ...begun, decided: new Set([...begun.decided, ...names.filter(holdings.isAboutToLeave)]) };
    revisions.set(event.said.source, event.said.revision);
    observations += 1;
    orders.set(`${event.said.source} ${event.said.revision}`, observations);
    // A suspended source gives nothing; what it has seen comes in without a word when it is resumed.
    if (stopped.size > 0) pending = undefined;
    for (const name of names) {
      if (!wantedBy(latest()).clusters.has(name)) known.delete(name);
    }
  });
  const orderOf = (source: string, revision: string): number => orders.get(`${source} ${revision}`) ?? 0;
  const comparison = (observer: string): Step['isLaterThan'] => {
    const seen = [...revisions].map(([source, revision]) => ({ source, order: orderOf(source, revision) }));
    return (delta, process) =>
      process === observer &&
      seen.some(({ source, order }) => {
        const revision = delta.revisions.find((one) => one.source === source)?.revision;
        return revision === undefined || orderOf(source, revision) < order;
      });
  };
  return {
    latest,
    /** What came in at one moment, once that is over: it is judged together. */
    step: (): Step | undefined => {
      if (pending === undefined || world.time.elapsed() <= pending.at) return undefined;
      const { before, decided, most, process } = pending;
      pending = undefined;
      const after = latest();
      return isCertain(after) ? { isLaterThan: comparison(process), before, after, known, decided, most } : undefined;
    },
  };
}

/** The most that each cluster owned when the turn began, or owns once it has been sent what these revisions declare. */
function mostAfter(most: Step['most'], vector: Vector, holdings: Holdings): Step['most'] {
  const { clusters } = wantedBy(vector);
  return new Map(
    [...most].map(([name, before]) => {
      const wanted = [...(clusters.get(name)?.keys() ?? [])];
      return [name, Math.max(before, new Set([...holdings.held(name), ...wanted]).size)];
    }),
  );
}

/** What tells which removals of a step must be held. */
interface HoldSigns {
  readonly holdings: Holdings;
  readonly leave: Leave;
  readonly waiting: WaitingRemovals;
  readonly world: World;
}

/** What must be held of that step, by cluster. */
function heldBy(
  { before, after, known, decided, most }: Step,
  { holdings, leave, waiting, world }: HoldSigns,
): ReadonlyMap<string, readonly string[]> {
  const now = world.time.elapsed();
  const limits = before === undefined ? limitsAt(after) : tightest(limitsAt(before), limitsAt(after));
  const countedSince = now - (before === undefined ? LONGEST_WINDOW_SECONDS : limits.windowSeconds) * 1_000;
  const wanted = wantedBy(after).clusters;
  const isJudged = (name: string): boolean =>
    known.has(name) && !holdings.isUnderWay(name) && !decided.has(name) && name !== world.hostile?.cluster.name;
  const mostOf = (name: string): number => Math.max(most.get(name) ?? 0, holdings.most(name));
  const clusters = [...wanted].filter(([name]) => isJudged(name));
  const proposed = clusters.map(([cluster, here]) => {
    const isLetGo = (key: ObjectKey): boolean =>
      leave.isGiven(cluster, displayKey(key), now) || waiting.hasPassed(cluster, key, countedSince);
    const keys = [...holdings.held(cluster)].filter((key) => !here.has(key) && !isLetGo(key));
    return { cluster, keys, owned: { most: mostOf(cluster), least: holdings.least(cluster) } };
  });
  const isHeld = (keys: readonly string[], owned: { most: number; least: number }, whose: 'cluster' | 'fleet') =>
    excess({ removed: keys.length, owned }, limits, whose) !== undefined;
  const all = proposed.flatMap(({ keys }) => keys);
  const names = [...wanted.keys()];
  const ofFleet = {
    most: names.reduce((sum, name) => sum + mostOf(name), 0),
    least: names.reduce((sum, name) => sum + holdings.least(name), 0),
  };
  const fleetHolds = isHeld(all, ofFleet, 'fleet');
  const held = proposed.filter(({ keys, owned }) => fleetHolds || isHeld(keys, owned, 'cluster'));
  // A Namespace that something is left in is kept, and not held.
  return new Map(held.map(({ cluster, keys }) => [cluster, keys.filter((key) => !key.startsWith('/Namespace/'))]));
}

/** What may be wanted again is not held any more: also by what cannot be read, which holds as it was read last. */
function thaw(frozen: Frozen, vector: Vector): void {
  const wanted = wantedBy(readableAgain(vector)).clusters;
  for (const [cluster, keys] of frozen) {
    const here = wanted.get(cluster);
    if (here === undefined) keys.clear();
    for (const key of keys.keys()) if (here?.has(key) === true) keys.delete(key);
  }
}
