import { AGENT_LABELS } from '../../adapters/kubernetes/agent-labels.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';

/** An object of an installed agent, with our labels. `namespace`: undefined for a kind without Namespaces. */
export function agentObject(
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string | undefined,
  content: JsonObject = {},
): JsonObject {
  const place = given({ namespace });
  return { apiVersion, kind, metadata: { name, ...place, labels: AGENT_LABELS }, ...content };
}
