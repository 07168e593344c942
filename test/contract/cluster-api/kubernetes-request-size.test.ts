import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { aboveRequest, REQUEST_BYTES, sizeOf } from '../../../src/model/objects/object-size.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { request } from './suite.ts';

const MIB = 1024 * 1024;

/** No field of a Role has a limit of its own. */
function role(namespace: string, name: string, bytes: number): JsonObject {
  const made = (resource: string): JsonObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name, namespace },
    rules: [{ apiGroups: [''], resources: [resource], verbs: ['get'] }],
  });
  return made('x'.repeat(bytes - sizeOf(made('')).bytes));
}

/** What API server and etcd take, with the limits that they have by default. */
describe.skipIf(noProgram('kube-apiserver'))('objects of some MiB in a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  let client: KubeClient;
  beforeAll(async () => {
    plane = await startControlPlane();
    world = await createKubernetesWorld(plane);
    cluster = await world.begin();
    const deps = { clock: createSystemClock(), random: createSystemRandom(), log: silentLog };
    client = must(await connectKube(deps, { kubeconfig: plane.kubeconfig(), userAgent: 'test' })).client;
  });
  afterAll(async () => {
    await client?.close();
    await world?.close();
    await plane?.stop();
  });

  test('one of 1.4 MiB is stored', async () => {
    expect(await cluster.apply(request(role(world.web, 'stored', 1.4 * MIB)))).toMatchObject({ type: 'applied' });
  });

  test.each([
    // etcd takes 1.5 MiB.
    ['1.6 MiB', 1.6 * MIB, /etcdserver: request is too large/],
    // The API server sends 2 MiB to etcd.
    ['2.9 MiB', 2.9 * MIB, /trying to send message larger than max \(\d+ vs\. 2097152\)/],
    ['the most that fleetrelay sends', REQUEST_BYTES - 16 * 1024, /trying to send message larger than max/],
  ])('one of %s is read by the API server, and not stored', async (_, bytes, message) => {
    const large = role(world.web, 'large', Math.floor(bytes));
    expect(aboveRequest(large, sizeOf(large))).toBeUndefined();
    expect(await cluster.apply(request(large))).toEqual({
      type: 'failed',
      reason: 'TooLarge',
      message: expect.stringMatching(message),
    });
  });

  test('a request of one byte above 3 MiB is not read', async () => {
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${world.web}/roles/above`;
    const outcome = (bytes: number) =>
      client.request({
        method: 'PATCH',
        path,
        query: { fieldManager: 'test', force: 'true' },
        contentType: 'application/apply-patch+yaml',
        body: role(world.web, 'above', bytes),
      });
    expect(await outcome(REQUEST_BYTES)).toMatchObject({ type: 'refused', status: 500 });
    expect(await outcome(REQUEST_BYTES + 1)).toMatchObject({
      type: 'refused',
      status: 413,
      refusal: { message: expect.stringMatching(/limit is 3145728/) },
    });
  });
});
