import { failed } from '../../../../model/objects/object-health/health.ts';
import {
  type HealthFacts,
  type Judgement,
  judgeObject,
} from '../../../../model/objects/object-health/object-health.ts';
import { SCALING_UP_MS } from '../../../../model/objects/object-health/pods.ts';
import { metadataOf, type ObjectKey } from '../../../../model/objects/object-key.ts';
import { type JsonObject, textOf } from '../../../../model/text/json.ts';
import type { FollowerDeps } from '../../api/types.ts';
import type { LiveEntry } from './entry.ts';
import type { PodEvents, SeenEvents } from './pod-events.ts';
import { createPodLooks } from './pod-looks.ts';

/** An autoscaler can begin later than the first look: it is looked for again after that time. */
const NEXT_LOOK_MS = 30_000;

/** What was found for one Pod. Times are in milliseconds since 1970. */
interface Looked {
  readonly events: PodEvents;
  /** When its events were read; undefined: they could not be. */
  readonly at: number | undefined;
  readonly nextLook: number;
  /** The agent may not list the events of the namespace. */
  readonly isForbidden: boolean;
}

/**
 * Judges Pods that no node can take, for which an autoscaler may be adding nodes. The events of their namespaces are looked at when
 * a deadline of such a Pod has passed. `entryOf` returns the Pod as it is now, and `judge` is called for Pods whose events were
 * looked at. An agent that may not list events judges such a Pod as if there were no autoscaler.
 */
export function createUnschedulablePods(
  deps: Pick<FollowerDeps, 'client' | 'clock' | 'log'>,
  entryOf: (key: ObjectKey) => LiveEntry | undefined,
  judge: (keys: Iterable<ObjectKey>) => void,
) {
  const { clock } = deps;
  /** By UID. */
  const looked = new Map<string, Looked>();
  const looks = createPodLooks(deps, seen);
  return {
    judgement,
    /** Looks at the events of the namespace of this Pod, and judges it again then. */
    look: looks.look,
    /** The Pod is scheduled, or gone. */
    forget: (uid: string): void => {
      looked.delete(uid);
    },
    close: looks.close,
  };

  /** Judges a Pod that is unschedulable. */
  function judgement(raw: JsonObject, facts: HealthFacts): Judgement {
    const { uid, namespace } = metadataOf(raw);
    const found = looked.get(textOf(uid));
    const known = { ...facts, ...found?.events };
    const now = clock.now();
    const before = judgeObject(raw, { ...known, now: Number.NEGATIVE_INFINITY });
    // Another rule decides, as for a Pod that is being deleted.
    if (before.again === undefined || now < before.again) return before;
    const deadline = before.again;
    if (found === undefined) return before;
    const isLate = now >= deadline + SCALING_UP_MS;
    const isSeen = found.at !== undefined && found.at >= deadline;
    if (!isSeen && !isLate) return { health: before.health, again: Math.max(deadline, found.nextLook) };
    const after = judgeObject(raw, { ...known, now });
    if (found.isForbidden) return { health: failed(`${after.health.message}; ${unseen(textOf(namespace))}`) };
    const looksOn = found.events.scalesUpSince === undefined && !isLate;
    return looksOn ? { ...after, again: found.nextLook } : after;
  }

  function seen(keys: ReadonlySet<ObjectKey>, events: SeenEvents): void {
    for (const key of keys) note(entryOf(key), events);
    judge(keys);
  }

  /** The Pod can be gone meanwhile, or another one under its key: then nothing would remove the note. */
  function note(entry: LiveEntry | undefined, events: SeenEvents): void {
    if (entry?.raw === undefined) return;
    const now = clock.now();
    const before = looked.get(entry.uid);
    looked.set(entry.uid, {
      events: typeof events === 'string' ? (before?.events ?? {}) : (events.get(entry.uid) ?? {}),
      at: events === 'unreadable' ? before?.at : now,
      nextLook: now + NEXT_LOOK_MS,
      isForbidden: events === 'forbidden',
    });
  }
}

function unseen(namespace: string): string {
  return `whether an autoscaler adds nodes is not known, because the agent may not list events in namespace ${namespace}`;
}
