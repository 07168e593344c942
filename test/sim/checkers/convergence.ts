import { jsonEquals } from '../../../src/model/text/json.ts';
import { valueOfObject } from '../desired.ts';
import { type Wish, wantedBy } from '../oracle.ts';
import type { World } from '../world.ts';
import { isHostile, type MakeChecker } from './checker.ts';

/** Once everything is quiet, every declared cluster holds what the tips of the repositories want there, and nothing else of ours. */
export const convergence: MakeChecker = (world, fail) => ({
  name: 'convergence',
  atRest: () => {
    for (const difference of differences(world)) fail(difference);
  },
});

/** How the clusters differ from what is wanted now. Where a person has an object, theirs stays. */
export function differences(world: World): readonly string[] {
  const { clusters } = wantedBy(world.repositories.map(({ source, tree }) => ({ source, tree: tree(), read: true })));
  return world.agents.flatMap(({ cluster }) => {
    const wanted = clusters.get(cluster.name);
    if (wanted === undefined || isHostile(world, cluster)) return [];
    const { objects } = cluster.memory;
    const found: string[] = [];
    for (const [key, wishes] of wanted) {
      if ([...cluster.foreign.keys()].some((foreign) => foreign === key)) continue;
      const live = [...objects].find(([id]) => id === key)?.[1];
      if (live === undefined) found.push(`${cluster.name} lacks ${key}`);
      else if (!wishes.some(({ object }) => jsonEquals(valueOfObject(object), live.value))) {
        found.push(`${cluster.name} has another ${key}`);
      }
    }
    for (const [key, { stamp }] of objects) {
      if (stamp === undefined || cluster.letGo.has(key) || wanted.has(key) || isInUse(key, wanted)) continue;
      found.push(`${cluster.name} still has ${key}`);
    }
    return found;
  });
}

/** A Namespace stays while something in it is wanted. */
function isInUse(key: string, wanted: ReadonlyMap<string, readonly Wish[]>): boolean {
  const [, kind, , name] = key.split('/');
  return kind === 'Namespace' && [...wanted.values()].some(([wish]) => wish?.object.namespace === name);
}
