import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { createEngineWorld } from '../../support/engine-world.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { rowsOf, stageLive } from '../../unit/domains/health/engine/support.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { keyOf } from './suite.ts';

const REGION = 'topology.kubernetes.io/region';
const NODE = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };

describe.skipIf(noProgram('kube-apiserver'))('Nodes of a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  beforeAll(async () => {
    plane = await startControlPlane();
    world = await createKubernetesWorld(plane);
    cluster = await world.begin();
  });
  afterAll(async () => {
    await world?.close();
    await plane?.stop();
  });

  const apply = (...objects: readonly JsonObject[]) =>
    plane.kubectl(['apply', '-f', '-'], { input: manifest(...objects) });
  const patchStatus = (kind: string, name: string, status: JsonObject) =>
    plane.kubectl([
      ...['patch', kind, name, '-n', world.web, '--subresource=status', '--type=merge', '-p'],
      JSON.stringify({ status }),
    ]);
  /** What the engine makes of all that the agent would report: the Pods in a region. */
  async function podsIn(region: string): Promise<readonly unknown[]> {
    const { engine } = createEngineWorld();
    for (const { value } of (await cluster.list('hinted')).objects.values()) stageLive(engine, 'east', value);
    engine.commit();
    return rowsOf(engine, 'dataplanes', { tag: [`${REGION}=${region}`] }).map(({ name }) => name);
  }

  test('give their labels to the data planes of their Pods, and heartbeats change nothing', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'shop', namespace: world.web, annotations: { 'kuma.io/sidecar-injected': 'true' } },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'shop', image: 'shop' }],
        tolerations: [{ operator: 'Exists' }],
      },
    };
    const labels = { 'kubernetes.io/hostname': 'n1', [REGION]: 'eu' };
    await apply({ ...NODE, metadata: { name: 'n1', labels } }, pod);
    await patchStatus('pod', 'shop', { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] });
    await world.seen(cluster, keyOf(pod), (found) => JSON.stringify(found?.value.status).includes('10.0.0.1'));
    const ready = (status: string, lastHeartbeatTime: string) =>
      patchStatus('node', 'n1', { conditions: [{ type: 'Ready', status, lastHeartbeatTime }] });
    const isReady = (status: string) => world.seen(cluster, keyOf(NODE), (found) => readyOf(found?.value) === status);
    await ready('True', '2026-01-01T00:00:00Z');
    const before = (await isReady('True')).value;
    expect([await podsIn('eu'), await podsIn('us')]).toEqual([[`shop.${world.web}`], []]);

    await ready('True', '2026-01-01T00:00:10Z');
    await apply({ ...NODE, metadata: { name: 'after' } });
    await world.seen(cluster, keyOf({ ...NODE, metadata: { name: 'after' } }), (found) => found !== undefined);
    expect((await cluster.list('hinted')).objects.get(keyOf(NODE))?.value).toEqual(before);

    await plane.kubectl(['label', 'node', 'n1', `${REGION}=us`, '--overwrite']);
    await world.seen(cluster, keyOf(NODE), (found) => JSON.stringify(found?.value.metadata).includes('us'));
    expect([await podsIn('eu'), await podsIn('us')]).toEqual([[], [`shop.${world.web}`]]);
    await plane.kubectl(['delete', 'node', 'n1']);
    await world.until(cluster, 'the end of the Node', (objects) => !objects.has(keyOf(NODE)));
    expect(await podsIn('us')).toEqual([]);
  });
});

function readyOf(node: JsonObject | undefined): unknown {
  const { conditions } = (node?.status ?? {}) as { conditions?: readonly { type: string; status: string }[] };
  return conditions?.find(({ type }) => type === 'Ready')?.status;
}
