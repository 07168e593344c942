import type { AttemptRequest } from '../engine/inputs.ts';
import { isUnsettled } from '../engine/output/tries.ts';
import { compareText } from '../model/json.ts';
import type { ObjectKey } from '../model/object-key.ts';
import type { ServerCore } from './core.ts';
import { recordKey, recordShape } from './ledger/records.ts';
import { createSharedInput } from './shared-input.ts';

/** The last requests for single objects of a cluster that are kept. */
const MOST_OBJECTS = 1_000;

export type Attempts = ReturnType<typeof createAttempts>;

/** Remembers for which objects people have asked for another attempt. Every replica stages it, since each serves agents. */
export function createAttempts(core: ServerCore) {
  const { engine, clock, records, log } = core;
  const { attempts: input, results } = engine.inputs;
  const requests = createSharedInput<AttemptRequest, AttemptRequest>(core, {
    prefix: recordKey.attempts(''),
    shape: recordShape.attempts,
    input,
    records: records.attempts,
    staged: (value) => value,
  });
  return {
    /**
     * Asks for another attempt of this object, or of all that could not be applied or removed. Returns the objects that it is about;
     * if there are none, nothing is asked.
     */
    ask: (cluster: string, object: ObjectKey | undefined, by: string): readonly ObjectKey[] => {
      const open = [...results.latestEntries(cluster)].filter(({ value }) => isUnsettled(value)).map(({ key }) => key);
      const asked = object === undefined ? open.sort(compareText) : open.filter((key) => key === object);
      if (asked.length === 0) return [];
      for (const [name] of [...requests.entries()]) {
        if (engine.clusters.get('', name) === undefined) requests.delete(name);
      }
      requests.set(cluster, withRequest(requests.get(cluster), object, clock.now()));
      log.info('another attempt is asked for', { cluster, objects: asked.length, by });
      return asked as ObjectKey[];
    },
    /** Of the last request for this cluster. */
    receipt: requests.receipt,
    /** Ends the reading of what other replicas write. */
    stop: requests.follow(),
  };
}

/** Adds a request. Its time is higher than those of earlier requests, also if the clock was set back. */
function withRequest(
  { all = 0, objects }: AttemptRequest = { objects: {} },
  object: ObjectKey | undefined,
  now: number,
): AttemptRequest {
  const at = Math.max(now, all + 1, ...Object.values(objects).map((each) => each + 1));
  if (object === undefined) return { all: at, objects: {} };
  const others = Object.entries(objects).filter(([key]) => key !== object);
  const kept = others.sort(([, a], [, b]) => a - b).slice(1 - MOST_OBJECTS);
  return { ...(all === 0 ? {} : { all }), objects: Object.fromEntries([...kept, [object, at]]) };
}
