import type { JsonObject } from '../../src/model/text/json.ts';

/** A Deployment of a control plane with a role; it is healthy unless `status` says otherwise. */
export function controlPlaneComponent(role: string, status: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { generation: 2, labels: { 'gardener.cloud/role': role }, ...metadata },
    spec: { replicas: 1 },
    status: { observedGeneration: 2, conditions: [{ type: 'Available', status: 'True' }], ...status },
  };
}
