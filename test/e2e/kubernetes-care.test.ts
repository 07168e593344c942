import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf } from '../../src/model/text/json.ts';
import { until } from '../support/fleet-processes.ts';
import { openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import {
  addNode,
  prepareSeed,
  prepareShootCluster,
  setAvailable,
  setReady,
} from '../support/kubernetes/gardener-objects.ts';
import { clusterYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const THRESHOLD_MS = 3_000;
const TYPES = [
  ...['APIServerAvailable', 'ControlPlaneHealthy', 'ObservabilityComponentsHealthy'],
  ...['SystemComponentsHealthy', 'EveryNodeReady'],
];
const policy = `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec:
  care:
    syncPeriod: 1s
    monitorPeriod: 2s
    conditionThresholds: [${TYPES.map((type) => `{ type: ${type}, duration: ${THRESHOLD_MS / 1_000}s }`).join(', ')}]
`;
const shoot = (more = '') => `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: { name: blue, namespace: garden-web }
spec:
  seedName: seed
  purpose: production
  kubernetes: { version: 1.33.2 }
  provider: { type: local, workers: [{ name: worker, minimum: 1, maximum: 1 }] }
${more}`;
const files = {
  'clusters/blue/cluster.yaml': clusterYaml('blue'),
  'clusters/seed/cluster.yaml': clusterYaml('seed'),
  'fleet/policy.yaml': policy,
  'fleet/shoot.yaml': shoot(),
};
const PATH = 'shoots/garden-web/blue.yaml';
const SLEEP = '  hibernation: { enabled: true }\n';

interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

describe.skipIf(noProgram('kube-apiserver'))(
  'the care of a Shoot, with its cluster and its Seed as real API servers',
  () => {
    const pool = openKubernetesPool({ access: ['care'] });
    let fleet: KubernetesFleet;
    const blue = () => fleet.cluster('blue');
    const seed = () => fleet.cluster('seed');
    const status = (): JsonObject => objectOf(objectOf(fleet.statusFile(PATH) as JsonObject | undefined).status);
    const named = (list: 'conditions' | 'constraints', type: string): Condition | undefined =>
      objectsOf(status()[list]).find((each) => each.type === type) as Condition | undefined;
    const condition = (type: string): Condition | undefined => named('conditions', type);
    const becomes = (type: string, value: string, reason: RegExp = /./): Promise<Condition> =>
      until(`${type} is ${value}, and was ${JSON.stringify(condition(type))}`, () => {
        const found = condition(type);
        return found?.status === value && reason.test(found.reason) ? found : undefined;
      });
    const isHealthy = async (): Promise<void> => {
      for (const type of TYPES) await becomes(type, 'True');
    };

    beforeAll(async () => {
      fleet = await startKubernetesFleet(pool, files);
      await Promise.all([prepareShootCluster(await blue()), prepareSeed(await seed())]);
      await addNode(await blue(), 'one');
      await fleet.agent('blue').start();
      await fleet.agent('seed').start();
      await isHealthy();
    });
    afterAll(async () => {
      await fleet?.stop();
      await pool.stop();
    });

    it('is created, and then healthy by all five conditions and both constraints', async () => {
      const file = await until('it is created', () => {
        const { lastOperation } = status();
        return objectOf(lastOperation).state === 'Succeeded' ? (fleet.statusFile(PATH) as JsonObject) : undefined;
      });
      expect(objectOf(objectOf(file.metadata).labels)['shoot.gardener.cloud/status']).toBe('healthy');
      expect(named('constraints', 'HibernationPossible')?.status).toBe('True');
      expect(JSON.stringify(file)).not.toContain('must stay here');
    });

    it('a Node that is not ready is Progressing, False after the threshold, and True again', async () => {
      const { api } = await blue();
      await setReady(api, 'one', false);
      const progressing = await becomes('EveryNodeReady', 'Progressing', /^NodeUnhealthy$/);
      expect(progressing.message).toContain('PLEG is not healthy');
      const failed = await becomes('EveryNodeReady', 'False');
      const took = Date.parse(failed.lastTransitionTime) - Date.parse(progressing.lastTransitionTime);
      expect(took).toBeGreaterThanOrEqual(THRESHOLD_MS);
      await setReady(api, 'one', true);
      await becomes('EveryNodeReady', 'True');
    });

    it('a part of the control plane that is not available is found in the Seed', async () => {
      const { api } = await seed();
      await setAvailable(api, 'kube-scheduler', false);
      const failed = await becomes('ControlPlaneHealthy', 'False', /^DeploymentUnhealthy$/);
      expect(failed.message).toMatch(
        /^Deployment "kube-scheduler" is unhealthy: condition "Available" has invalid status/,
      );
      await setAvailable(api, 'kube-scheduler', true);
      await becomes('ControlPlaneHealthy', 'True');
    });

    it('an API server that is killed is found by its probe', async () => {
      const { plane } = await blue();
      await plane.killApiServer();
      const failed = await becomes('APIServerAvailable', 'False', /^HealthzRequestFailed$/);
      expect(failed.message).toMatch(/\[response_time:\d+ms\] \(.+\)$/);
      // What reads the Seed alone is judged as before.
      expect(condition('ControlPlaneHealthy')?.status).toBe('True');
      await plane.startApiServer();
      await isHealthy();
    });

    it('a lost store changes no time', async () => {
      const before = status();
      await fleet.server.kill('SIGKILL');
      for (const file of ['store.db', 'store.db-wal', 'store.db-shm', 'git'])
        rmSync(join(fleet.dataDir, file), { recursive: true, force: true });
      await fleet.server.start();
      await isHealthy();
      const times = (from: JsonObject) =>
        objectsOf(from.conditions).map((each) => [each.type, each.lastTransitionTime]);
      expect(times(status())).toEqual(times(before));
    });

    it('hibernation is refused while a webhook could keep Nodes from joining, and enters by itself', async () => {
      const { plane } = await blue();
      const webhook = {
        ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' },
        metadata: { name: 'policy' },
        webhooks: [
          {
            ...{ name: 'pods.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'], timeoutSeconds: 30 },
            clientConfig: { url: 'https://127.0.0.1:1/none' },
            rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] }],
          },
        ],
      };
      await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(webhook) });
      await until('the constraint names the webhook', () => {
        const found = named('constraints', 'HibernationPossible');
        return found?.status === 'False' && found.message.includes('"pods.example.com"');
      });
      fleet.push({ 'fleet/shoot.yaml': shoot(SLEEP) });
      await until('the refusal stands at its line', async () => {
        const said = JSON.stringify(await fleet.status());
        return /'HibernationPossible' constraint is 'False'/.test(said) && said.includes('fleet/shoot.yaml');
      });
      expect(condition('EveryNodeReady')?.reason).toBe('EveryNodeReady');
      await plane.kubectl(['delete', 'validatingwebhookconfiguration', 'policy']);
      await becomes('EveryNodeReady', 'True', /^ConditionNotChecked$/);
    });
  },
);
