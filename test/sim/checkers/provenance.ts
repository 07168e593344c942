import type { ObjectMeta } from '../../../src/model/fleet/output.ts';
import { declares, wantedBy } from '../oracle.ts';
import { followAdmitted } from './admitted.ts';
import { isHostile, type MakeChecker } from './checker.ts';

/** Everything that is sent says where it comes from, and there it is; everything that a server means to do says it too. */
export const provenance: MakeChecker = (world, fail) => {
  const admitted = followAdmitted(world);
  world.listen((event) => {
    if (event.type !== 'offered' || isHostile(world, event.cluster)) return;
    const { delta, cluster } = event;
    const vector = admitted.vector(delta.revisions) ?? [];
    const { doubtful } = wantedBy(vector);
    const judge = ({ key, origins }: ObjectMeta & { readonly key: string }): void => {
      if (origins.length === 0) fail(`${key} comes to ${cluster.name} from nowhere`);
      for (const [index, origin] of origins.entries()) {
        // Another source that wanted the object may still want it until that source is completely known.
        if (declares(vector, origin, key) || (index > 0 && doubtful.has(origin.source))) continue;
        fail(`${key} comes to ${cluster.name} from ${origin.source}:${origin.path}, where it is not`);
      }
    };
    for (const upsert of delta.upserts) judge(upsert);
    for (const touch of delta.touches) judge(touch);
  });
  return {
    name: 'provenance',
    atRest: () => {
      for (const { life } of world.servers) {
        const outputs = life()?.server?.api.outputs(undefined) ?? [];
        for (const { cluster, object, origins } of outputs) {
          if (origins.length === 0 && cluster !== world.hostile?.cluster.name)
            fail(`${object} in ${cluster} has no known origin`);
        }
      }
    },
  };
};
