import type { ReflectorListener } from '../../../src/adapters/kubernetes/api/types.ts';
import type { JsonObject } from '../../../src/model/json.ts';

/** What a listener knows when it does as the interface says. */
export interface Recorder extends ReflectorListener {
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
  const calls: string[] = [];
  const states: string[] = [];
  let named: Set<string> | undefined;
  return {
    objects,
    calls,
    states,
    lists: () => calls.filter((call) => call.startsWith('listed')).length,
    listing() {
      if (named !== undefined) throw new Error('a list begins within a list');
      named = new Set();
      calls.push('listing');
    },
    upsert(object) {
      const key = keyOf(object);
      named?.add(key);
      objects.set(key, object);
      calls.push(`+${key}`);
    },
    removed(object) {
      const key = keyOf(object);
      named?.delete(key);
      objects.delete(key);
      calls.push(`-${key}`);
    },
    listed(resourceVersion) {
      for (const key of [...objects.keys()]) {
        if (named?.has(key) === true) continue;
        objects.delete(key);
        calls.push(`gone ${key}`);
      }
      named = undefined;
      calls.push(`listed ${resourceVersion}`);
    },
    listFailed() {
      if (named === undefined) throw new Error('a list fails that has not begun');
      named = undefined;
      calls.push('listFailed');
    },
    state(state, message) {
      states.push(message === '' ? state : `${state}: ${message}`);
    },
  };
}

function keyOf(object: JsonObject): string {
  const { name, namespace } = object.metadata as { name: string; namespace?: string };
  return namespace === undefined ? name : `${namespace}/${name}`;
}
