import { type JsonObject, objectsOf, textOf } from '../../../../model/json.ts';
import { timeOf } from '../../../../model/object-health/health.ts';
import { type HealthFacts, type Judgement, judgeObject } from '../../../../model/object-health/object-health.ts';
import { isUnschedulable, SCALING_UP_MS } from '../../../../model/object-health/pods.ts';
import { metadataOf } from '../../../../model/object-key.ts';
import { resourcePath } from '../../api/paths.ts';
import type { FollowerDeps } from '../../api/types.ts';

/** By these events an autoscaler says that it adds a node for a Pod: the Cluster Autoscaler and Karpenter. */
const ADDS_NODE: readonly string[] = ['TriggeredScaleUp', 'Nominated'];
const EVENTS = { group: '', version: 'v1', resource: 'events' };
const MOST_EVENTS = 100;
const ASK_MS = 5_000;
/** An autoscaler can begin later than the first look: it is looked for again after that time. */
const NEXT_LOOK_MS = 30_000;

/**
 * Judges Pods that no node can take, for which an autoscaler may be adding nodes. Its events are looked for when the first
 * deadline of the Pod passes. An agent that may not list events judges such a Pod as if there were no autoscaler.
 */
export function createScaleUps({ client, clock, log }: Pick<FollowerDeps, 'client' | 'clock' | 'log'>) {
  /** What was found for a Pod, by UID. */
  const looked = new Map<string, { readonly scalesUp: boolean; readonly nextLook: number }>();
  return {
    judge,
    look,
    /** The Pod is scheduled, or gone. */
    forget: (uid: string): void => {
      looked.delete(uid);
    },
  };

  /** Judges a Pod that is unschedulable. */
  function judge(raw: JsonObject, checks: HealthFacts['checks']): Judgement {
    const known = looked.get(uidOf(raw));
    const facts = checks === undefined ? {} : { checks };
    // Its deadline counts only after its events were looked for.
    if (known === undefined) return judgeObject(raw, { ...facts, now: 0 });
    const { scalesUp, nextLook } = known;
    const created = timeOf(metadataOf(raw).creationTimestamp) ?? 0;
    const since = scalesUp ? { scalesUpSince: created } : {};
    const judged = judgeObject(raw, { ...facts, ...since, now: clock.now() });
    return scalesUp || nextLook > created + SCALING_UP_MS ? judged : { again: nextLook, ...judged };
  }

  /** Looks for an autoscaler that adds nodes for this object, if it is a Pod that needs one. Never rejects. */
  async function look(raw: JsonObject): Promise<void> {
    const uid = uidOf(raw);
    if (!isUnschedulable(raw) || looked.get(uid)?.scalesUp === true) return;
    const answer = await client.request({
      method: 'GET',
      path: resourcePath({ resource: EVENTS, namespace: textOf(metadataOf(raw).namespace) }),
      query: { fieldSelector: `involvedObject.uid=${uid}`, limit: String(MOST_EVENTS) },
      timeoutMs: ASK_MS,
    });
    if (answer.type !== 'ok') log.debug('events of an unschedulable pod cannot be listed', { uid, answer });
    const events = answer.type === 'ok' ? objectsOf(answer.body.items) : [];
    const scalesUp = events.some(({ reason }) => ADDS_NODE.includes(textOf(reason)));
    looked.set(uid, { scalesUp, nextLook: clock.now() + NEXT_LOOK_MS });
  }
}

function uidOf(raw: JsonObject): string {
  return textOf(metadataOf(raw).uid);
}
