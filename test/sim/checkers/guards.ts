import { displayKey } from '../../../src/model/object-key.ts';
import type { SequencedDelta } from '../../../src/model/output.ts';
import { limitsOf, type Vector } from '../oracle.ts';
import type { SimCluster } from '../ports/cluster.ts';
import { followAdmitted } from './admitted.ts';
import type { MakeChecker } from './checker.ts';

interface Limits {
  readonly maxRemovalsPerCluster: number;
  readonly maxRemovalsPerFleet: number;
  readonly windowSeconds: number;
}

const DEFAULTS: Limits = { maxRemovalsPerCluster: 10, maxRemovalsPerFleet: 50, windowSeconds: 600 };

/** What is to be remembered is in the store after this time, if it can be written. */
const WRITE_MS = 1_000;

/**
 * Nobody removes more than the guards let pass: what was not approved, with what went within the window, stays below the
 * limits of the policy, for one cluster and for the fleet; a Namespace goes only with a person's leave.
 */
export const guards: MakeChecker = (world, fail) => {
  const admitted = followAdmitted(world);
  /** By `cluster object`: when. */
  const approved = new Map<string, number>();
  const departures = new Map<string, { readonly at: number; readonly process: string }>();
  /** By process: since when it cannot write to its store. */
  const troubled = new Map<string, number>();
  let gone: { readonly cluster: string; readonly at: number; readonly process: string; readonly removals: number }[] =
    [];

  const departureOf = ({ name }: SimCluster, { position }: SequencedDelta) =>
    departures.get(`${name} ${position.epoch} ${position.sequence}`) ?? { at: world.time.elapsed(), process: '' };

  const judge = (cluster: SimCluster, delta: SequencedDelta): void => {
    const { removals, revisions } = delta;
    const named = removals.map((key) => ({ key, object: displayKey(key) }));
    const counted = named.filter(({ object }) => !approved.delete(`${cluster.name} ${object}`));
    if (counted.length === 0) return;
    for (const { key, object } of counted) {
      if (key.startsWith('/Namespace/')) fail(`${object} is removed in ${cluster.name}, and nobody approved it`);
    }
    const { at, process } = departureOf(cluster, delta);
    const vector = admitted.vector(revisions) ?? [];
    const { maxRemovalsPerCluster, maxRemovalsPerFleet, windowSeconds } = limitsAt(vector);
    gone.push({ cluster: cluster.name, at, process, removals: counted.length });
    const recent = gone.filter((one) => one.at > at - windowSeconds * 1_000 && one.at <= at);
    const here = sumOf(recent.filter((one) => one.cluster === cluster.name));
    if (here > maxRemovalsPerCluster) {
      fail(`${here} removals in ${cluster.name} within ${windowSeconds} s: more than ${maxRemovalsPerCluster}`);
    }
    if (sumOf(recent) > maxRemovalsPerFleet) {
      fail(`${sumOf(recent)} removals in the fleet within ${windowSeconds} s: more than ${maxRemovalsPerFleet}`);
    }
  };

  world.listen((event) => {
    switch (event.type) {
      case 'log': {
        const { message, data, process } = event.line;
        const at = world.time.elapsed();
        if (message === 'a delta is sent')
          departures.set(`${data.cluster} ${data.epoch} ${data.sequence}`, { at, process });
        if (message === 'the store cannot be written') troubled.set(process, at);
        if (message === 'the store is written again') troubled.delete(process);
        return;
      }
      case 'died': {
        // What a server had not yet written down when it ended, nobody remembers.
        const written = (troubled.get(event.process) ?? world.time.elapsed()) - WRITE_MS;
        gone = gone.filter(({ process, at }) => process !== event.process || at < written);
        return;
      }
      case 'observed': {
        // What is older than the window of a policy is forgotten, also if the next one has a longer window.
        const { source, revision } = event.said;
        if (source !== world.repositories[0]?.source) return;
        const main = admitted.vector([{ source, revision }])?.filter(({ read }) => read);
        const { windowSeconds } = limitsAt(main ?? []);
        const oldest = world.time.elapsed() - windowSeconds * 1_000;
        gone = gone.filter(({ at }) => at > oldest);
        return;
      }
      case 'approved':
        for (const { cluster, object } of event.removals) approved.set(`${cluster} ${object}`, world.time.elapsed());
        return;
      case 'taken':
        judge(event.cluster, event.delta);
        for (const { key } of event.delta.upserts) {
          // What departed before somebody approved its removal says nothing of that.
          const address = `${event.cluster.name} ${displayKey(key)}`;
          if ((approved.get(address) ?? 0) < departureOf(event.cluster, event.delta).at) approved.delete(address);
        }
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

/** The loosest that may hold: what cannot be read holds as it was read last, by whoever read it. */
function limitsAt(vector: Vector): Limits {
  const isCertain = vector.every(({ tree, read }) => read && [...tree.values()].every(({ broken }) => !broken));
  if (isCertain) return limitsOf(vector) ?? DEFAULTS;
  return { maxRemovalsPerCluster: 10, maxRemovalsPerFleet: 50, windowSeconds: 30 };
}

function sumOf(steps: readonly { readonly removals: number }[]): number {
  return steps.reduce((sum, { removals }) => sum + removals, 0);
}
