import { pick } from '../../../../adapters/kubernetes/cluster/live/pick.ts';
import { metadataOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf } from '../../../../model/text/json.ts';

const SUBSCRIPTION: readonly string[] = ['connectTime', 'disconnectTime'];

/** Leaves in a DataplaneInsight when its subscriptions began and ended. Objects of other kinds stay as they are. */
export function trimInsight(value: JsonObject): JsonObject {
  if (value.kind !== 'DataplaneInsight' || value.apiVersion !== 'kuma.io/v1alpha1') return value;
  // The generation grows with each heartbeat: the kind has no status subresource.
  const { generation: _generation, ...metadata } = metadataOf(value);
  const { subscriptions } = objectOf(value.status);
  return {
    ...pick(value, ['apiVersion', 'kind', 'mesh']),
    metadata,
    // Without counters and the times of heartbeats.
    status: { subscriptions: objectsOf(subscriptions).map((one) => pick(one, SUBSCRIPTION)) },
  };
}
