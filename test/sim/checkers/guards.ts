import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import { displayKey } from '../../../src/model/objects/object-key.ts';
import { wantedBy } from '../oracle.ts';
import type { SimCluster } from '../ports/cluster.ts';
import type { World } from '../world.ts';
import { followAdmitted } from './admitted.ts';
import { isHostile, type MakeChecker } from './checker.ts';
import { followEndedWindows } from './ended-windows.ts';
import { followHoldings } from './holdings.ts';
import { followLeave } from './leave.ts';
import { excess, type Limits, limitsAt, type Owned } from './limits.ts';
import { followUnwritten } from './unwritten.ts';

/** How a delta has left its server. */
interface Departure {
  readonly at: number;
  /** When its removals were counted: it leaves when that is on record, or when the store has failed for seconds. */
  readonly countedAt: number;
  /** Which departure of the world it was. */
  readonly order: number;
  /** The departure before its removals were judged: removals of a large change are judged with its first delta. */
  readonly judgedAfter: number;
  readonly process: string;
  /** What had been counted at this moment or before was forgotten when it left. */
  readonly forgotten: number;
  /** What each cluster owned between the decision to send it and its departure. */
  readonly owned: ReadonlyMap<string, Owned>;
}

/** A removal that no person had approved. */
interface Gone extends Departure {
  readonly cluster: string;
  readonly removals: number;
  readonly limits: Limits;
  /** Clusters of the fleet at the revision that it came from. */
  readonly declared: readonly string[];
}

/**
 * No server removes more than the guards permit: unapproved removals and earlier ones within the window stay below the
 * limits of the policy, by count and by percentage, for one cluster and for the fleet. A Namespace is removed only with
 * a person's approval. What a hostile agent takes is not counted; what it was ever sent counts as owned.
 */
export const guards: MakeChecker = (world, fail) => {
  const admitted = followAdmitted(world);
  const leave = followLeave(world);
  const unwritten = followUnwritten(world);
  const endedWindows = followEndedWindows(world);
  const departureOf = followDepartures(world, endedWindows.forgotten);
  let gone: readonly Gone[] = [];

  const judge = (cluster: SimCluster, delta: SequencedDelta): void => {
    const departure = departureOf(cluster, delta);
    const named = delta.removals.map((key) => ({ key, object: displayKey(key) }));
    const counted = named.filter(({ object }) => !leave.use(cluster.name, object, departure.at));
    leave.taken(cluster.name, delta, departure.at);
    if (counted.length === 0) return;
    for (const { key, object } of counted) {
      if (key.startsWith('/Namespace/')) fail(`${object} is removed in ${cluster.name}, and no person approved it`);
    }
    const vector = admitted.vector(delta.revisions) ?? [];
    const declared = [...wantedBy(vector).clusters.keys()];
    const limits = limitsAt(vector);
    const step: Gone = { ...departure, cluster: cluster.name, removals: counted.length, limits, declared };
    gone = [...gone, step];
    // Deltas do not arrive in the order in which they left.
    for (const end of gone) {
      if (end.order < step.order) continue;
      for (const problem of problems(gone, end)) fail(problem);
    }
  };

  world.listen((event) => {
    switch (event.type) {
      case 'died': {
        // No other server knows the departures that a server had not written to the store when it ended.
        const written = unwritten.since(event.process);
        gone = gone.filter(({ process, at }) => process !== event.process || at < written);
        return;
      }
      case 'taken':
        if (!isHostile(world, event.cluster)) judge(event.cluster, event.delta);
        return;
      case 'storeLost':
        // What went lately is remembered nowhere else.
        gone = [];
        return;
      default:
        return;
    }
  });
  return { name: 'guards', stepped: endedWindows.stepped };
};

