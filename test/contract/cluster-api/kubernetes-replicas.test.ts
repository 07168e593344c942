import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/model/json.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { request } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('fields that a manifest gives up, on a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  beforeAll(async () => {
    plane = await startControlPlane();
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    cluster = await world.begin();
  });
  afterEach(() => world.close());

  const deployment = (spec: JsonObject): JsonObject => ({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: world.web } },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'one' }] } },
      ...spec,
    },
  });
  const autoscaler = (): JsonObject => ({
    ...{ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
    metadata: { name: 'web', namespace: world.web },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 10 },
  });
  const live = async (): Promise<JsonObject> => {
    const { spec } = await plane.get<JsonObject>('deployment', 'web', '-n', world.web);
    return isJsonObject(spec) ? spec : {};
  };

  test('replicas that a manifest gives up go back to one, and stay as they are for an autoscaler written just before', async () => {
    await cluster.apply(request(deployment({ replicas: 5 })));
    await cluster.apply(request(deployment({})));
    expect(await live()).toMatchObject({ replicas: 1 });
    await cluster.apply(request(deployment({ replicas: 5 })));
    await cluster.apply(request(autoscaler()));
    await cluster.apply(request(deployment({})));
    expect(await live()).toMatchObject({ replicas: 5 });
    // The autoscaler takes them.
    await plane.kubectl(['scale', 'deployment', 'web', '-n', world.web, '--replicas=7']);
    await cluster.apply(request(deployment({ paused: true })));
    expect(await live()).toMatchObject({ replicas: 7, paused: true });
  });

  test('a strategy that an API server refuses beside the defaults of the old one makes a new object if the manifest says so', async () => {
    const recreating = deployment({ strategy: { type: 'Recreate' } });
    await cluster.apply(request(deployment({})));
    expect(await cluster.apply(request(recreating))).toMatchObject({ type: 'failed', reason: 'ImmutableField' });
    const annotations = { 'fleetrelay.dev/replace': 'true' };
    const metadata = { name: 'web', namespace: world.web, annotations };
    expect(await cluster.apply(request({ ...recreating, metadata }))).toMatchObject({ type: 'applied' });
    expect(await live()).toMatchObject({ strategy: { type: 'Recreate' } });
    // A manifest that is wrong by itself deletes nothing.
    const wrong = deployment({ strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } });
    expect(await cluster.apply(request({ ...wrong, metadata }))).toMatchObject({ type: 'failed', reason: 'Invalid' });
    expect(await live()).toMatchObject({ strategy: { type: 'Recreate' } });
  });
});
