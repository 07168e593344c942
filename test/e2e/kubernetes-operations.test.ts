import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/json.ts';
import { until } from '../support/fleet-processes.ts';
import { noKubernetes } from '../support/kubernetes/binaries.ts';
import { NAMESPACE, openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';

const policy = `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: { name: fleet }
spec: { care: { syncPeriod: 1s, taskTimeout: 2s } }
`;
const secret = `apiVersion: v1\nkind: Secret\nmetadata: { name: token, namespace: ${NAMESPACE} }\nstringData: { a: b }\n`;
const service = (name: string) =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: ${NAMESPACE} }\nspec: { ports: [{ port: 80 }] }\n`;
const files = {
  'clusters/blue/cluster.yaml': clusterYaml('blue'),
  'clusters/blue/one.yaml': configMapYaml('one', '1', NAMESPACE),
  'fleet/policy.yaml': policy,
  'fleet/shoot.yaml':
    'apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: { name: blue, namespace: garden-web }\nspec: {}\n',
};

describe.skipIf(noKubernetes)('the operations of a Shoot whose cluster is a real API server', () => {
  const pool = openKubernetesPool({ access: ['care'] });
  let fleet: KubernetesFleet;
  const status = (): JsonObject =>
    objectOf(objectOf(fleet.statusFile('shoots/garden-web/blue.yaml') as JsonObject | undefined).status);
  const operation = (): string => {
    const { type, state } = objectOf(status().lastOperation);
    return `${textOf(type)} ${textOf(state)}`;
  };
  const becomes = (wanted: string): Promise<true> =>
    until(`it is ${wanted}`, () => {
      if (operation() === wanted) return true;
      throw new Error(`it is ${JSON.stringify(status().lastErrors ?? status().lastOperation)}`);
    });
  const errors = () => objectsOf(status().lastErrors).map(({ taskID, codes }) => [taskID, codes]);

  beforeAll(async () => {
    fleet = await startKubernetesFleet(pool, files);
    await fleet.agent('blue').start();
    await becomes('Create Succeeded');
  });
  afterAll(async () => {
    await fleet?.stop();
    await pool.stop();
  });

  it('a quota makes one Failed, and it succeeds when it is tried again after the quota was raised', async () => {
    const { plane } = await fleet.cluster('blue');
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'few', namespace: NAMESPACE } };
    const input = JSON.stringify({ ...quota, spec: { hard: { services: '0' } } });
    await plane.kubectl(['apply', '-f', '-'], { input });
    // What a controller would work out.
    const worked = JSON.stringify({ status: { hard: { services: '0' }, used: { services: '0' } } });
    await plane.kubectl(['patch', 'resourcequota', 'few', '-n', NAMESPACE, '--subresource=status', '-p', worked]);
    await until('the quota counts', async () => {
      const tried = plane.kubectl(['create', '--dry-run=server', '-f', '-'], { input: service('tried') });
      return (await tried.then(() => '', String)).includes('exceeded quota') ? true : undefined;
    });
    fleet.push({ 'clusters/blue/shop.yaml': service('shop') });
    await becomes('Reconcile Failed');
    expect(errors()).toEqual([[`Apply Service/${NAMESPACE}/shop`, ['ERR_INFRA_QUOTA_EXCEEDED']]]);
    await plane.kubectl(['delete', 'resourcequota', 'few', '-n', NAMESPACE]);
    expect(await fleet.cli('shoot', 'retry', 'garden-web/blue')).toContain('begins');
    await becomes('Reconcile Succeeded');
    expect(errors()).toEqual([]);
  });

  it('a missing right has its own code', async () => {
    fleet.push({ 'clusters/blue/token.yaml': secret });
    await becomes('Reconcile Failed');
    expect(errors()).toEqual([[`Apply Secret/${NAMESPACE}/token`, ['ERR_INFRA_UNAUTHORIZED']]]);
  });
});
