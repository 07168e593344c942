import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld, manifest } from './kubernetes-harness.ts';
import { keyOf, request } from './suite.ts';

/** The clock of the machine, which can be set forward: what is due then is called at once. */
function createMovableClock(): Clock & { forward(milliseconds: number): void } {
  const clock = createSystemClock();
  let ahead = 0;
  const waiting = new Set<{ readonly due: number; readonly call: () => void }>();
  return {
    ...clock,
    now: () => clock.now() + ahead,
    schedule(milliseconds, callback) {
      const timer = {
        due: clock.now() + ahead + milliseconds,
        call: () => {
          waiting.delete(timer);
          cancel();
          callback();
        },
      };
      const cancel = clock.schedule(milliseconds, timer.call);
      waiting.add(timer);
      return () => {
        waiting.delete(timer);
        cancel();
      };
    },
    forward(milliseconds) {
      ahead += milliseconds;
      for (const timer of [...waiting]) if (timer.due <= clock.now() + ahead) timer.call();
    },
  };
}

describe.skipIf(noProgram('kube-apiserver'))('the health of objects of a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  let clock: ReturnType<typeof createMovableClock>;
  beforeAll(async () => {
    plane = await startControlPlane();
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    clock = createMovableClock();
    cluster = await world.begin({ clock });
  });
  afterEach(() => world.close());

  const becomes = (object: JsonObject, state: string) =>
    world.seen(cluster, keyOf(object), (found) => found?.health?.state === state);
  const setStatus = (kind: string, name: string, status: JsonObject) =>
    plane.kubectl([
      ...['patch', kind, name, '-n', world.web, '--subresource', 'status', '--type', 'merge'],
      ...['-p', JSON.stringify({ status })],
    ]);

  test('a load balancer without address is in progress for ten minutes, and then current with a note', async () => {
    const service = (type: string): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: world.web },
      spec: { type, selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    expect(await cluster.apply(request(service('LoadBalancer')))).toMatchObject({ type: 'applied' });
    await becomes(service(''), 'inProgress');
    clock.forward(500_000);
    expect((await becomes(service(''), 'inProgress')).health?.state).toBe('inProgress');
    clock.forward(101_000);
    expect((await becomes(service(''), 'current')).health?.message).toBe('no controller has given it an address');
  });

  test('a Pod that no node can take has failed after 15 seconds, or after ten minutes where an autoscaler adds nodes', async () => {
    const pod = (name: string): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: world.web },
      spec: { containers: [{ name: 'main', image: 'one' }] },
    });
    const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no room' };
    for (const name of ['lonely', 'expected']) {
      expect(await cluster.apply(request(pod(name)))).toMatchObject({ type: 'applied' });
      await setStatus('pod', name, { conditions: [unschedulable] });
      await becomes(pod(name), 'inProgress');
    }
    const { metadata } = await plane.get<{ metadata: { uid: string } }>('pod', 'expected', '-n', world.web);
    const event: JsonObject = {
      ...{
        apiVersion: 'v1',
        kind: 'Event',
        type: 'Normal',
        reason: 'TriggeredScaleUp',
        message: 'pod triggered scale-up',
      },
      metadata: { name: 'expected.1', namespace: world.web },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'expected', namespace: world.web, uid: metadata.uid },
    };
    await plane.kubectl(['create', '-f', '-'], { input: manifest(event) });
    clock.forward(60_000);
    expect((await becomes(pod('lonely'), 'failed')).health?.message).toBe('no room');
    await world.until(
      cluster,
      'the events of both',
      () => world.sent.filter((each) => each.includes('/events?')).length >= 2,
    );
    await becomes(pod('expected'), 'inProgress');
    clock.forward(600_000);
    await becomes(pod('expected'), 'failed');
  });

  test('the objects of a kind are judged again when the policy changes its health check', async () => {
    const definition: JsonObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'databases.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Database', plural: 'databases', singular: 'database', listKind: 'DatabaseList' },
        versions: [
          {
            ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    const database: JsonObject = {
      apiVersion: 'example.com/v1',
      kind: 'Database',
      metadata: { name: 'main', namespace: world.web },
      spec: { size: 3 },
    };
    const check = { apiVersion: 'example.com/v1', kind: 'Database', current: 'status.size == spec.size' };
    const configure = (healthChecks: readonly (typeof check)[]) => cluster.configure({ ...NO_SETTINGS, healthChecks });
    expect(await cluster.apply(request(definition))).toMatchObject({ type: 'applied' });
    expect(await cluster.apply(request(database))).toMatchObject({ type: 'applied' });
    await becomes(database, 'current');
    configure([check]);
    await becomes(database, 'inProgress');
    await setStatus('database', 'main', { size: 3 });
    await becomes(database, 'current');
    configure([{ ...check, current: 'status.size == 4' }]);
    await becomes(database, 'inProgress');
    configure([]);
    await becomes(database, 'current');
  });
});
