import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { readableAgain, type Vector, wantedBy } from '../oracle.ts';
import type { World } from '../world.ts';
import type { Holdings } from './holdings.ts';

/** Removals that the guards of the one server may have let pass, and that wait for the last delta of a large change. */
export interface WaitingRemovals {
  /**
   * Whether this removal began to wait after that moment. The guards have counted it then, and judge it again only under tighter
   * limits, which the checker of the guards looks at.
   */
  hasPassed(cluster: string, key: ObjectKey, since: number): boolean;
}

/** `latest`: what the server has seen of its sources; `isHeld`: the checker knows that a guard holds the removal. */
export function followWaitingRemovals(
  world: World,
  holdings: Holdings,
  latest: () => Vector,
  isHeld: (cluster: string, key: ObjectKey) => boolean,
): WaitingRemovals {
  /** By cluster and key: when a delta left that had no room for the removal. */
  const waiting = new Map<string, Map<ObjectKey, number>>();
  const of = (cluster: string): Map<ObjectKey, number> => {
    const known = waiting.get(cluster) ?? new Map<ObjectKey, number>();
    waiting.set(cluster, known);
    return known;
  };
  world.listen((event) => {
    if (event.type === 'log' && event.line.message === 'a delta is sent' && event.line.data.rest !== 0) {
      const cluster = String(event.line.data.cluster);
      const wanted = wantedBy(readableAgain(latest())).clusters.get(cluster);
      const isRemoval = (key: ObjectKey): boolean => wanted?.has(key) === false && !isHeld(cluster, key);
      for (const key of holdings.held(cluster)) if (isRemoval(key)) of(cluster).set(key, world.time.elapsed());
    }
    if (event.type !== 'taken') return;
    const { upserts, touches, removals } = event.delta;
    const named = [...upserts, ...touches].map(({ key }) => key).concat(removals);
    for (const key of named) of(event.cluster.name).delete(key);
  });
  return { hasPassed: (cluster, key, since) => (of(cluster).get(key) ?? Number.NEGATIVE_INFINITY) > since };
}
