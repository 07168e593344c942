import { afterAll, beforeAll, describe } from 'vitest';
import { objectRefOf } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { type ClusterHarness, clusterContract, keyOf } from './suite.ts';

/** A kind that is discovered, and to which an API server adds nothing. */
const discovered = (name: string, k: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace: 'web', annotations: { k } },
});

describe.skipIf(noProgram('kube-apiserver'))('Kubernetes', () => {
  let plane: ControlPlane;
  const worlds: KubernetesWorld[] = [];
  beforeAll(async () => {
    plane = await startControlPlane({});
  });
  afterAll(async () => {
    for (const world of worlds) await world.close();
    await plane?.stop();
  });

  clusterContract('Kubernetes', make, { asWritten: false, discovered });

  async function make(): Promise<ClusterHarness> {
    const world = await createKubernetesWorld(plane, 'web');
    worlds.push(world);
    await plane.kubectl(['delete', 'configmap,serviceaccount', '--all', '-n', 'web']);
    await plane.kubectl(['delete', 'clusterrole', '-l', 'fleetrelay.dev/fleet']);
    let cluster = await world.begin();
    const text = (value: JsonObject | undefined) => JSON.stringify(value);
    const words = (key: string): readonly string[] => {
      const { kind, name, namespace } = objectRefOf(key as ReturnType<typeof keyOf>);
      return [kind.toLowerCase(), name, '-n', namespace];
    };
    return {
      cluster,
      reopen: async () => {
        await cluster.close();
        cluster = await world.begin();
        return cluster;
      },
      personPuts: async (value) => {
        await plane.kubectl(['replace', '--force', '-f', '-'], { input: JSON.stringify(value) });
        await world.seen(cluster, keyOf(value), (object) => text(object?.value) === text(canonical(value)));
      },
      personEdits: async (key, change) => {
        const live = await plane.get<JsonObject>(...words(key));
        await plane.kubectl(['replace', '-f', '-'], { input: JSON.stringify(change(live)) });
        const before = (await cluster.list('hinted')).objects.get(key);
        await world.seen(
          cluster,
          key,
          (object) => object !== before || text(object?.value)?.includes('drift') === true,
        );
      },
      personRemoves: async (key) => {
        await plane.kubectl(['delete', ...words(key)]);
        await world.seen(cluster, key, (object) => object === undefined);
      },
      pause: async (on) => {
        const mark = on ? 'fleetrelay.dev/paused=true' : 'fleetrelay.dev/paused-';
        await plane.kubectl(['annotate', 'namespace', world.own, mark]);
        await cluster.list('complete');
      },
    };
  }
});

function canonical(value: JsonObject): JsonObject {
  const { apiVersion, kind, metadata } = value as { [name: string]: JsonObject };
  const { annotations, name, namespace } = metadata as JsonObject;
  return { apiVersion, kind, metadata: { annotations, name, namespace } };
}
