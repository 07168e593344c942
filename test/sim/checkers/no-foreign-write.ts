import type { MakeChecker } from './checker.ts';

/** What people have made in a cluster stays as they left it. */
export const noForeignWrite: MakeChecker = (world, fail) => {
  const check = (): void => {
    for (const { cluster } of world.agents) {
      for (const [key, value] of cluster.foreign) {
        const live = cluster.memory.objects.get(key);
        if (live?.stamp !== undefined || live?.value !== value)
          fail(`${key} of a person was touched in ${cluster.name}`);
      }
    }
  };
  world.listen((event) => {
    if (event.type === 'wrote') check();
  });
  return { name: 'no foreign write', atRest: check };
};
