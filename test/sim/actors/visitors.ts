import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { Dice } from '../core/dice.ts';
import type { ObjectDoc } from '../desired.ts';
import { keyOfObject, valueOfObject } from '../desired.ts';
import type { SimCluster } from '../ports/cluster.ts';
import type { World } from '../world.ts';

/** A person changes an object in a cluster by hand; returns the kind of change in a word. */
export function visitCluster({ agents, note }: World, dice: Dice): string {
  const { cluster } = dice.pick(agents);
  const object: ObjectDoc = {
    kind: 'ConfigMap',
    namespace: dice.pick(['shop', 'web']),
    name: `c${dice.int(12)}`,
    data: `hand${dice.int(1_000)}`,
  };
  const key = keyOfObject(object) as ObjectKey;
  const what = dice.pick(['edits', 'edits', 'removes', 'creates', 'lets go']);
  note(`a person ${what} ${key} in ${cluster.name}`);
  visit(cluster, what, key, object);
  return what;
}

function visit({ memory, foreign }: SimCluster, what: string, key: ObjectKey, object: ObjectDoc): void {
  const live = memory.objects.get(key);
  const isOurs = live?.stamp !== undefined;
  switch (what) {
    case 'edits':
      if (isOurs) memory.personPuts(key, valueOfObject(object), 'keep');
      return;
    case 'removes':
      if (isOurs) memory.personRemoves(key);
      return;
    case 'creates': {
      if (live !== undefined) return;
      const value = valueOfObject(object);
      foreign.set(key, value);
      memory.personPuts(key, value, 'drop');
      return;
    }
    case 'lets go':
      if (!foreign.delete(key)) return;
      memory.personRemoves(key);
      return;
  }
}
