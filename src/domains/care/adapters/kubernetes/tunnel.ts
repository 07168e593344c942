import { resourcePath } from '../../../../adapters/kubernetes/api/paths.ts';
import type { KubeClient } from '../../../../adapters/kubernetes/api/types.ts';
import { metadataOf } from '../../../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../../../model/text/json.ts';
import { cutText } from '../../../../model/text/messages.ts';
import type { TunnelTest } from '../../ports/care-api.ts';

const NAMESPACE = 'kube-system';
const PODS = { group: '', version: 'v1', resource: 'pods' };
/** Source: the tunnel check of Gardener. */
const SELECTOR = { labelSelector: 'type=tunnel', resourceVersion: '0' };
const SPDY = { protocol: 'SPDY/3.1', headers: { 'x-stream-protocol-version': 'portforward.k8s.io' } };
const MOST_TEXT = 2_048;
const MOST_BYTES = 16_384;

/**
 * Opens a port-forward to the first running tunnel Pod and closes it again. The API server changes the protocol only when the
 * kubelet has accepted, and reaches the kubelet through the tunnel: so no port of the Pod has to be known. Source: the tunnel
 * check of Gardener, which waits for the same and sends nothing either.
 */
export async function testTunnel(client: KubeClient, timeoutMs: number): Promise<TunnelTest> {
  const listed = await client.request({
    method: 'GET',
    path: resourcePath({ resource: PODS, namespace: NAMESPACE }),
    query: SELECTOR,
    timeoutMs,
  });
  if (listed.type === 'unreachable') return { type: 'unanswered' };
  const pod = listed.type === 'ok' ? runningPod(listed.body) : undefined;
  if (pod === undefined) return { type: 'none' };
  const answer = await client.request({
    method: 'POST',
    path: resourcePath({ resource: PODS, namespace: NAMESPACE, name: pod, subresource: 'portforward' }),
    upgrade: SPDY,
    textOfBytes: MOST_BYTES,
    timeoutMs,
  });
  if (answer.type !== 'ok') {
    const error = answer.type === 'refused' ? answer.refusal.message : answer.message;
    return { type: 'failed', pod, error: cutText(error, MOST_TEXT) };
  }
  if (answer.status === 101) return { type: 'connected', pod };
  // The API server has too many requests, and did not try.
  if (answer.status === 429) return { type: 'unanswered' };
  // The agent was given no right to test the tunnel.
  if (answer.status === 403) return { type: 'none' };
  return { type: 'failed', pod, error: cutText(messageOf(answer.status, textOf(answer.body.text)), MOST_TEXT) };
}

function runningPod(list: JsonObject): string | undefined {
  const running = objectsOf(list.items).filter(
    ({ metadata, status }) =>
      objectOf(status).phase === 'Running' && objectOf(metadata).deletionTimestamp === undefined,
  );
  const [first] = running.map((pod) => textOf(metadataOf(pod).name)).sort();
  return first;
}

/** The message of a `Status`, or the text itself. */
function messageOf(status: number, text: string): string {
  const value = parseJson(text);
  const message = isJsonObject(value) ? textOf(value.message) : text.trim();
  return message === '' ? `HTTP status ${status}` : message;
}
