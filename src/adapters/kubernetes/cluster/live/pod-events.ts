import { type Known, latestOf, timeOf } from '../../../../model/objects/object-health/health.ts';
import { metadataOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../../model/text/json.ts';
import { resourcePath } from '../../api/paths.ts';
import type { KubeClient } from '../../api/types.ts';

/** What events say of a Pod that no node can take. */
export type PodEvents = Pick<Known, 'unschedulableSince' | 'scalesUpSince'>;

/** The events of the Pods of a namespace, by UID, or why they are not known. */
export type SeenEvents = ReadonlyMap<string, PodEvents> | 'forbidden' | 'unreadable';

const EVENTS = { group: '', version: 'v1', resource: 'events' };
/** The scheduler finds no node. */
const UNSCHEDULABLE = 'FailedScheduling';
/** An autoscaler adds a node: the Cluster Autoscaler, Karpenter. */
const ADDS_NODE: readonly string[] = ['TriggeredScaleUp', 'Nominated'];
const PAGE = '500';
/** Further events of a namespace are not read. */
const MOST_PAGES = 4;
const ASK_MS = 5_000;

/**
 * Lists what the events of a namespace say of its Pods. One request a reason and page, however many Pods there are.
 * Never rejects.
 */
export async function listPodEvents(client: KubeClient, namespace: string, signal: AbortSignal): Promise<SeenEvents> {
  const found = new Map<string, PodEvents>();
  for (const reason of [UNSCHEDULABLE, ...ADDS_NODE]) {
    let next = '';
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const answer = await client.request({
        method: 'GET',
        path: resourcePath({ resource: EVENTS, namespace }),
        query: {
          fieldSelector: `involvedObject.kind=Pod,reason=${reason}`,
          limit: PAGE,
          ...(next === '' ? {} : { continue: next }),
        },
        timeoutMs: ASK_MS,
        signal,
      });
      if (answer.type === 'refused' && answer.status === 403) return 'forbidden';
      if (answer.type !== 'ok') return 'unreadable';
      for (const event of objectsOf(answer.body.items)) note(found, event);
      next = textOf(metadataOf(answer.body).continue);
      if (next === '') break;
    }
  }
  return found;
}

function note(found: Map<string, PodEvents>, event: JsonObject): void {
  const uid = textOf(objectOf(event.involvedObject).uid);
  const { unschedulableSince, scalesUpSince } = found.get(uid) ?? {};
  const { first, last } = timesOf(event);
  if (ADDS_NODE.includes(textOf(event.reason))) {
    found.set(uid, { unschedulableSince, scalesUpSince: latestOf([scalesUpSince, last]) });
  } else if (first !== undefined) {
    found.set(uid, { unschedulableSince: Math.min(first, unschedulableSince ?? first), scalesUpSince });
  }
}

/** The first and the last time of what an event reports. Which fields of an event have these times depends on the client that wrote it. */
function timesOf({ firstTimestamp, lastTimestamp, eventTime, series, metadata }: JsonObject) {
  const made = timeOf(objectOf(metadata).creationTimestamp);
  const first = timeOf(firstTimestamp) ?? timeOf(eventTime) ?? made;
  const last = latestOf([timeOf(objectOf(series).lastObservedTime), timeOf(lastTimestamp), first]);
  return { first, last };
}