/** Follows how each delta left its server; a delta without a departure event has left now. */
function followDepartures(
  world: World,
  forgottenNow: () => number,
): (cluster: SimCluster, delta: SequencedDelta) => Departure {
  const decided = new Map<string, Pick<Departure, 'countedAt' | 'judgedAfter' | 'owned'>>();
  /** By cluster: what each cluster owned since the first delta of a change that is sent in several. */
  const begun = new Map<string, Pick<Departure, 'judgedAfter' | 'owned'>>();
  const departures = new Map<string, Departure>();
  const forgotten = followForgotten(world);
  let order = 0;
  const address = ({ name }: SimCluster, { position }: SequencedDelta): string =>
    `${name} ${position.epoch} ${position.sequence}`;
  const ownedNow = (): Departure['owned'] => {
    const names = world.agents.map(({ cluster }) => cluster.name);
    const owned = (name: string): Owned => ({
      most: holdings.most(name) + forgotten(name),
      least: holdings.least(name),
    });
    return new Map(names.map((name) => [name, owned(name)]));
  };
  const now = (process: string, earlier: ReturnType<typeof decided.get>): Departure => {
    const { countedAt, judgedAfter } = earlier ?? { countedAt: world.time.elapsed(), judgedAfter: order };
    order += 1;
    const owned = spanOf(ownedNow(), earlier?.owned);
    return { at: world.time.elapsed(), countedAt, order, judgedAfter, process, forgotten: forgottenNow(), owned };
  };
  world.listen((event) => {
    if (event.type === 'log' && event.line.message === 'a delta is sent') {
      // Removals leave after their count is on record; other deltas may leave in between.
      const { cluster, epoch, sequence, rest } = event.line.data;
      // The removals of a large change are judged with its first delta, and leave with its last one.
      const first = begun.get(String(cluster));
      const judged = { judgedAfter: first?.judgedAfter ?? order, owned: spanOf(ownedNow(), first?.owned) };
      decided.set(`${cluster} ${epoch} ${sequence}`, { countedAt: world.time.elapsed(), ...judged });
      if (rest === 0) begun.delete(String(cluster));
      else begun.set(String(cluster), judged);
    }
    if (event.type !== 'departed') return;
    const at = address(event.cluster, event.delta);
    departures.set(at, now(event.process, decided.get(at)));
  });
  // Listens after the listener above, so that a delta is counted after its departure.
  const holdings = followHoldings(world);
  return (cluster, delta) => departures.get(address(cluster, delta)) ?? now('', undefined);
}

/**
 * Returns how many objects of a cluster have gone in deltas that a server had not written to its store when it ended: the next one
 * counts them as owned, until the agent has told it what it holds.
 */
function followForgotten(world: World): (cluster: string) => number {
  const unwritten = followUnwritten(world);
  const sent: { readonly process: string; readonly at: number; readonly cluster: string; readonly removals: number }[] =
    [];
  const forgotten = new Map<string, number>();
  world.listen((event) => {
    if (event.type === 'departed') {
      const { process, cluster, delta } = event;
      sent.push({ process, at: world.time.elapsed(), cluster: cluster.name, removals: delta.removals.length });
    }
    if (event.type === 'connected') forgotten.delete(event.cluster.name);
    if (event.type !== 'died') return;
    const written = unwritten.since(event.process);
    for (const { process, at, cluster, removals } of sent) {
      if (process !== event.process || at < written) continue;
      forgotten.set(cluster, (forgotten.get(cluster) ?? 0) + removals);
    }
  });
  return (cluster) => forgotten.get(cluster) ?? 0;
}

/** Returns the bounds that hold at both moments. */
function spanOf(owned: Departure['owned'], earlier: Departure['owned'] = owned): Departure['owned'] {
  return new Map(
    [...owned].map(([name, { most, least }]) => {
      const then = earlier.get(name) ?? { most, least };
      return [name, { most: Math.max(most, then.most), least: Math.min(least, then.least) }];
    }),
  );
}

/** What is wrong with all that went within the window that ends with this step. */
function problems(gone: readonly Gone[], end: Gone): readonly string[] {
  const { limits } = end;
  const since = Math.max(end.forgotten, end.at - limits.windowSeconds * 1_000);
  const recent = gone.filter(({ countedAt, order }) => countedAt > since && order <= end.order);
  const judged = [
    { whose: 'cluster', where: end.cluster, clusters: [end.cluster] },
    { whose: 'fleet', where: 'the fleet', clusters: end.declared },
  ] as const;
  return judged.flatMap(({ whose, where, clusters }) => {
    const counted = whose === 'fleet' ? recent : recent.filter(({ cluster }) => cluster === end.cluster);
    const removed = sumOf(counted);
    const before = removed - end.removals;
    // What has gone since they were judged was owned then.
    const since = sumOf(counted.filter(({ order }) => order > end.judgedAfter)) - end.removals;
    const owned = {
      most: before + total(clusters.map((name) => end.owned.get(name)?.most ?? 0)),
      least: before - since + total(clusters.map((name) => end.owned.get(name)?.least ?? 0)),
    };
    const why = excess({ removed, owned }, limits, whose);
    return why === undefined ? [] : [`${removed} removals in ${where} within ${limits.windowSeconds} s, ${why}`];
  });
}

function sumOf(steps: readonly Gone[]): number {
  return total(steps.map(({ removals }) => removals));
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
