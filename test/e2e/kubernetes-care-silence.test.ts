import { afterAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import { until } from '../support/fleet-processes.ts';
import { openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { clusterYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const files = {
  'clusters/blue/cluster.yaml': clusterYaml('blue'),
  'fleet/policy.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec: { care: { syncPeriod: 10m, conditionThresholds: [{ type: APIServerAvailable, duration: 2s }] } }
`,
  'fleet/shoot.yaml': `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: { name: blue, namespace: garden-web }
spec: { purpose: production, kubernetes: { version: 1.33.2 }, provider: { type: local } }
`,
};

describe.skipIf(noProgram('kube-apiserver'))('the care of a Shoot whose API server falls silent', () => {
  const pool = openKubernetesPool({ access: ['care'] });
  let fleet: KubernetesFleet;
  afterAll(async () => {
    await fleet?.stop();
    await pool.stop();
  });
  const conditionOf = (type: string): JsonObject | undefined => {
    const file = objectOf(fleet.statusFile('shoots/garden-web/blue.yaml') as JsonObject | undefined);
    return objectsOf(objectOf(file.status).conditions).find((each) => each.type === type);
  };
  const becomes = (status: string): Promise<JsonObject> =>
    until(`APIServerAvailable is ${status}, and was ${JSON.stringify(conditionOf('APIServerAvailable'))}`, () => {
      const found = conditionOf('APIServerAvailable');
      return found?.status === status ? found : undefined;
    });

  it('is reported by the agent, though it loses its Lease with it, and so is the recovery', async () => {
    fleet = await startKubernetesFleet(pool, files);
    await fleet.agent('blue').start();
    await becomes('True');
    const { plane } = await fleet.cluster('blue');
    plane.signalApiServer('SIGSTOP');
    try {
      const failed = await becomes('False');
      expect(failed.reason).toBe('HealthzRequestFailed');
      expect(textOf(failed.message)).toMatch(/\[response_time:1\d{4}ms\] \(no answer within 10000 ms\)$/);
    } finally {
      plane.signalApiServer('SIGCONT');
    }
    await becomes('True');
  });
});
