import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isJsonObject, type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { fleet, keyOf, nonce, request } from './suite.ts';

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
  const removal = (value: JsonObject) => ({ key: keyOf(value), fleet, nonce });
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

  test('replicas that were left to an autoscaler stay when it is gone, also with a later change, and what else is given up goes', async () => {
    const containers = (...names: readonly string[]) => ({
      metadata: { labels: { app: 'web' } },
      spec: { containers: names.map((name) => ({ name, image: 'two' })) },
    });
    await cluster.apply(request(deployment({ replicas: 5, minReadySeconds: 3, template: containers('main', 'more') })));
    await cluster.apply(request(autoscaler()));
    const given = request(deployment({ template: containers('main') }));
    expect(await cluster.apply(given)).toMatchObject({ type: 'applied' });
    expect(await live()).toMatchObject({ replicas: 5, template: { spec: { containers: [{ name: 'main' }] } } });
    expect(await live()).not.toHaveProperty('minReadySeconds');
    expect(await cluster.remove(removal(autoscaler()))).toMatchObject({ type: 'gone' });
    await world.seen(cluster, keyOf(autoscaler()), (object) => object === undefined);
    expect(await cluster.apply(given)).toMatchObject({ type: 'unchanged' });
    await cluster.apply(request(deployment({ template: containers('main'), paused: true })));
    expect(await live()).toMatchObject({ replicas: 5, paused: true });
    // What is declared again is ours again.
    await cluster.apply(request(deployment({ template: containers('main'), replicas: 4 })));
    expect(await live()).toMatchObject({ replicas: 4 });
    await cluster.apply(request(deployment({ template: containers('main') })));
    expect(await live()).toMatchObject({ replicas: 1 });
  });

  test('fields that an annotation has left to others stay when the annotation is gone', async () => {
    const metadata = {
      ...{ name: 'web', namespace: world.web },
      annotations: { 'fleetrelay.dev/ignore-fields': 'spec.replicas' },
    };
    await cluster.apply(request({ ...deployment({ replicas: 5 }), metadata }));
    await cluster.apply(request({ ...deployment({}), metadata }));
    await cluster.apply(request(deployment({ paused: true })));
    expect(await live()).toMatchObject({ replicas: 5, paused: true });
  });

  test('replicas stay for an autoscaler that the cluster refuses, and go back to one when it is not declared any more', async () => {
    const refused = { ...autoscaler(), spec: { ...objectOf(autoscaler().spec), maxReplicas: 0 } };
    await cluster.apply(request(deployment({ replicas: 5 })));
    expect(await cluster.apply(request(refused))).toMatchObject({ type: 'failed' });
    await cluster.apply(request(deployment({})));
    expect(await live()).toMatchObject({ replicas: 5 });
    // What a manifest declares is written as long as no autoscaler exists.
    await cluster.apply(request(deployment({ replicas: 6 })));
    expect(await live()).toMatchObject({ replicas: 6 });
    expect(await cluster.remove(removal(refused))).toMatchObject({ type: 'gone' });
    await cluster.apply(request(deployment({})));
    expect(await live()).toMatchObject({ replicas: 1 });
  });

  test('replicas that another manager applies as well are no conflict beside an autoscaler that the cluster refuses', async () => {
    await cluster.apply(request(deployment({ replicas: 5 })));
    const team = ['apply', '--server-side', '--field-manager', 'team', '-f', '-'];
    await plane.kubectl(team, { input: JSON.stringify(deployment({ replicas: 5 })) });
    await cluster.apply(request({ ...autoscaler(), spec: { ...objectOf(autoscaler().spec), maxReplicas: 0 } }));
    expect(await cluster.apply(request(deployment({})))).toMatchObject({ type: 'applied' });
    expect(await live()).toMatchObject({ replicas: 5 });
  });
});
