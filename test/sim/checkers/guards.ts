import { displayKey } from '../../../src/model/object-key.ts';
import type { SequencedDelta } from '../../../src/model/output.ts';
import { wantedBy } from '../oracle.ts';
import type { SimCluster } from '../ports/cluster.ts';
import type { World } from '../world.ts';
import { followAdmitted } from './admitted.ts';
import type { MakeChecker } from './checker.ts';
import { followHoldings } from './holdings.ts';
import { followLeave } from './leave.ts';
import { excess, type Limits, limitsAt, type Owned } from './limits.ts';
import { followUnwritten } from './unwritten.ts';

/** How a delta has left its server. */
interface Departure {
  readonly at: number;
  /** Which departure of the world it was. */
  readonly order: number;
  readonly process: string;
  /** What each cluster owned then. */
  readonly owned: ReadonlyMap<string, Owned>;
}

/** What went, and nobody had approved. */
interface Gone extends Departure {
  readonly cluster: string;
  readonly removals: number;
  readonly limits: Limits;
  /** Clusters of the fleet at the revision that it came from. */
  readonly declared: readonly string[];
}

/**
 * Nobody removes more than the guards let pass: what was not approved, with what went within the window, stays below the
 * limits of the policy, by count and by percentage, for one cluster and for the fleet; a Namespace goes only with a
 * person's leave.
 */
export const guards: MakeChecker = (world, fail) => {
  const admitted = followAdmitted(world);
  const leave = followLeave(world);
  const unwritten = followUnwritten(world);
  const departureOf = followDepartures(world);
  let gone: readonly Gone[] = [];
  let lastWindow = Number.POSITIVE_INFINITY;

  const judge = (cluster: SimCluster, delta: SequencedDelta): void => {
    const departure = departureOf(cluster, delta);
    const named = delta.removals.map((key) => ({ key, object: displayKey(key) }));
    const counted = named.filter(({ object }) => !leave.use(cluster.name, object, departure.at));
    leave.taken(cluster.name, delta, departure.at);
    if (counted.length === 0) return;
    for (const { key, object } of counted) {
      if (key.startsWith('/Namespace/')) fail(`${object} is removed in ${cluster.name}, and nobody approved it`);
    }
    const vector = admitted.vector(delta.revisions) ?? [];
    const declared = [...wantedBy(vector).clusters.keys()];
    const limits = limitsAt(vector);
    const step: Gone = { ...departure, cluster: cluster.name, removals: counted.length, limits, declared };
    gone = [...gone, step];
    // Deltas do not arrive in the order in which they left.
    for (const end of gone) {
      if (end.order < step.order) continue;
      for (const trouble of troubles(gone, end)) fail(trouble);
    }
  };

  world.listen((event) => {
    switch (event.type) {
      case 'died': {
        // What a server had not yet written down when it ended, nobody remembers.
        const written = unwritten.since(event.process);
        gone = gone.filter(({ process, at }) => process !== event.process || at < written);
        return;
      }
      case 'observed': {
        // What is older than the window of a policy is forgotten, also if the next one has a longer window.
        const { source, revision } = event.said;
        if (source !== world.repositories[0]?.source) return;
        const main = admitted.vector([{ source, revision }])?.filter(({ read }) => read);
        const { windowSeconds } = limitsAt(main ?? []);
        const oldest = world.time.elapsed() - Math.min(windowSeconds, lastWindow) * 1_000;
        gone = gone.filter(({ at }) => at > oldest);
        lastWindow = windowSeconds;
        return;
      }
      case 'taken':
        judge(event.cluster, event.delta);
        return;
      case 'storeLost':
        // What went lately is remembered nowhere else.
        gone = [];
        return;
      default:
        return;
    }
  });
  return { name: 'guards' };
};

/** How each delta has left its server; one that nobody saw leave has left now. */
function followDepartures(world: World): (cluster: SimCluster, delta: SequencedDelta) => Departure {
  const departures = new Map<string, Departure>();
  let order = 0;
  const address = ({ name }: SimCluster, { position }: SequencedDelta): string =>
    `${name} ${position.epoch} ${position.sequence}`;
  const now = (process: string): Departure => {
    const names = world.agents.map(({ cluster }) => cluster.name);
    const owned = names.map((name) => [name, { most: holdings.most(name), least: holdings.least(name) }] as const);
    order += 1;
    return { at: world.time.elapsed(), order, process, owned: new Map(owned) };
  };
  world.listen((event) => {
    if (event.type !== 'departed') return;
    departures.set(address(event.cluster, event.delta), now(event.process));
  });
  // Hears of a delta after it was looked at what there was before it.
  const holdings = followHoldings(world);
  return (cluster, delta) => departures.get(address(cluster, delta)) ?? now('');
}

/** What is wrong with all that went within the window that ends with this step. */
function troubles(gone: readonly Gone[], end: Gone): readonly string[] {
  const { limits } = end;
  const recent = gone.filter(({ at, order }) => at > end.at - limits.windowSeconds * 1_000 && order <= end.order);
  const judged = [
    { whose: 'cluster', where: end.cluster, clusters: [end.cluster] },
    { whose: 'fleet', where: 'the fleet', clusters: end.declared },
  ] as const;
  return judged.flatMap(({ whose, where, clusters }) => {
    const removed = sumOf(whose === 'fleet' ? recent : recent.filter(({ cluster }) => cluster === end.cluster));
    const before = removed - end.removals;
    const owned = {
      most: before + total(clusters.map((name) => end.owned.get(name)?.most ?? 0)),
      least: before + total(clusters.map((name) => end.owned.get(name)?.least ?? 0)),
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
