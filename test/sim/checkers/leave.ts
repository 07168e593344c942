import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import { displayKey } from '../../../src/model/objects/object-key.ts';
import type { World, WrittenApproval } from '../world.ts';
import { followReleases } from './releases.ts';

/** The removals that people have approved, by hand or by a file: for one object of one cluster, once, for an hour. */
export interface Leave {
  isGiven(cluster: string, object: string, at: number): boolean;
  /** As {@link isGiven}, and uses it up. */
  use(cluster: string, object: string, at: number): boolean;
  /** A cluster has taken a delta that departed then: objects that it is given again have no removal permit any more. */
  taken(cluster: string, delta: SequencedDelta, departed: number): void;
}

const LIFE_MS = 60 * 60 * 1_000 + 1_000;
export function followLeave(world: World): Leave {
  /** By `cluster object`: when it was given. */
  const given = new Map<string, number>();
  const written = new Map<string, WrittenApproval>();
  const give = (removals: WrittenApproval['removals']): void => {
    for (const { cluster, object } of removals) given.set(`${cluster} ${object}`, world.time.elapsed());
  };
  const isGiven = (cluster: string, object: string, at: number): boolean => {
    const since = given.get(`${cluster} ${object}`);
    return since !== undefined && at < since + LIFE_MS;
  };
  world.listen((event) => {
    if (event.type === 'approved') give(event.removals);
    if (event.type === 'approvalWritten') written.set(event.name, event.approval);
  });
  // A file releases the removals that its author saw, also if a server were to release others; and each of them once.
  followReleases(world, ({ name, type }) => {
    if (type === 'first') give(written.get(name)?.removals ?? []);
  });
  return {
    isGiven,
    use: (cluster, object, at) => {
      const is = isGiven(cluster, object, at);
      given.delete(`${cluster} ${object}`);
      return is;
    },
    taken: (cluster, { upserts }, departed) => {
      for (const { key } of upserts) {
        const address = `${cluster} ${displayKey(key)}`;
        // A delta that departed before a person approved the removal does not end that approval.
        if ((given.get(address) ?? 0) < departed) given.delete(address);
      }
    },
  };
}
