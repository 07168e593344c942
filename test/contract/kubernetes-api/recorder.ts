import type { KindListener } from '../../../src/adapters/kubernetes/api/types.ts';
import { type ObjectKey, objectRefOf } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';

/** What a listener knows when it does as the interface says. */
export interface Recorder extends KindListener {
  /** Objects by `namespace/name`. */
  readonly objects: ReadonlyMap<string, JsonObject>;
  /** Each call in a word: `listing`, `+name`, `-name` (a watch said so), `gone name` (a list did not name it) ... */
  readonly calls: string[];
  readonly states: string[];
  /** Lists that came to their end. */
  lists(): number;
}

export function createRecorder(): Recorder {
  const objects = new Map<string, JsonObject>();
  const keys = new Map<string, ObjectKey>();
  const calls: string[] = [];
  const states: string[] = [];
  let listing = false;
  return {
    objects,
    calls,
    states,
    lists: () => calls.filter((call) => call === 'listed').length,
    keys: () => keys.values(),
    listing() {
      if (listing) throw new Error('a list begins within a list');
      listing = true;
      calls.push('listing');
    },
    upsert(key, object) {
      const name = nameOf(key);
      keys.set(name, key);
      objects.set(name, object);
      calls.push(`+${name}`);
    },
    gone(key, object) {
      const name = nameOf(key);
      keys.delete(name);
      objects.delete(name);
      calls.push(object === undefined ? `gone ${name}` : `-${name}`);
    },
    listEnded(complete) {
      if (!listing) throw new Error('a list ends that has not begun');
      listing = false;
      calls.push(complete ? 'listed' : 'listFailed');
    },
    state(state, message) {
      states.push(message === '' ? state : `${state}: ${message}`);
    },
  };
}

function nameOf(key: ObjectKey): string {
  const { namespace, name } = objectRefOf(key);
  return namespace === '' ? name : `${namespace}/${name}`;
}
