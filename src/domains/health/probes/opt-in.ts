import { type JsonObject, objectOf } from '../../../model/text/json.ts';

/** Label of a Namespace or Pod: `enabled` lets the webhook rewrite Pods, `disabled` on a Pod keeps it as it is. */
export const PROBE_PROXY_LABEL = 'fleetrelay.dev/probe-proxy';

/** Whether the label of a Pod or Pod template keeps its probes as they are. */
export function isOptedOut({ metadata }: JsonObject): boolean {
  return objectOf(objectOf(metadata).labels)[PROBE_PROXY_LABEL] === 'disabled';
}
