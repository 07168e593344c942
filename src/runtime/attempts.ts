import type { Engine } from '../engine/graph.ts';
import type { AttemptRequest } from '../engine/inputs.ts';
import { isUnsettled } from '../engine/output/tries.ts';
import type { ObjectKey } from '../model/objects/object-key.ts';
import { compareText } from '../model/text/json.ts';
import type { ServerCore } from './core.ts';
import type { SharedRecord } from './ledger/records.ts';
import { fields, isTime, mapOf } from './ledger/shapes.ts';
import { createSharedInput } from './shared-input.ts';

/** The last requests for single objects of a cluster that are kept. */
const MOST_OBJECTS = 1_000;

/** Attempts that people have asked for, by cluster. */
export const attemptRecords: SharedRecord = {
  prefix: 'attempts/',
  shape: fields({ objects: mapOf(isTime) }),
};

export type Attempts = ReturnType<typeof createAttempts>;

/** Remembers the objects for which people have asked for another attempt. Every replica stages them, since each serves agents. */
export function createAttempts(core: ServerCore) {
  const { engine, clock, log } = core;
  const { attempts: input, results } = engine.inputs;
  const requests = createSharedInput<AttemptRequest, AttemptRequest>(core, attemptRecords, {
    input,
    staged: (value) => value,
  });
  return {
    /**
     * Asks for another attempt of this object, or of all that could not be applied or removed. Returns the objects that it is about;
     * if there are none, nothing is asked.
     */
    ask: (cluster: string, object: ObjectKey | undefined, by: string): readonly ObjectKey[] => {
      const asked = [...results.latestEntries(cluster)]
        .filter(({ key, value }) => isUnsettled(value) && (object === undefined || key === object))
        .sort((one, other) => compareText(one.key, other.key));
      if (asked.length === 0) return [];
      for (const [name] of [...requests.entries()]) {
        if (engine.clusters.get('', name) === undefined) requests.delete(name);
      }
      // An object is tried again if it has failed before the request, also if that was in the same millisecond.
      const later = asked.reduce((at, { value: { since = 0 } }) => Math.max(at, since + 1), clock.now());
      requests.set(cluster, withRequest(requests.get(cluster), object, later));
      log.info('another attempt is asked for', { cluster, objects: asked.length, by });
      return asked.map(({ key }) => key as ObjectKey);
    },
    /** Of the last request for this cluster. */
    receipt: requests.receipt,
    /** Ends the reading of what other replicas write. */
    stop: requests.follow(),
  };
}

/**
 * Why the agent of a cluster does not try an object at once although a person has asked for it; undefined: it does. The request
 * counts once the reason has ended.
 */
export function whyNotTried({ outputs, inputs, domains }: Engine, cluster: string, key: ObjectKey): string | undefined {
  const output = outputs.get(cluster, key);
  switch (output?.type) {
    case 'object':
      if (output.digest !== inputs.results.get(cluster, key)?.digest)
        return 'its content has changed since it failed: the agent tries the new content when it has arrived';
      return output.stopped === true ? whyStopped(domains, cluster, key) : undefined;
    case 'removing':
      return undefined;
    case 'remove':
      return 'it is to be removed: the agent tries that when the removal has arrived';
    case 'keep':
    case 'held':
    case 'absent':
      return `it stays as it is (${output.reason}: ${output.message})`;
    case 'left':
    case undefined:
      return 'it is not declared any more';
  }
}

/** What the domain says that stops the object. */
function whyStopped(domains: Engine['domains'], cluster: string, key: ObjectKey): string | undefined {
  const all = domains.flatMap(({ parts }) => parts.makes?.tries ?? []);
  return all.find((tries) => tries.of.get(cluster, key)?.stopped === true)?.whyStopped;
}

/** Adds a request. Its time is later than the time of any earlier request, also if the clock was set back. */
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
